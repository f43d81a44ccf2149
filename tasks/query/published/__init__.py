"""The values and ends that a release publishes of a column, for checks of answers and for notes."""
