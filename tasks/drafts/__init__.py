"""Drafts: what a release would be, made in private and never published.

What a draft is made of belongs here; whatever could reach the line or the public place does not.
"""
