"""Calibration of intervals on the original, before a release is sealed: all here is private."""
