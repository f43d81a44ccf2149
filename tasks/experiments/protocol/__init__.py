"""What an experiment is, what it measures, what is claimed of it and how that is decided."""
