"""The figures of promises, computed from published tables by the text of the specification (P).

Nothing of the project computes them here: only integers, fractions, and logarithms of doubles.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from typing import Any

import pyarrow as pa

from tests.conformance.drafts import Document, NotApplicableError, Tables

Value = Any
Figure = Fraction | float
_EPOCH = datetime.fromisoformat("1970-01-01")


@dataclass(frozen=True)
class Group:
    """A group of a promise (P1.2).

    Attributes:
        counts: the rows of each sensitive value, n(v).
        live: the rows that count as people (P1.4).
        weight: the sum of the promise's weights, 0 without one.
        labels: of the promise's quasi-identifiers, where the form shows labels.
    """

    counts: Counter[Value]
    live: int
    weight: int = 0
    labels: tuple[Value, ...] = ()

    @property
    def rows(self) -> int:
        """All rows, n."""
        return sum(self.counts.values())


def groups_of(terms: Document, tables: Tables, promise: Document) -> list[Group]:
    """Return the groups that a promise is judged on.

    Raises:
        NotApplicableError: for a form or a scope that is not computed here.
    """
    method = terms["form"]["method"]
    if promise.get("known") or method not in _GROUPS:
        raise NotApplicableError
    return _GROUPS[method](terms, tables, promise)


def _label_groups(terms: Document, tables: Tables, promise: Document) -> list[Group]:
    """Return groups of equal labels, or of equal ids where versions are composed."""
    composed = isinstance(terms["versions"], dict)
    names = ["group_id"] if composed else promise["quasi-identifiers"]
    rows = _by_key(tables["microdata"], names)
    vacant = _vacant(tables) if composed else {}
    sensitive, weight = promise.get("sensitive"), promise.get("weight")
    return [
        Group(
            Counter(row.get(sensitive) for row in members),
            max(len(members) - vacant.get(key[0], 0), 0),
            sum(row[weight] for row in members) if weight else 0,
            key,
        )
        for key, members in rows.items()
    ]


def _vacant(tables: Tables) -> dict[Value, int]:
    lineage = tables["lineage"].to_pylist()
    return {row["group_id"]: row["vacant"] for row in lineage}


def _groups_with_ids(_terms: Document, tables: Tables, promise: Document) -> list[Group]:
    """Return the groups of `microdata`, with vacant values."""
    rows = _by_key(tables["microdata"], ["group_id"])
    if "vacant" in tables:
        for key, members in _by_key(tables["vacant"], ["group_id"]).items():
            rows[key] = [*rows.get(key, []), *members]
    sensitive = promise["sensitive"]
    counted = [Counter(row[sensitive] for row in members) for members in rows.values()]
    return [Group(counts, counts.total()) for counts in counted]


def _groups_with_counts(_terms: Document, tables: Tables, promise: Document) -> list[Group]:
    """Return the groups of the table of counts that has the sensitive column."""
    sensitive = promise["sensitive"]
    table = next(
        table
        for name, table in tables.items()
        if name.startswith("st") and sensitive in table.column_names
    )
    counted: dict[Value, Counter[Value]] = defaultdict(Counter)
    for row in table.to_pylist():
        counted[row["group_id"]][row[sensitive]] += row["count"]
    return [Group(counts, counts.total()) for counts in counted.values()]


_GROUPS: Mapping[str, Callable[[Document, Tables, Document], list[Group]]] = {
    "generalized": _label_groups,
    "suppressed": _label_groups,
    "permuted": _groups_with_ids,
    "split": _groups_with_counts,
    "ambiguous": _groups_with_counts,
}


def _by_key(table: pa.Table, names: Sequence[str]) -> dict[tuple[Value, ...], list[Document]]:
    rows: dict[tuple[Value, ...], list[Document]] = defaultdict(list)
    for row in table.to_pylist():
        rows[tuple(row[name] for name in names)].append(row)
    return rows


def number_of(value: Value) -> Fraction:
    """Return the number that a value is measured by (P11).

    Raises:
        NotApplicableError: for texts, booleans and missing values.
    """
    if isinstance(value, datetime):
        elapsed = value - _EPOCH
        return Fraction(elapsed.days * 86_400 + elapsed.seconds) + Fraction(
            elapsed.microseconds, 10**6
        )
    if isinstance(value, date):
        return Fraction(value.toordinal())
    if isinstance(value, float):
        return Fraction(Decimal(repr(value)))
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return Fraction(value)
    raise NotApplicableError


@dataclass(frozen=True)
class Limit:
    """A parameter of a promise, as the tables have it.

    Attributes:
        name: of the parameter.
        figure: the worst over all groups, exact unless it is a float.
        at_most: whether the parameter is the most that is allowed; otherwise the least.
        whole: whether the parameter is an integer.
    """

    name: str
    figure: Figure
    at_most: bool
    whole: bool = False

    def is_kept(self, required: Fraction) -> bool:
        """Decide whether the tables keep the parameter.

        Raises:
            NotApplicableError: where a float is too near to decide.
        """
        if isinstance(self.figure, float) and abs(self.figure - float(required)) < 1e-6:
            raise NotApplicableError
        return self.figure <= required if self.at_most else self.figure >= required


def limits_of(terms: Document, tables: Tables, promise: Document) -> list[Limit]:
    """Return what the tables have for each parameter of a promise.

    Raises:
        NotApplicableError: for a promise that is not computed here.
    """
    name = promise["model"]
    measure = _MEASURES.get((name, promise.get("variant"))) or _MEASURES.get((name, None))
    if measure is None or "dont-care" in promise or "negative" in promise or "members" in promise:
        raise NotApplicableError
    return list(measure(groups_of(terms, tables, promise), promise))


def are_kept(terms: Document, tables: Tables) -> bool:
    """Decide whether the tables keep all promises of a declaration.

    Raises:
        NotApplicableError: where a promise is not computed here.
    """
    return all(
        limit.is_kept(Fraction(str(promise[limit.name])))
        for promise in terms["promises"]
        for limit in limits_of(terms, tables, promise)
    )


def _k(groups: list[Group], _promise: Document) -> Iterator[Limit]:
    yield Limit("k", Fraction(min(group.live for group in groups)), False, True)


def _k_map(groups: list[Group], _promise: Document) -> Iterator[Limit]:
    yield Limit("k", Fraction(min(group.weight for group in groups)), False, True)


def _distinct(groups: list[Group], _promise: Document) -> Iterator[Limit]:
    yield Limit("l", Fraction(min(len(group.counts) for group in groups)), False, True)


def _entropy(groups: list[Group], _promise: Document) -> Iterator[Limit]:
    yield Limit("l", min(math.exp(_entropy_of(group)) for group in groups), False)


def _entropy_of(group: Group) -> float:
    within = math.fsum(count * math.log(count) for count in group.counts.values())
    return math.log(group.rows) - within / group.rows


def _recursive(groups: list[Group], promise: Document) -> Iterator[Limit]:
    """Yield the least c: it must be above the figure, which P6.3 asks strictly."""
    ratios = []
    for group in groups:
        counts = sorted(group.counts.values(), reverse=True)
        rest = sum(counts[promise["l"] - 1 :])
        if not rest:
            raise NotApplicableError
        ratios.append(Fraction(counts[0], rest))
    yield Limit("c", max(ratios) + Fraction(1, 10**9), True)


def _alpha(groups: list[Group], promise: Document) -> Iterator[Limit]:
    if "values" in promise:
        raise NotApplicableError
    yield Limit("alpha", _largest_share(groups), True)
    yield from _k(groups, promise)


def _largest_share(groups: list[Group]) -> Fraction:
    return max(Fraction(max(group.counts.values()), group.rows) for group in groups)


def _ke(groups: list[Group], promise: Document) -> Iterator[Limit]:
    numbers = [[number_of(value) for value in group.counts] for group in groups]
    yield Limit("k", Fraction(min(map(len, numbers))), False, True)
    yield Limit("e", min(max(group) - min(group) for group in numbers), False)


def _closeness(groups: list[Group], promise: Document) -> Iterator[Limit]:
    distance = _DISTANCES.get(promise["distance"])
    if distance is None:
        raise NotApplicableError
    overall = sum((group.counts for group in groups), Counter())
    yield Limit("t", max(distance(group.counts, overall) for group in groups), True)


def _equal(counts: Counter[Value], overall: Counter[Value]) -> Fraction:
    rows, whole = counts.total(), overall.total()
    apart = sum(abs(whole * counts[value] - rows * overall[value]) for value in overall)
    return Fraction(apart, 2 * whole * rows)


def _order_distance(counts: Counter[Value], overall: Counter[Value]) -> Fraction:
    rows, whole = counts.total(), overall.total()
    values = sorted(overall, key=number_of)
    apart = running = 0
    for value in values:
        running += whole * counts[value] - rows * overall[value]
        apart += abs(running)
    return Fraction(apart, (len(values) - 1) * whole * rows) if len(values) > 1 else Fraction(0)


_DISTANCES: Mapping[str, Callable[[Counter[Value], Counter[Value]], Fraction]] = {
    "equal": _equal,
    "ordered": _order_distance,
}


def _gains(groups: list[Group]) -> Iterator[Fraction]:
    overall = sum((group.counts for group in groups), Counter())
    for group in groups:
        for value, count in group.counts.items():
            yield Fraction(count * overall.total(), group.rows * overall[value]) - 1


def _likeness(groups: list[Group], _promise: Document) -> Iterator[Limit]:
    yield Limit("beta", max(Fraction(0), *_gains(groups)), True)


def _disclosure(groups: list[Group], _promise: Document) -> Iterator[Limit]:
    overall = sum((group.counts for group in groups), Counter())
    if any(len(group.counts) < len(overall) for group in groups):
        raise NotApplicableError
    ratios = [gain + 1 for gain in _gains(groups)]
    yield Limit("delta", max(abs(math.log(ratio)) for ratio in ratios), True)


def _combinations(groups: list[Group], knowledge: int) -> list[Counter[Value]]:
    """Return the counts of values of every combination of labels of so many columns (P17)."""
    seen: dict[tuple[Value, ...], Counter[Value]] = defaultdict(Counter)
    columns = range(len(groups[0].labels))
    for chosen in combinations(columns, min(knowledge, len(columns))):
        for group in groups:
            seen[(chosen, *(group.labels[c] for c in chosen))].update(group.counts)
    return list(seen.values())


def _km(groups: list[Group], promise: Document) -> Iterator[Limit]:
    least = min(counts.total() for counts in _combinations(groups, promise["m"]))
    yield Limit("k", Fraction(least), at_most=False, whole=True)


def _lkc(groups: list[Group], promise: Document) -> Iterator[Limit]:
    if promise.get("values"):
        raise NotApplicableError
    seen = _combinations(groups, promise["l"])
    least = min(counts.total() for counts in seen)
    yield Limit("k", Fraction(least), at_most=False, whole=True)
    yield Limit("c", max(Fraction(max(c.values()), c.total()) for c in seen), at_most=True)


Measure = Callable[[list[Group], Document], Iterator[Limit]]
_MEASURES: Mapping[tuple[str, str | None], Measure] = {
    ("k-anonymity", None): _k,
    ("k-map", None): _k_map,
    ("l-diversity", "distinct"): _distinct,
    ("l-diversity", "entropy"): _entropy,
    ("l-diversity", "recursive"): _recursive,
    ("alpha-k", None): _alpha,
    ("km-anonymity", None): _km,
    ("lkc-privacy", None): _lkc,
    ("ke-anonymity", None): _ke,
    ("t-closeness", None): _closeness,
    ("beta-likeness", "basic"): _likeness,
    ("delta-disclosure", None): _disclosure,
}
"""Measures by the model and the variant of a promise; a variant of None is any."""
