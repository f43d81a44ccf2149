"""The experiments of Distribution-based microdata anonymization."""
