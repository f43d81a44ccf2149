"""A corpus of valid releases and mutants of them, with the verdict that a verifier must return."""
