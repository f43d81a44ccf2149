"""Exact numbers, errors and registries, which every part of the product imports."""
