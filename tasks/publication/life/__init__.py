"""What becomes of versions that stand: withdrawal, words, the pages of lines."""
