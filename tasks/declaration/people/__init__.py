"""People who have several rows: whose the rows of a release are, which none of its files tells."""
