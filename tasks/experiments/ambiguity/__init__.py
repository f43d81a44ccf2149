"""The experiments of Ambiguity: hide the presence of individuals and their privacy."""
