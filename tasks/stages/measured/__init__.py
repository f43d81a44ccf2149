"""Measured tables: what is read of any file, and the values of all models on it."""
