"""What a table that nobody has declared looks like, and a draft of the spec that would release it.

Holds sniffing, profiling and proposing. Keep out what reads a spec: a draft is text until a steward
has confirmed it. Values and counts are for the private page alone; a draft holds none.
"""
