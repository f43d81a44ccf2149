"""The shapes of queries, and the families whose intervals are calibrated."""
