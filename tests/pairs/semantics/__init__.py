"""SQL's semantics in plain Python, on trees that are written as SQL for whoever else answers."""
