"""The experiments of l-diversity: privacy beyond k-anonymity."""
