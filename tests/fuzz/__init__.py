"""Damaged and strange inputs, thrown at the command: it answers, or refuses in one line."""
