"""The method of a draft: promises, partition, form and questions, by what the steward answers.

Two answers decide: whether only a person's sensitive value has to be hidden, or the row, too; and
whether readers ask about numbers or about categories. Without an answer the row is hidden.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from math import ceil, floor, log10
from typing import Any, Literal

import numpy as np

from sfumato.tasks.profile.facts import ColumnFacts
from sfumato.tasks.profile.skeletons import round_up
from sfumato.tasks.schema.columns import ORDERED

Hide = Literal["rows", "values"]
"""Hide rows: labels in place of exact values. Hide values: only which sensitive value is whose."""
About = Literal["numbers", "categories"]

_L = 3
_K = ((100, 5), (30, 3), (0, 2))  # least number of rows, and k
_SPANS = (20, 10, 4, 2)  # parts of a column's range
_MOST = 6  # most quasi-identifiers with workloads over ranges
_OPPOSED = 2  # most quasi-identifiers that are counted together
_SELECTED = (50, 200)  # rows of selections across all quasi-identifiers
_TENS = (1, 2, 5)
_ROWS = (
    "Labels hide rows: each person has the same quasi-identifiers as k - 1 others or more. Each "
    "group has l different sensitive values. Larger numbers protect more and make answers less "
    "accurate."
)
_NUMBERS = (
    "Only which {name} a person has is hidden. Exact values of {columns} are published, so anyone "
    "who knows them sees that a person is in the table. Each group has k different values of "
    "{name} that lie at least e apart; e is rounded from half of its median."
)
_CATEGORIES = (
    "Only which {name} a person has is hidden. Exact values of {columns} are published, so anyone "
    "who knows them sees that a person is in the table. Each group has l different values of "
    "{name}."
)
_FEW_KNOWN = (
    "Cells are hidden until every combination of values of any l quasi-identifiers is shown by k "
    "rows. No sensitive value is shown by more than a share c of these."
)
_BEFORE_FEW_KNOWN = (
    "With so many quasi-identifiers, labels that protect from who knows all of them are very wide. "
    "If others know at most two of a person's, whichever they are, hide single cells with this in "
    "place of the lines above:"
)
_MANY = 8  # quasi-identifiers, of which hardly anybody knows all
_OTHER = {
    "rows": (
        "If exact values of the other columns may be published, answers are far more accurate "
        "with this in place of the lines above:"
    ),
    "values": (
        "If the row must be hidden as well, publish labels with this in place of the lines above:"
    ),
}


@dataclass(frozen=True)
class ProposedMethod:
    """Promises, partition and form that fit together.

    Attributes:
        words: what they hide and what they show.
        promises: as a spec has them.
        partition: the method of grouping.
        form: the method of publication.
        settings: further keys of the partition.
        form_settings: further keys of the form.
        before: what introduces it in a draft of another method; empty if the answers do.
    """

    words: str
    promises: Sequence[Mapping[str, Any]]
    partition: str
    form: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    form_settings: Mapping[str, Any] = field(default_factory=dict)
    before: str = ""


def propose_methods(
    sensitive: Sequence[ColumnFacts],
    quasi_identifiers: Sequence[ColumnFacts],
    rows: int,
    hide: Hide | None,
    about: About | None,
) -> list[ProposedMethod]:
    """Return the method for a steward's answers, and others, if there are any.

    Args:
        sensitive: the facts about the sensitive columns.
        quasi_identifiers: the facts about the quasi-identifiers.
        rows: the number of rows of people.
        hide: what has to be hidden; None for no answer.
        about: what readers ask about; None for no answer: about numbers if there are any.
    """
    labels = ProposedMethod(_ROWS, propose_promises(sensitive, rows), "mondrian", "generalized")
    if not sensitive or not quasi_identifiers:
        return [labels]
    exact = _method_of_exact_rows(sensitive, quasi_identifiers, rows, about)
    if hide == "values":
        return [exact, labels]
    few_known = _method_of_few_known(sensitive, rows)
    return [labels, *([few_known] if len(quasi_identifiers) >= _MANY else []), exact]


def words_before(other: ProposedMethod, hide: Hide | None) -> str:
    """Return what introduces another method in a draft."""
    return other.before or _OTHER[hide or "rows"]


def _method_of_few_known(sensitive: Sequence[ColumnFacts], rows: int) -> ProposedMethod:
    """Return the method against who knows two quasi-identifiers.

    The bound on shares is half way between the largest share of a value and 1.
    """
    promises = []
    for facts in sensitive:
        most = max(facts.largest, facts.missing)
        share = Decimal(ceil(5 + 5 * most / max(facts.rows_with_value + facts.missing, 1))) / 10
        promise = {"model": "lkc-privacy", "l": 2, "k": fewest(rows), "c": float(share)}
        promises.append(promise | _column_of(facts, sensitive))
    return ProposedMethod(
        _FEW_KNOWN, promises, "local-suppression", "suppressed", before=_BEFORE_FEW_KNOWN
    )


def propose_promises(sensitive: Sequence[ColumnFacts], rows: int) -> list[dict[str, Any]]:
    """Propose k-anonymity, and different values of each sensitive column in every group.

    The whole table keeps these promises. So a partition that merges groups can always keep them.
    """
    promises: list[dict[str, Any]] = [{"model": "k-anonymity", "k": fewest(rows)}]
    return promises + [propose_diversity(facts, sensitive) for facts in sensitive]


def fewest(rows: int) -> int:
    """Return the k that a draft promises for so many rows."""
    return next(k for least, k in _K if rows >= least)


def propose_diversity(
    facts: ColumnFacts, sensitive: Sequence[ColumnFacts], most: int = _L
) -> dict[str, Any]:
    """Propose distinct l-diversity; its column is named if there are several."""
    different = max(2, min(most, facts.distinct + bool(facts.missing)))
    promise: dict[str, Any] = {"model": "l-diversity", "variant": "distinct", "l": different}
    return promise | _column_of(facts, sensitive)


def _column_of(facts: ColumnFacts, sensitive: Sequence[ColumnFacts]) -> dict[str, str]:
    return {"sensitive": facts.name} if len(sensitive) > 1 else {}


def _method_of_exact_rows(
    sensitive: Sequence[ColumnFacts],
    quasi_identifiers: Sequence[ColumnFacts],
    rows: int,
    about: About | None,
) -> ProposedMethod:
    """Return the method that groups by the first column that readers ask about."""
    number = grouping_number(sensitive, about)
    categories = [facts for facts in sensitive if not facts.is_number]
    first = number or (categories or sensitive)[0]
    others = [
        propose_diversity(facts, sensitive) for facts in sensitive if facts.name != first.name
    ]
    columns = ", ".join(facts.name for facts in quasi_identifiers)
    if number is not None:
        k = max(2, min(fewest(rows), first.distinct))
        promise = {"model": "ke-anonymity", "k": k, "e": rounded_difference(first)}
        promises = [promise | _column_of(first, sensitive), *others]
        words = _NUMBERS.format(name=first.name, columns=columns)
        return ProposedMethod(words, promises, "ke", "permuted")
    promises = [propose_diversity(first, sensitive, _most_alike(first, rows)), *others]
    words = _CATEGORIES.format(name=first.name, columns=columns)
    return ProposedMethod(words, promises, _partition_of(first), "permuted")


def _most_alike(facts: ColumnFacts, rows: int) -> int:
    """Return the l that anatomy can give: no value may have more than one of l rows."""
    return max(2, min(fewest(rows), _rows_by_most_frequent(facts)))


def _partition_of(facts: ColumnFacts) -> str:
    """Return anatomy, or mondrian if one value has more than half of the rows."""
    return "anatomy" if _rows_by_most_frequent(facts) > 1 else "mondrian"


def _rows_by_most_frequent(facts: ColumnFacts) -> int:
    """Return how many times the rows of the most frequent value fit into all rows, rounded down."""
    return (facts.rows_with_value + facts.missing) // max(facts.largest, facts.missing, 1)


def grouping_number(sensitive: Sequence[ColumnFacts], about: About | None) -> ColumnFacts | None:
    """Return the number that groups of exact rows are made by; None for groups by a category."""
    numbers = [facts for facts in sensitive if facts.is_number and facts.distinct > 1]
    candidates = numbers if about != "categories" or len(numbers) == len(sensitive) else []
    return candidates[0] if candidates else None


def rounded_difference(facts: ColumnFacts) -> int | float:
    """Return a difference of a number that still hides something: 1, 2 or 5 times a power of ten.

    It is half of the median of the absolute values, but at most a quarter of the range, rounded
    downwards; where that is 0, a twentieth of the range.
    """
    values = np.array([float(value) for value in facts.column.values.to_pylist()])
    values, rows = values[np.isfinite(values)], np.asarray(facts.rows)[np.isfinite(values)]
    length = float(values.max() - values.min())
    half = float(np.median(np.repeat(np.abs(values), rows))) / 2
    return _round_down(min(half, length / 4) or length / 20)


def _round_down(number: float) -> int | float:
    """Return the largest 1, 2 or 5 times a power of ten that is not above a positive number."""
    power = floor(log10(number))
    digit = max(ten for ten in _TENS if ten <= number / 10.0**power + 1e-9)
    rounded = Decimal(digit).scaleb(power)
    return int(rounded) if rounded >= 1 else float(rounded)


def propose_workloads(
    quasi_identifiers: Sequence[ColumnFacts],
    sensitive: Sequence[ColumnFacts],
    hide: Hide | None = None,
    about: About | None = None,
) -> list[dict[str, Any]]:
    """Propose questions over every quasi-identifier: ranges, several at once, any selections.

    Selections of rows one by one have a meaning only where exact rows are published, and where no
    value is missing: rows without the number that groups are made by are left out.
    """
    if not sensitive or not quasi_identifiers:
        return []
    questions = [*_of_ranges(quasi_identifiers, sensitive)]
    several, grouping = len(sensitive) > 1, grouping_number(sensitive, about)
    for facts in sensitive:
        target = {"of": facts.name} if several else {}
        attributes = min(_OPPOSED, len(quasi_identifiers))
        questions.append({"kind": "counts", "attributes": attributes, **target})
        is_whole = not facts.missing or facts is grouping
        if hide == "values" and facts.is_number and is_whole:
            selected = {"selected": list(_SELECTED)}
            questions.append({"kind": "arbitrary", "aggregate": "avg", **selected, **target})
    return questions


def _of_ranges(
    quasi_identifiers: Sequence[ColumnFacts], sensitive: Sequence[ColumnFacts]
) -> Iterator[dict[str, Any]]:
    """Yield counts and averages over ranges of the quasi-identifiers that have an order."""
    several = len(sensitive) > 1
    ranged = [(facts, spans) for facts in quasi_identifiers if (spans := spans_of(facts))]
    for facts, spans in ranged[:_MOST]:
        over = {"over": facts.name, "spans": spans}
        first = {"of": sensitive[0].name} if several else {}
        yield {"kind": "range", "aggregate": "count", **over, **first}
        for number in (s for s in sensitive if s.is_number):
            target = {"of": number.name} if several else {}
            yield {"kind": "range", "aggregate": "avg", **over, **target}


def spans_of(facts: ColumnFacts) -> list[int]:
    """Return round widths that are parts of a column's range; empty if it has no ranges."""
    if facts.type not in ORDERED or facts.type == "timestamp" or facts.distinct < _SPANS[-2]:
        return []
    length = _length(facts.column.values[0].as_py(), facts.column.values[-1].as_py())
    return sorted({round_up(length / part) for part in _SPANS if length / part >= 1})


def _length(first: Any, last: Any) -> float:
    if isinstance(first, date | datetime):
        return float((last - first).days)
    return float(last - first)
