"""Random releases, and the tables that each could have come from."""
