"""Laws of what a release leaves open: counts, sums and extremes, and what covariates tell."""
