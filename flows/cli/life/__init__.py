"""Commands on versions that stand, for stewards."""
