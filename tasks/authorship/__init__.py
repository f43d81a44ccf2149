"""Who published a release: Ed25519 signatures, keys beside a line, and the keys a reader trusts."""
