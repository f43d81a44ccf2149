"""What a steward does with versions that stand: list, withdraw and describe them."""
