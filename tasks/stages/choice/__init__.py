"""The stage at which what a spec leaves open is chosen."""
