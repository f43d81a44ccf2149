"""What a steward does with versions that stand, and with pseudonyms that are handed over."""
