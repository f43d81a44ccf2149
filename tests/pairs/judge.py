"""Hold an answer against the answers of all worlds."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.inquiries.answer import Answer
from sfumato.tasks.query.question.rest import REST
from tests.pairs.faults import NEAR, OF_ROOT, fault_of, has_root, is_near, json_fault, sort_key_of
from tests.pairs.possible.releases import PairedRelease
from tests.pairs.possible.shapes import exactly
from tests.pairs.semantics.answers import Answers, Found
from tests.pairs.semantics.queries import Key, Query
from tests.pairs.semantics.rows import Node


@dataclass(frozen=True)
class Fault:
    """Something that an answer says, and a world denies.

    Attributes:
        kind: "outside", "null", "certain", "missing", "attained", "order", "limit", "json",
            "twice" or "exception".
        key: of the row.
        asked: the formula, as SQL.
        truth: values of worlds.
        answer: what was answered.
    """

    kind: str
    key: Key = ()
    asked: str = ""
    truth: str = ""
    answer: str = ""


@dataclass
class Judgement:
    """Faults of an answer, and how much of it was held against worlds."""

    faults: list[Fault] = field(default_factory=list)
    cells: int = 0
    ends: int = 0
    loose_rows: int = 0
    loose_certain: int = 0


@dataclass
class _Seen:
    """Answers of worlds in one row."""

    found: dict[int, Found] = field(default_factory=dict)
    present: int = 0
    kept: int = 0

    def add(self, cells: Sequence[Found]) -> None:
        """Add a world's rows: several where some column's values are none that a label names.

        What these come to together is not judged.
        """
        if len(cells) == 1:
            self.found[id(cells[0])] = cells[0]
        self.present += 1
        self.kept += any(row.kept for row in cells)

    def values(self, place: int) -> set[Any]:
        return {row.values[place] for row in self.found.values()}


def judge(release: PairedRelease, query: Query, answer: Answer) -> Judgement:
    """Return what of an answer some world denies."""
    return _Judge(release, query, answer).judgement()


class _Judge:
    """Holds one answer against worlds."""

    def __init__(self, release: PairedRelease, query: Query, answer: Answer) -> None:
        self._release, self._query, self._answer = release, query, answer
        self._answers = Answers(query, release.rows)
        self._worlds = release.worlds.worlds
        self._in_worlds = [self._answers.in_world(world) for world in self._worlds]
        self._result = Judgement()
        self._seen: dict[Key, _Seen] = {}
        for rows_of_world in self._in_worlds:
            rows: dict[Key, list[Found]] = defaultdict(list)
            for key, row in rows_of_world.items():
                rows[self._place(key, row)].append(row)
            for key, of_key in rows.items():
                self._seen.setdefault(key, _Seen()).add(of_key)

    def judgement(self) -> Judgement:
        """Return the faults."""
        if len(set(self._keys)) < len(self._keys):
            self._fault("twice", ())
        self._judge_rows()
        for key, row in zip(self._keys, self._answer.rows, strict=True):
            seen = self._seen.get(key, _Seen())
            self._result.loose_rows += not seen.kept
            for place, formula in enumerate(self._query.formulas):
                self._judge_cell(key, seen, place, formula, row[f"a{place}"])
        if self._query.order and not self._has_rest:
            self._judge_order()
        return self._result

    @cached_property
    def _keys(self) -> list[Key]:
        names = [f"k{place}" for place in range(len(self._query.keys))]
        return [
            tuple(row[name] if row[name] is REST else exactly(row[name]) for name in names)
            for row in self._answer.rows
        ]

    @cached_property
    def _named_values(self) -> list[set[Any]]:
        """The values of each group column that some row of the answer names."""
        columns = zip(*self._keys, strict=True)
        return [{value for value in column if value is not REST} for column in columns]

    @cached_property
    def _has_rest(self) -> bool:
        return any(value is REST for key in self._keys for value in key)

    def _place(self, key: Key, row: Found) -> Key:
        """Return the row of the answer that a world's row is in: the rest holds what has none.

        A row that HAVING drops may be of a named value that has no row in the answer.
        """
        if key in self._keys or not self._has_rest or not row.kept:
            return key
        pairs = zip(key, self._named_values, strict=True)
        return tuple(value if value in named else REST for value, named in pairs)

    @cached_property
    def _is_cut(self) -> bool:
        """True where LIMIT may have left rows out, of which all are certain then."""
        return self._query.limit is not None and all(self._answer.certain)

    def _fault(
        self, kind: str, key: Key, text: str = "", truth: Any = "", truth_shown: Any = ""
    ) -> None:
        self._result.faults.append(Fault(kind, key, text, str(truth), str(truth_shown)))

    def _judge_rows(self) -> None:
        """Judge which rows there are, and which are certain."""
        for key, sure in zip(self._keys, self._answer.certain, strict=True):
            rest_kept = self._seen.get(key, _Seen()).kept
            if sure and rest_kept < len(self._worlds):
                self._fault("certain", key, truth=f"in {rest_kept} of {len(self._worlds)} worlds")
            self._result.loose_certain += not sure and rest_kept == len(self._worlds)
        if not self._is_cut:
            for key in (key for key, seen in self._seen.items() if seen.kept):
                if key not in self._keys:
                    self._fault("missing", key, truth_shown=self._keys)

    def _judge_cell(self, key: Key, seen: _Seen, place: int, formula: Node, bounds: Bounds) -> None:
        """Judge the bounds of one formula in one row."""
        self._result.cells += 1
        values = seen.values(place)
        slack = OF_ROOT if has_root(formula) else Fraction(0)
        for value in values:
            fault = fault_of(bounds, value, slack)
            if fault:
                self._fault(fault, key, formula.sql(), value, bounds)
                return
        if bounds.attained and bounds.lower is not None and not bounds.unbounded and seen.present:
            self._judge_ends(key, seen, place, formula, bounds)
        if json_fault(bounds):
            self._fault("json", key, formula.sql(), bounds.document(), bounds)

    def _judge_ends(self, key: Key, seen: _Seen, place: int, formula: Node, bounds: Bounds) -> None:
        """Judge ends that are said to be attained, where all worlds are listed."""
        if (
            any(value is REST for value in key)
            or not self._release.worlds.listed
            or not self._release.complete
        ):
            return
        values = seen.values(place) | self._of_no_rows(key, seen, place)
        self._result.ends += 1
        near = NEAR if has_root(formula) else Fraction(0)
        for end in (bounds.lower, bounds.upper):
            if not any(is_near(value, end, near) for value in values):
                self._fault("attained", key, formula.sql(), sorted(values, key=sort_key_of), bounds)
                return

    def _of_no_rows(self, key: Key, seen: _Seen, place: int) -> set[Any]:
        """Return what a formula comes to in worlds where the row is not there: a COUNT is 0."""
        if seen.present == len(self._worlds):
            return set()
        pairs = zip(self._worlds, self._in_worlds, strict=True)
        return {
            self._answers.of_no_rows(world)[place]
            for world, rows_of_world in pairs
            if key not in rows_of_world
        }

    def _judge_order(self) -> None:
        """Judge the order of rows, unless it goes by estimates, and those that LIMIT keeps."""
        for rows_of_world in self._in_worlds:
            rows_kept = {key: row.values for key, row in rows_of_world.items() if row.kept}
            here = [key for key in self._keys if key in rows_kept]
            if not self._answer.by_estimate:
                pairs = pairwise(here)
                if any(self._is_before(rows_kept, after, first) for first, after in pairs):
                    self._fault("order", (), truth=rows_kept, truth_shown=self._keys)
                    return
            if not self._is_cut:
                continue
            others = [key for key in rows_kept if key not in here]
            length = min(self._query.limit, len(rows_kept))
            if len(self._keys) != length or any(
                self._is_before(rows_kept, other, key) for other in others for key in here
            ):
                self._fault("limit", (), truth=rows_kept, truth_shown=self._keys)
                return

    def _is_before(self, rows_kept: Mapping[Key, Key], first: Key, second: Key) -> bool:
        """Tell whether a row has to stand before another; NULLs stand last."""
        for kind, place, down in self._query.order:
            pair = [(key if kind == "k" else rows_kept[key])[place] for key in (first, second)]
            if pair[0] == pair[1]:
                continue
            if None in pair:
                return pair[1] is None
            return bool(pair[0] > pair[1]) if down else bool(pair[0] < pair[1])
        return False
