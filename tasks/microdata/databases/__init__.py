"""Rows that a query returns: one way for PostgreSQL, one for every other database.

It connects, reads and reports errors. Keep out what a query may contain: `tasks.sql` checks that.
"""
