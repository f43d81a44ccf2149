"""People of several maps, by one number each, and what versions show of them."""

from decimal import Decimal

import numpy as np
import pyarrow as pa

from sfumato.tasks.microdata.table import Microdata, encode
from sfumato.tasks.private.people.keys import NAME
from sfumato.tasks.private.people.seen import MapOfLine, SeenPeople
from sfumato.tasks.private.people.slots import LIVE, SlotMap


def slots(keys, values, type_=None, role="sensitive", composed=False):
    """A map in which everybody is in one group."""
    number = len(keys)
    zeros = np.zeros(number, dtype=np.int64)
    column = encode("s", role, pa.array(values, type_))
    return SlotMap(
        key=np.array(keys, dtype=NAME),
        group=zeros,
        published=zeros,
        since=zeros + 1,
        kind=np.full(number, LIVE, dtype=np.int8),
        retired=zeros.astype(bool),
        rows=Microdata((column,), number),
        composed=composed,
    )


def test_numbers_of_other_types_are_the_same_values():
    maps = [slots([b"a"], [1]), slots([b"a"], [Decimal(1)], pa.decimal128(5, 2))]
    first, other = SeenPeople([MapOfLine(0, map_) for map_ in maps]).versions_showing("s")
    assert (
        first.groups.counts_of("s").value.tolist()
        == other.groups.counts_of("s").value.tolist()
        == [0]
    )
    maps.append(slots([b"a"], ["x"]))
    assert len(SeenPeople([MapOfLine(0, map_) for map_ in maps]).versions_showing("s")) == 3


def test_whoever_was_forgotten_is_the_same_nobody_where_groups_go_on():
    maps = [slots([b"a", b"", b""], [1, 2, 3], composed=True) for _ in range(2)]
    first, other = SeenPeople([MapOfLine(0, map_) for map_ in maps]).versions_showing("s")
    assert first.person.tolist() == other.person.tolist()
    assert first.live.tolist() == [True, False, False]
    first, other = SeenPeople([MapOfLine(n, map_) for n, map_ in enumerate(maps)]).versions_showing(
        "s"
    )
    assert set(first.person) & set(other.person) == {0}
    anew = [slots([b"a", b"", b""], [1, 2, 3]) for _ in range(2)]
    first, other = SeenPeople([MapOfLine(0, map_) for map_ in anew]).versions_showing("s")
    assert set(first.person) & set(other.person) == {0}


def test_a_column_that_is_not_sensitive_is_everybodys_own():
    open_ = slots([b"a", b"b"], [1, 2], role="insensitive")
    (values_shown,) = SeenPeople([MapOfLine(0, open_)]).versions_showing("s")
    assert values_shown.group.tolist() == [0, 1]
    assert values_shown.groups.counts_of("s").distinct.tolist() == [1, 1]
