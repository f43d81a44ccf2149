"""Attacks by who has a register of people, or another release about them."""
