"""Runs of stages: what each does, how it is run, and what is recorded of it."""
