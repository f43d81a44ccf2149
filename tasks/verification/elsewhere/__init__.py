"""Releases that lie elsewhere: on the web or in a store, copied here before anything is read.

Ends with a directory like any other, which the way in verifies. Keep out what a release means.
"""
