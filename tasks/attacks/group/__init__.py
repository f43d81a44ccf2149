"""Attacks by people who know a person's group and the values that it shows."""
