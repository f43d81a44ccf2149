"""Verification for readers: hashes, limits, and the keys or checks that vouch for a release."""
