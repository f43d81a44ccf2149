"""Faults of the machine in words: what failed outside Sfumato, and what to do about it."""
