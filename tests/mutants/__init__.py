"""Mutation tests: small faults put into the code, each of which some test must notice."""
