"""Contract of attacks, beliefs that they end with, and margins of error."""
