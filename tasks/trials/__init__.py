"""Candidates made to be compared: written, judged and asked as any other, and never published.

Keep out lines, keys and whatever remembers: a trial leaves nothing when its directory goes.
"""
