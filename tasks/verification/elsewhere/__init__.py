"""Releases from elsewhere: on the web or in a store, copied here before anything is read.

The result is a directory like any other, which `way_in` verifies. Do not add code here that
interprets a release.
"""
