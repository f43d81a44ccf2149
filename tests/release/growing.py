"""Small lines that go on in memory, as letters that the enumeration of worlds can read."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.expectations.composition.gate import Passed
from sfumato.expectations.composition.state import Refused
from sfumato.expectations.groups.counting import dense
from sfumato.expectations.models.l_diversity import DistinctLDiversity
from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.continued.evolve import Evolved, evolve
from sfumato.tasks.continued.parameters import ContinuedVersions
from sfumato.tasks.continued.survivors import LineSoFar, Shape, stack
from sfumato.tasks.lines.composed import verdict_on
from sfumato.tasks.microdata.table import Microdata, encode, seeded_keys
from sfumato.tasks.partitions.anatomy.anatomy import partition as anatomy
from sfumato.tasks.partitions.anatomy.parameters import AnatomyParameters
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.private.people.keys import NAME
from sfumato.tasks.private.people.members import members_of
from sfumato.tasks.private.people.seen import published_slots
from sfumato.tasks.private.people.slots import LIVE, SlotMap, groups_ever
from tests.composition.lines import LETTERS
from tests.composition.oracle import Line

GROUPED = Shape(frozenset(["s"]), ("s",), covers=False)


def deal_rows(rows: Microdata, randomness) -> Partition:
    """Groups of three or more in random order, whatever their values."""
    order = np.argsort(randomness(rows.rows))
    group = np.empty(rows.rows, dtype=np.int64)
    group[order] = np.minimum(np.arange(rows.rows) // 3, max(rows.rows // 3 - 1, 0))
    return Partition(group)


def sets(l):
    """Groups of l different values."""

    def group_by_values(rows: Microdata, randomness) -> Partition:
        promises = [DistinctLDiversity(l=l, sensitive="s")]
        return anatomy(rows, (), promises, AnatomyParameters(method="anatomy"), randomness)

    return group_by_values


@dataclass
class Growing:
    """A line of people, who are letters, with values that are digits.

    Attributes:
        grouping: groups newcomers.
        wish: how the line goes on.
        seed: of its draws.
        maps: of its versions.
        evolved: its versions.
        verdicts: of the gate.
    """

    grouping: Any
    wish: dict[str, Any]
    seed: int = 0
    shape: Shape = GROUPED
    promises: tuple[PrivacyModel, ...] = ()
    maps: list[SlotMap] = field(default_factory=list)
    evolved: list[Evolved] = field(default_factory=list)
    verdicts: list[Passed | Refused] = field(default_factory=list)

    def publish(self, people: dict[str, str], strata: dict[str, str] | None = None) -> SlotMap:
        """The next version, of people with their values; unknown if the gate refuses it."""
        arrays = {"s": list(people.values())}
        if strata:
            arrays["where"] = [strata[person] for person in people]
        columns = [
            encode(n, "sensitive" if n == "s" else "quasi-identifier", pa.array(v))
            for n, v in arrays.items()
        ]
        table = Microdata(tuple(columns), len(people))
        none = np.array([], dtype=np.int64)
        before = self.maps[-1] if self.maps else None
        slots = before or SlotMap(
            none.astype(NAME),
            none,
            none,
            none,
            none.astype(np.int8),
            none.astype(bool),
            table.take(none),
        )
        draw = seeded_keys(1_000 * self.seed + len(self.maps))
        names = np.array([person.encode() for person in people], dtype=NAME)
        line = LineSoFar(stack(table, slots.rows), table.rows, names, slots, slots.past.key)
        evolution = evolve(
            line,
            self.shape,
            ContinuedVersions(**self.wish).with_others(),
            list(arrays)[1:],
            lambda rows: self.grouping(rows, draw),
            lambda arguments: np.zeros(arguments.groups, dtype=bool),
            draw,
        )
        drawn_slots = evolution.drawn.slots
        drawn_slots.published[~drawn_slots.retired] = dense(
            drawn_slots.group[~drawn_slots.retired]
        )[0]
        self.evolved.append(evolution)
        self.verdicts.append(judge_map(before, drawn_slots, self.promises))
        self.maps.append(drawn_slots)
        return drawn_slots

    def letters(self) -> Line:
        """Its versions as people, ghosts in small letters, and values."""
        return [as_letters(map_) for map_ in self.maps]


def judge_map(before, now, promises):
    """The gate's verdict on a map and the one before."""
    members = members_of(before, now, ["s"])
    assert not members.lost
    return verdict_on(before, now, members, groups_ever(published_slots(now), ["s"]), promises)


def as_letters(slots: SlotMap) -> list[tuple[str, str]]:
    """The groups of a version."""
    by_id: dict[int, tuple[str, str]] = {}
    values = slots.rows["s"].array().to_pylist()
    for place in np.flatnonzero(slots.published >= 0):
        name = slots.key[place].decode()
        people, value_letters = by_id.get(slots.published[place], ("", ""))
        letter = name if slots.kind[place] == LIVE else name.lower()
        by_id[slots.published[place]] = people + letter, value_letters + values[place]
    return [(people, "".join(sorted(values))) for people, values in by_id.values()]


def episodes_of(maps: list[SlotMap]) -> tuple[Line, set[tuple[str, str]]]:
    """Versions in which whoever has had several slots is somebody else in each, and who is whom."""
    letters: dict[tuple[bytes, int], str] = {}
    line = []
    for slots in maps:
        for place in zip(slots.key.tolist(), slots.group.tolist(), strict=True):
            letters.setdefault(place, LETTERS_AND_MORE[len(letters)])
        names = np.array(
            [
                letters[p].encode()
                for p in zip(slots.key.tolist(), slots.group.tolist(), strict=True)
            ]
        )
        line.append(as_letters(replace(slots, key=names)))
    first: dict[bytes, str] = {}
    pairs = set()
    for (key, _), letter in letters.items():
        if key in first:
            pairs.add((first[key], letter))
        first[key] = letter
    return line, pairs


LETTERS_AND_MORE = LETTERS + "ÀÁÂÃÄÅÆÇÈÉÊË"


def supports(line: Line) -> dict[str, set[str]]:
    """The values of the group in which each person is first."""
    values_by_person: dict[str, set[str]] = {}
    for version in line:
        for people, values in version:
            for person in people.upper():
                values_by_person.setdefault(person, set(values))
    return values_by_person


def coming_and_going(rng, values, versions=3, most=12):
    """People of several versions with values for ever: some leave, some come, some return."""
    value = {LETTERS[p]: values[p % len(values)] for p in range(most)}
    here, out = LETTERS[:6], ""
    for _ in range(versions):
        yield {person: value[person] for person in rng.permutation(list(here))}
        stay = [person for person in here if rng.random() < 0.6] or [here[0]]
        back = [person for person in out if rng.random() < 0.3]
        out = "".join(p for p in value if p in {*here, *out} and p not in {*stay, *back})
        fresh = [p for p in value if p not in {*stay, *out, *back}]
        here = "".join([*stay, *back, *fresh[: int(rng.integers(1, 4))]])
