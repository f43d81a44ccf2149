"""Commands of those who read what was published, or any table: nothing private is needed."""
