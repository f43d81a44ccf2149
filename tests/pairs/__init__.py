"""Random queries by pairs of constructs, held against every world of random releases."""
