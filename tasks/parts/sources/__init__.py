"""Where the rows of a table in parts come from: Parquet files, read so many rows at a time."""
