"""The values and ends that a release publishes of its columns, for checks of answers and notes."""
