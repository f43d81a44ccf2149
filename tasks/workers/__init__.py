"""Who works on the parts of a table: this process, or processes that Dask has here and elsewhere.

What they are told and what they answer are paths and counts. They meet on a disk that all see.
"""
