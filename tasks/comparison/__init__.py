"""Partitions, forms and parameters compared on one source by the same queries, in private.

Candidates of a comparison are made as any other and never published: what is recommended is drawn
anew. Keep out whatever decides by the truth: a recommendation rests on the candidates' tables.
"""
