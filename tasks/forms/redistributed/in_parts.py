"""What of targets is compared, and added up, where a release is in parts."""

from hashlib import sha256
from io import BytesIO

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.tasks.forms.form import Tables
from sfumato.tasks.forms.redistributed.targets import LOWER, UPPER
from sfumato.tasks.schema.names import TARGET, TARGETS


def number_of_targets(tables: Tables) -> int:
    """How many targets published tables have; none in tables of other forms."""
    return pc.count_distinct(tables[TARGETS][TARGET]).as_py() if TARGETS in tables else 0


def digest_of_domain(tables: Tables) -> str | None:
    """A digest of the values that targets are over, None where there are none."""
    if TARGETS not in tables:
        return None
    table = tables[TARGETS]
    values = pc.unique(table.filter(pc.equal(table[LOWER], table[UPPER]))[LOWER])
    content = BytesIO()
    sorted_ = values.take(pc.sort_indices(values))
    with pa.ipc.new_stream(content, pa.schema([(LOWER, sorted_.type)])) as stream:
        stream.write_batch(pa.record_batch([sorted_], names=[LOWER]))
    return sha256(content.getvalue()).hexdigest()
