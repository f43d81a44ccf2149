"""Maps of releases in parts: one file for all parts, of which no more than one is in memory."""
