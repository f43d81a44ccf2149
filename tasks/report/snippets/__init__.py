"""Snippets that ask a release: one module for each way of showing, and a registry."""
