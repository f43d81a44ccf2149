"""Policies by name: rules that a machine decides, statements of people, and the release's term."""
