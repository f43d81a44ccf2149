"""Attacks by people who have a register of people, or another release about them."""
