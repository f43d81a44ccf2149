"""Attacks on published records, as defined by others for tables of synthetic data."""
