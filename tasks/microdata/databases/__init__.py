"""Rows that a query gives: one way for PostgreSQL, one for every other database.

Connects, reads and tells what failed. Keep out what the query may say: `tasks.sql` judges that.
"""
