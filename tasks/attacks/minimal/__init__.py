"""Attacks by people who know how a partition works, and what it would make of other values."""
