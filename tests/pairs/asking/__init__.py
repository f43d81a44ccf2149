"""Random queries by the constructs that they are to have."""
