"""Attacks by who knows how a partition is made: what would have been made of other values."""
