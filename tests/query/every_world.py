"""DuckDB answers a query in every world at once."""

from collections.abc import Iterable

import duckdb
import pyarrow as pa

IN_EVERY_WORLD = """
    SELECT every.world, answer.*
    FROM range({size}) every(world), LATERAL (
        WITH microdata AS (SELECT * EXCLUDE world FROM worlds WHERE worlds.world = every.world)
        SELECT * FROM ({query})
    ) answer"""
"""A query that names `microdata`, once for each world; DuckDB plans it once for all."""


class EveryWorld:
    """The microdata of all worlds in one table, each row with the number of its world."""

    def __init__(self, worlds: Iterable[pa.Table]) -> None:
        """Load the rows of all worlds, which have the same columns."""
        tables = list(worlds)
        numbers = [number for number, table in enumerate(tables) for _ in range(table.num_rows)]
        rows = pa.concat_tables(tables).append_column("world", pa.array(numbers, pa.int64()))
        self.size = len(tables)
        self._database = duckdb.connect(config={"threads": 1})
        self._database.register("rows", rows)
        self._database.execute("CREATE TABLE worlds AS FROM rows")

    def register(self, name: str, table: pa.Table) -> None:
        """Add a table that is the same in every world."""
        self._database.register(name, table)

    def answers(self, query: str) -> list[list[tuple[object, ...]]]:
        """Return the rows of each world's answer, in no order."""
        answers: list[list[tuple[object, ...]]] = [[] for _ in range(self.size)]
        statement = IN_EVERY_WORLD.format(size=self.size, query=query)
        for world, *row in self._database.execute(statement).fetchall():
            answers[world].append(tuple(row))
        return answers
