"""Keyed pseudonyms of identifiers, in files that are handed over privately.

    <work>/<line>/handed-over/<purpose>.parquet   pseudonyms, and what goes with them (0600)

A pseudonym is the HMAC-SHA256 of an identifier's text under the key of its purpose. Sources that
are handed over for the same purpose by the same work directory can be joined by it; no others can.
"""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.tasks.microdata.table import Column
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.private.keys import HASH_BYTES, hashes_of
from sfumato.tasks.private.people.keys import text_of
from sfumato.tasks.private.workdir import private_directory

_FOLDER = "handed-over"


def pseudonyms_of(identifier: Column, secret: bytes) -> pa.Array:
    """The pseudonym of each row, 64 hexadecimal digits; null where it has no identifier.

    Equal numbers have equal pseudonyms, whatever their type.
    """
    hashes = hashes_of(identifier.values, text_of, secret).tobytes()
    places = range(0, len(hashes), HASH_BYTES)
    texts = pa.array([hashes[at : at + HASH_BYTES].hex() for at in places], pa.string())
    return texts.take(pa.array(identifier.codes, mask=identifier.codes < 0))


def pseudonymous_table(
    pseudonyms: Mapping[str, pa.Array], beside: Mapping[str, pa.Array]
) -> pa.Table:
    """Pseudonyms beside other columns, in an order of rows that is the pseudonyms' own."""
    table = pa.table({**pseudonyms, **beside})
    keys = [(name, "ascending") for name in (*pseudonyms, *beside)]
    return table.sort_by(keys).replace_schema_metadata(None)


def write_handed_over(line: Path, purpose: str, table: pa.Table) -> Path:
    """Write a table for a purpose where its owner alone can read it; the place."""
    place = private_directory(line / _FOLDER) / f"{purpose}.parquet"
    content = pa.BufferOutputStream()
    pq.write_table(table, content, compression="zstd", store_schema=False)
    write_atomically(place, content.getvalue().to_pybytes())
    return place
