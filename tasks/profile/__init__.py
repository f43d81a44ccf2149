"""Profile of a table that nobody has declared, and a draft of the spec that would release it.

It contains sniffing, profiling and proposing. Code that reads a spec belongs elsewhere: a draft is
text until a steward has confirmed it. Values and counts are only for the private page; a draft
contains none.
"""
