"""Files of tables with so many different values that a dictionary outgrows its page."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.tasks.publication.check import check
from sfumato.tasks.query.help_tables.rows import help_table
from sfumato.tasks.terms.tables import write_table
from tests.release.small import SPEC

MANY = 140_000  # a dictionary page holds 131,072 integers of 64 bits
IDS = np.repeat(np.arange(MANY // 2), 2)
TABLES = {
    "integers": lambda: pa.table({"income": np.arange(MANY) * 3}),
    "texts": lambda: pa.table({"name": [f"person {i}" for i in range(MANY)]}),
    "group ids": lambda: pa.table({"group_id": np.arange(MANY), "value": np.arange(MANY) % 7}),
    "help table": lambda: help_table(
        pa.table({"group_id": IDS, "income": np.arange(MANY)}), "income"
    ),
}


def cut(table, rows):
    """The same table in chunks of so many rows."""
    return pa.Table.from_batches(table.to_batches(max_chunksize=rows))


@pytest.mark.parametrize("kind", TABLES)
def test_bytes_do_not_depend_on_how_a_table_is_chunked(kind, tmp_path):
    table = TABLES[kind]()
    write_table(table, tmp_path / "whole.parquet")
    written = (tmp_path / "whole.parquet").read_bytes()
    for rows in (1000, 65_537, 131_072):
        write_table(cut(table, rows), tmp_path / "cut.parquet")
        assert (tmp_path / "cut.parquet").read_bytes() == written
    write_table(pq.read_table(tmp_path / "whole.parquet"), tmp_path / "again.parquet")
    assert (tmp_path / "again.parquet").read_bytes() == written


def test_a_release_with_more_groups_than_a_dictionary_page_holds(small):
    wages = np.random.default_rng(1).permutation(2 * MANY).tolist()
    rows = [
        {"person": i, "age": 20 + i % 50, "town": "", "note": "", "wage": 3 * wage}
        for i, wage in enumerate(wages)
    ]
    small.write(
        rows,
        columns={**SPEC["columns"], "wage": {"role": "sensitive", "type": "integer"}},
        promises=[{"model": "l-diversity", "variant": "distinct", "l": 2}],
        partition={"method": "anatomy"},
        form={"method": "split"},
        publish={"uri": "public", "formats": ["parquet"]},
        evaluate={},
    )
    assert check(small.publish("one").directory).verdicts
