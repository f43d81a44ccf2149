"""Conditions on labels as queries over label tables, see `tasks.query.help_tables.labels`."""
