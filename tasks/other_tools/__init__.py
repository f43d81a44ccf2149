"""Set-ups of other tools, read as hostile files, and what those tools read of ours."""
