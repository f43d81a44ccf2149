"""The cross rules of a release spec: each raises ValueError with the path of a key.

A rule asks the parts of the spec what they need; it knows no partition, form or promise by name.
"""
