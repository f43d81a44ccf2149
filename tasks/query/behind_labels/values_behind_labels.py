"""The values behind labels that decide a condition; a few suffice for a label of many values.

A label stands for the values that it admits (see `forms.labels`); a star, `*`, admits any value.
Listed labels have few values, which are all tried; the others are wide. A condition that only
compares the column with constants is also decided for wide labels: by pieces of the number line
(see `tasks.query.behind_labels.number_line`), or by the texts next to the constants. Otherwise
every outcome is possible.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, product
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sfumato.tasks.forms.labels import Admitted, Anything, Between, ListedValues, Prefixed
from sfumato.tasks.query.behind_labels.number_line import (
    Extents,
    decide_on_number_line,
    extents_of,
)
from sfumato.tasks.query.behind_labels.scales import Scale, scale_of
from sfumato.tasks.schema.published import DeclaredColumn

MOST = 200_000  # values of all labels that are tried one by one
_TEXTS = 5_000  # texts that are tried for one prefix
# comparisons with constants whose outcomes follow from whether values are equal
EQUALITIES = (exp.EQ, exp.NEQ, exp.In, exp.Is)
COMPARISONS = (*EQUALITIES, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between)
_CONNECTIVES = (exp.And, exp.Or, exp.Not, exp.Paren)
_LAST = chr(0x10FFFF)  # the last character

FALSE, TRUE, NULL, ANY = range(4)
"""The outcomes of a condition on a value; ANY if it cannot be evaluated on it."""

Decide = Callable[[pa.Array | Sequence[Any]], np.ndarray]
"""Decides a condition on values: an outcome for each (int8, one per value)."""

Fold = Callable[[Sequence[exp.Expr]], Sequence[Any]]
"""Returns the values of some expressions without columns."""


@dataclass(frozen=True, eq=False)
class Tally:
    """The outcomes of a condition behind each label.

    Attributes:
        possible: whether false, true and null are possible (bool, 3 x labels).
        weight: the weight of the label's values with each outcome, NaN if unknown (float64, 3 x
            labels); an outcome's share of the sum of a label is its chance.
    """

    possible: np.ndarray
    weight: np.ndarray


class _Trial(NamedTuple):
    """A value that may be behind a label, with its share of the label as weight."""

    label: int
    value: Any
    weight: float


class ValuesBehindLabels:
    """The values behind the labels of a column; values of labels with few are listed once."""

    def __init__(self, labels: Sequence[Admitted], column: DeclaredColumn) -> None:
        """List the values of labels that have few, and null for every label that admits it."""
        self._labels = labels
        self._scale = scale_of(column)
        listed = _listed_labels(labels, self._scale, column)
        pairs = [(n, value) for n in sorted(listed) for value in values_of_label(labels[n], column)]
        pairs += [(n, None) for n, label in enumerate(labels) if label.null and n not in listed]
        places = {value: place for place, value in enumerate(dict.fromkeys(v for _, v in pairs))}
        self._told = [value for value in places if value is not None]
        self._values = pa.array(list(places), column.arrow_type)
        self._label = np.array([n for n, _ in pairs], dtype=np.int64)
        self._place = np.array([places[value] for _, value in pairs], dtype=np.int64)
        self._wide = [n for n in range(len(labels)) if n not in listed]
        self._type = column.arrow_type

    @cached_property
    def _extents(self) -> Extents | None:
        """The numbers behind the labels that are not listed."""
        return None if self._scale is None else extents_of(self._labels, self._wide, self._scale)

    @cached_property
    def span(self) -> pa.Array | None:
        """All values from the least to the greatest that a label states; None if too many."""
        hull = None if self._scale is None or self._extents is None else self._extents.hull
        if hull is None or self._scale is None or hull[1] - hull[0] >= MOST:
            return None
        return pa.array(map(self._scale.value, range(hull[0], hull[1] + 1)), self._type)

    def tally(self, condition: exp.Expr, decide: Decide, fold: Fold) -> Tally:
        """Return the outcomes behind each label of a condition on this column only.

        Args:
            condition: the condition.
            decide: returns its outcome on values.
            fold: returns the values of the constants in it.
        """
        outcomes = decide(self._values)[self._place]
        tallied = tally_outcomes(self._label, outcomes, None, len(self._labels))
        if self._wide:
            _add(tallied, self._of_wide(condition, decide, fold))
        return tallied

    def _of_wide(self, condition: exp.Expr, decide: Decide, fold: Fold) -> Tally:
        """Return the outcomes behind labels that are not listed, without those on null."""
        nodes = constants_of(condition, (*COMPARISONS, exp.Like))
        liked = condition.find(exp.Like) is not None
        if nodes is None or (liked and self._scale is not None):
            return self._on_span(decide)
        named = [value for value in fold(nodes) if value is not None]
        if self._scale is not None and self._extents is not None:
            decided = decide_on_number_line(self._extents, named, self._scale, decide)
            return (
                _undecided_tally(self._wide, len(self._labels))
                if decided is None
                else Tally(*decided)
            )
        return self._of_texts([str(text) for text in named], condition, decide)

    def _on_span(self, decide: Decide) -> Tally:
        """Return the outcomes on all values of ranges; each value is tried once for all ranges.

        Every outcome is possible for labels without limits, or if the span has too many values.
        """
        if self.span is None or self._extents is None or self._extents.hull is None:
            return _undecided_tally(self._wide, len(self._labels))
        extents, first = self._extents, self._extents.hull[0]
        met = np.equal.outer(np.arange(4), decide(self.span))
        # the number of values before each with each outcome, so that ranges are differences
        before = np.insert(np.cumsum(met, axis=1), 0, 0, axis=1)
        limited = extents.limited
        places = extents.wide[limited]
        ends = [
            (numbers[limited] - first).astype(np.int64) for numbers in (extents.low, extents.high)
        ]
        counts = before[:, ends[1] + 1] - before[:, ends[0]]
        tally = _undecided_tally(extents.wide[~limited].tolist(), len(self._labels))
        tally.possible[:, places] = (counts[:3] > 0) | (counts[ANY] > 0)
        tally.weight[:, places] = np.where(counts[ANY] > 0, np.nan, counts[:3])
        return tally

    def _of_texts(self, named: Sequence[str], condition: exp.Expr, decide: Decide) -> Tally:
        """Return the outcomes behind labels of texts, by the texts that a condition names.

        Weights are known only if the condition tests nothing but equality.
        """
        liked = condition.find(exp.Like) is not None
        equal = constants_of(condition, EQUALITIES) is not None
        tried: list[_Trial] = []
        undecided = []
        for n in self._wide:
            texts_for = like_texts if liked else texts_beside
            texts = texts_for(named, self._labels[n])
            if texts is None:
                undecided.append(n)
            else:
                tried += [_Trial(n, text, weight) for text, weight in texts]
                tried += self._published_trials(n)
        outcomes = decide([trial.value for trial in tried])
        label = np.array([trial.label for trial in tried], dtype=np.int64)
        weight = np.array([trial.weight for trial in tried]) * (1.0 if equal else np.nan)
        tallied = tally_outcomes(label, outcomes, weight, len(self._labels))
        _add(tallied, _undecided_tally(undecided, len(self._labels)))
        return tallied

    def _published_trials(self, n: int) -> list[_Trial]:
        """Return the trials that give a star its weights; nothing for other labels.

        Estimates assume that a star hides one of the values that listed labels state.
        """
        if not isinstance(self._labels[n], Anything):
            return []
        return [_Trial(n, value, 1.0) for value in self._told]


def tally_outcomes(
    label: np.ndarray, outcomes: np.ndarray, weight: np.ndarray | None, labels: int
) -> Tally:
    """Tally the outcomes of values behind labels.

    Args:
        label: the label of each value (int64).
        outcomes: the outcome of the condition on each value (integers).
        weight: the weight of each value (float64); None if all have the weight 1.
        labels: the number of labels.
    """
    place = outcomes.astype(np.int64) * labels + label
    counts = np.bincount(place, minlength=4 * labels).reshape(4, labels)
    possible = counts > 0
    totals = counts if weight is None else np.bincount(place, weight, 4 * labels).reshape(4, labels)
    weights = totals[:3].astype(np.float64)
    weights[:, possible[ANY]] = np.nan
    return Tally(possible[:3] | possible[ANY], weights)


def _add(tally: Tally, other: Tally) -> None:
    """Add the outcomes of another tally of the same labels to a tally."""
    np.logical_or(tally.possible, other.possible, out=tally.possible)
    np.add(tally.weight, other.weight, out=tally.weight)


def _undecided_tally(which: Sequence[int], labels: int) -> Tally:
    """Return a tally in which nothing is known of some labels."""
    possible, weight = np.zeros((3, labels), dtype=bool), np.zeros((3, labels))
    possible[:, which] = True
    weight[:, which] = np.nan
    return Tally(possible, weight)


def _listed_labels(
    labels: Sequence[Admitted], scale: Scale | None, column: DeclaredColumn
) -> frozenset[int]:
    """Return the positions of the labels whose values are listed.

    Labels are listed from the one with the fewest values on, as long as the ranges among them have
    up to `MOST` values in all.
    """
    positions, total = [], 0
    numbers = [(_number(label, scale, column), n) for n, label in enumerate(labels)]
    for number, n in sorted((number, n) for number, n in numbers if number is not None):
        total += number if isinstance(labels[n], Between) else 0
        if total <= MOST:
            positions.append(n)
    return frozenset(positions)


def _number(label: Admitted, scale: Scale | None, column: DeclaredColumn) -> int | None:
    """Return the number of values behind a label, without null; None if it has no limit."""
    if isinstance(label, ListedValues):
        return len(label.values)
    if isinstance(label, Between) and scale is not None and label.low is not None:
        return scale.whole(label.high) - scale.whole(label.low) + 1
    return 2 if isinstance(label, Anything) and column.type == "boolean" else None


def listed_number(label: Admitted, column: DeclaredColumn) -> int | None:
    """Return the number of values behind a label, without null; None if it has no limit."""
    return _number(label, scale_of(column), column)


def is_listed(label: Admitted, column: DeclaredColumn) -> bool:
    """Decide whether a label has so few values that they can be tried one by one."""
    number = _number(label, scale_of(column), column)
    return number is not None and (isinstance(label, ListedValues) or number <= MOST)


def is_single(label: Admitted) -> bool:
    """Decide whether a label is one value, or null."""
    return isinstance(label, ListedValues) and len(label.values) + label.null == 1


def values_of_label(label: Admitted, column: DeclaredColumn) -> Iterator[Any]:
    """Yield all values of a label that has few, with the null first if there is one."""
    if label.null:
        yield None
    scale = scale_of(column)
    if isinstance(label, ListedValues):
        yield from label.values
    elif isinstance(label, Between) and scale is not None:
        first, last = scale.whole(label.low), scale.whole(label.high)
        yield from (scale.value(number) for number in range(first, last + 1))
    elif isinstance(label, Anything):
        yield from (False, True)


def constants_of(
    node: exp.Expr, allowed: tuple[type[exp.Expr], ...], name: str | None = None
) -> list[exp.Expr] | None:
    """Return the constants that a condition compares a column with.

    Returns None if the condition uses the column in any other way, such as in a calculation. An
    expression that is built only of such comparisons, as CASE is, also depends on the column
    only through them.

    Args:
        node: a condition, or another expression.
        allowed: the comparisons.
        name: the column; None if the condition has only one column.
    """
    if isinstance(node, exp.Column) or not any(_is_column(part, name) for part in node.walk()):
        return []
    operands = [part.unnest() for part in node.iter_expressions()]
    # if the column itself is an operand, the node compares it; otherwise its parts may
    constants = [part for part in operands if not _is_column(part, name)]
    if len(constants) < len(operands) and not isinstance(node, _CONNECTIVES):
        apart = all(part.find(exp.Column) is None for part in constants)
        return constants if isinstance(node, allowed) and apart else None
    of_parts = [constants_of(part, allowed, name) for part in node.iter_expressions()]
    compared = [nodes for nodes in of_parts if nodes is not None]
    return list(chain(*compared)) if len(compared) == len(of_parts) else None


def _is_column(node: exp.Expr, name: str | None) -> bool:
    """Decide whether a node is a column: any column, or the one of a name."""
    return isinstance(node, exp.Column) and name in (None, node.name)


def texts_beside(named: Sequence[str], label: Admitted) -> list[tuple[str, float]] | None:
    """Return texts that decide comparisons with the named texts, each with its weight.

    Those are the named texts and the next text after each, as far as the label admits them. Behind
    a prefix, one text that is not named has all of the weight. Returns None for other labels than
    stars and prefixes.
    """
    if isinstance(label, Anything):
        return [("", 0.0)] + [(text + end, 0.0) for text in named for end in ("", "\0")]
    if not isinstance(label, Prefixed):
        return None
    hidden = label.length - len(label.kept)
    texts = {label.kept + "\0" * hidden: None}
    for text in named:
        if text.startswith(label.kept):
            cut = (text + "\0" * label.length)[: label.length]
            texts |= dict.fromkeys((cut, _next_text(cut, len(label.kept))))
    taken = set(named)
    other = next((text for text in texts if text not in taken), None)
    return [(text, float(text == other)) for text in texts]


def _next_text(text: str, prefix: int) -> str:
    """Return the next text of this length with the same first `prefix` characters.

    Returns the text itself if it is the last one.
    """
    for place in range(len(text) - 1, prefix - 1, -1):
        if text[place] != _LAST:
            code = ord(text[place]) + 1
            following = chr(0xE000 if 0xD800 <= code < 0xE000 else code)
            return text[:place] + following + "\0" * (len(text) - place - 1)
    return text


def like_texts(named: Sequence[str], label: Admitted) -> list[tuple[str, float]] | None:
    """Return all texts behind a prefix, of the letters in the named texts and one other.

    Each has the weight 0. Returns None for other labels, or if there are too many such texts.
    """
    if not isinstance(label, Prefixed):
        return None
    letters = set("".join(named))
    letters.add(next(chr(code) for code in range(0xE000, 0xF000) if chr(code) not in letters))
    hidden = label.length - len(label.kept)
    if len(letters) ** min(hidden, 20) > _TEXTS:
        return None
    texts = product(sorted(letters), repeat=hidden)
    return [(label.kept + "".join(text), 0.0) for text in texts]
