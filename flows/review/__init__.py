"""Reviewing: the candidates that wait, and what is decided of them."""
