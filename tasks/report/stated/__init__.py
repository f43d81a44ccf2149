"""What pages tell of a release beside its promises: likely intervals, and what can be guessed."""
