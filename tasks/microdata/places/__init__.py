"""Where the files of a source are: one path, a folder, a pattern, or a store of objects.

Ends with files on this machine, pinned and encoded. Keep out what knows a format: readers do.
"""
