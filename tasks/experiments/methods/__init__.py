"""Methods as experiments compare them: tried out on a table, and asked the same questions."""
