"""The tests, and the helpers that they and their subprocesses import."""
