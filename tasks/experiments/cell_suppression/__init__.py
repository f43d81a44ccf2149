"""The experiments of Approximation algorithms for k-anonymity, which has none of its own."""
