"""Whether a reader may trust the files of a release: hashes, limits, and what vouches for them."""
