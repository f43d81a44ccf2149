"""Workers on the parts of a table: this process, or processes of Dask here and elsewhere.

What they are told and what they answer are paths and counts. They meet on a disk that all see.
"""
