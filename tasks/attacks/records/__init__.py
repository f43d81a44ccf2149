"""Attacks on published records as tables of synthetic data are attacked, by others' definitions."""
