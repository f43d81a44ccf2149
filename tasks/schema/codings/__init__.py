"""The codings that a spec declares of its columns, before anything else is done with their values.

What codes values stands in `tasks.microdata.codings`.
"""
