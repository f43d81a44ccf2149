"""The papers' experiments, repeated, with tests of the papers' claims.

One module per figure or table, in the room of its paper. Data are public or generated here; what
is drawn is drawn from seeds, for nothing of this is ever published about people.
"""
