"""What versions tell together: holds the tests of composition over counts; keep files out."""
