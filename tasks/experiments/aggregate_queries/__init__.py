"""The experiments of Aggregate query answering on anonymized tables."""
