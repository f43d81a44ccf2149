"""Columns while they are read, by their distinct values."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from sfumato.tasks.microdata.readers.distinct import distinct

cells = st.one_of(st.none(), st.sampled_from(["", "a", "b", "c"]))
blocks = st.lists(st.lists(cells, max_size=5), min_size=1, max_size=6)


@given(blocks, st.booleans())
def test_blocks_of_a_file_make_no_difference(blocks, encoded):
    chunks = [pa.array(block, pa.string()) for block in blocks]
    column = pa.chunked_array(
        [chunk.dictionary_encode() for chunk in chunks] if encoded else chunks
    )
    rows = [cell for block in blocks for cell in block]
    met = distinct(column)
    assert met.values.to_pylist() == list(dict.fromkeys(cell for cell in rows if cell is not None))
    assert met.array().to_pylist() == rows
