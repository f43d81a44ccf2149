"""Composed versions in parts: each part is held against what it was, and nobody is in two parts.

Theorem of parts. Let nobody hold, or ever have held, slots in two parts. Groups have people of one
part alone, so that a world of all versions is a world of each part, chosen freely of one another.
Then all versions together tell of anybody what those of the person's part tell, under every prior
that is about parts one by one: what holds of each part by itself holds of the whole.
"""
