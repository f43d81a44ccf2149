"""Commands that show what a spec would give, and help to choose."""
