"""Distances of a recoded table from the original: they need both, and so stay private.

Sources: KL divergence: Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam, l-diversity (ICDE 2006);
non-uniform entropy: Gionis and Tassa, k-anonymization with minimal loss of information (2009).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.expectations.groups.counting import dense, pack
from sfumato.expectations.sorting import number, stable_order, starts, tally
from sfumato.tasks.declaration.shown_form import form_of
from sfumato.tasks.declaration.terms import Declared
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.forms.optional import reader_for
from sfumato.tasks.forms.recoded.labels import Admitted
from sfumato.tasks.forms.recoded.recoded import TABLE, read_labels
from sfumato.tasks.microdata.table import Microdata, encode, key
from sfumato.tasks.publication.diagnostics.admission import Admission, admission
from sfumato.tasks.publication.diagnostics.boxes import points_in_boxes

_MOST = 10**9  # pairs of an original vector and a published one that are compared at most
_CELLS = 2**25  # of a matrix that is held at once

Published = Mapping[str, tuple[list[Admitted], np.ndarray]]
Fits = Mapping[str, Admission]


@dataclass(frozen=True)
class Divergence:
    """Of a recoded table from its original, in nats per row.

    Attributes:
        kl: KL divergence of the original's joint distribution of quasi-identifiers and sensitive
            attributes from what the published table tells of it, each row spread evenly over the
            values that its labels admit; None where the table is too large to compare.
        entropy: non-uniform entropy: the mean over the rows of the sum over the columns of
            ln(rows whose value the label admits / rows with the row's own value).
        skipped: why there is no KL divergence.
    """

    kl: float | None
    entropy: float
    skipped: str | None = None

    def document(self) -> dict[str, Any]:
        """The measures for JSON, and why one is missing."""
        found = {"kl": self.kl, "entropy": self.entropy}
        return found | ({} if self.skipped is None else {"kl_skipped": self.skipped})


def divergence(original: Microdata, tables: Tables, declared: Declared) -> Divergence | None:
    """The measures; None for forms that do not recode, and where nothing is published.

    Domains are the values present in `original`, the rows that were to be represented. A suppressed
    row counts as one that could be anything.
    """
    if not declared.recoded or not tables[TABLE].num_rows:
        return None
    table = tables[TABLE]
    published = read_labels(table, declared.columns, reader_for(form_of(declared)))
    fits = {name: admission(original[name], labels) for name, (labels, _) in published.items()}
    sensitive = declared.named("sensitive")
    kl = _kl(original, published, fits, _jointly(original, table, sensitive))
    entropy = _entropy(original, published, fits)
    return Divergence(None, entropy, kl) if isinstance(kl, str) else Divergence(kl, entropy)


def _entropy(original: Microdata, published: Published, fits: Fits) -> float:
    total, suppressed = 0.0, original.rows
    for name, (_, codes) in published.items():
        category, size = original[name].category()
        rows = np.bincount(category, minlength=size)
        behind = fits[name].rows_behind(rows)
        suppressed = original.rows - len(codes)
        total += float(np.log(behind)[codes].sum()) + suppressed * log(original.rows)
        total -= float((rows * np.log(np.maximum(rows, 1))).sum())
    return total / original.rows


def _jointly(
    original: Microdata, table: pa.Table, sensitive: Sequence[str]
) -> tuple[np.ndarray, np.ndarray, int]:
    """The vectors of sensitive values of original and published rows as the same numbers."""
    both = []
    for name in sensitive:
        known = original[name].array().cast(table[name].type)
        values = pa.chunked_array([known, *table[name].chunks])
        both.append(encode(name, "sensitive", values))
    keys, _ = key(both, original.rows + table.num_rows)
    numbers, distinct = dense(keys)
    return numbers[: original.rows], numbers[original.rows :], distinct


def _kl(
    original: Microdata,
    published: Published,
    fits: Fits,
    sensitive: tuple[np.ndarray, np.ndarray, int],
) -> float | str:
    """KL divergence, or why it is not computed."""
    of_original, of_published, values = sensitive
    vectors, vector = _distinct([original[name].category()[0] for name in published])
    classes, class_ = _distinct([codes for _, codes in published.values()])
    cells = classes.shape[1] * values
    if cells > _CELLS:
        return f"{cells:,} cells of labels and sensitive values, and {_CELLS:,} at most are held"
    domain = np.prod([float(one.categories) for one in fits.values()])
    admitted = [one.size[nodes] for one, nodes in zip(fits.values(), classes, strict=True)]
    spread = np.bincount(class_ * values + of_published, minlength=classes.shape[1] * values)
    told = spread.reshape(-1, values) / np.prod(np.array(admitted, float), axis=0)[:, None]
    lost = np.bincount(of_original, minlength=values) - np.bincount(of_published, minlength=values)
    seen, count = tally(vector * values + of_original, vectors.shape[1] * values)
    expected = _expected(vectors, classes, list(fits.values()), told, seen)
    if expected is None:
        return f"more than {_MOST:,} pairs of a vector and labels would be compared"
    ratio = np.log(count) - np.log(expected + lost[seen % values] / domain)
    return float((count * ratio).sum() / original.rows) + 0.0


def _expected(
    vectors: np.ndarray,
    classes: np.ndarray,
    fits: Sequence[Admission],
    told: np.ndarray,
    seen: np.ndarray,
) -> np.ndarray | None:
    """The rows that published classes put at each vector with its values; None for too many pairs.

    Args:
        vectors: of quasi-identifiers (columns x vectors).
        classes: of labels (columns x classes).
        fits: what the labels of each column admit.
        told: the rows that a class puts at each vector it admits, by its values.
        seen: vector x number of values + value, ascending (int64).
    """
    values = told.shape[1]
    ends = np.searchsorted(seen, np.arange(vectors.shape[1] + 1) * values)
    found, numbers = np.zeros(len(seen)), np.diff(ends)
    low, high = (
        np.array([bounds[nodes] for bounds, nodes in zip(of, classes, strict=True)])
        for of in ([one.low for one in fits], [one.high for one in fits])
    )
    of_columns = zip(fits, classes, vectors, strict=True)
    with_gaps = [column for column in of_columns if len(column[0].members)]
    for pairs in points_in_boxes(vectors, low, high, _MOST):
        if pairs is None:
            return None
        vector, class_ = pairs
        for one, nodes, codes in with_gaps:
            within = one.admits(nodes[class_], codes[vector])
            vector, class_ = vector[within], class_[within]
        number = numbers[vector]
        at = _runs(ends[vector], number)
        np.add.at(found, at, told[np.repeat(class_, number), seen[at] % values])
    return found


def _runs(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The positions of runs one after another (int64)."""
    before = np.cumsum(lengths) - lengths
    return np.asarray(np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths))


def _distinct(columns: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The different vectors (columns x vectors), and for each row the number of its own."""
    keys, _ = pack(columns, [int(codes.max(initial=0)) + 1 for codes in columns])
    order = stable_order(keys)
    ordered, of_row = keys[order], np.empty(len(keys), dtype=np.int64)
    of_row[order] = number(ordered)
    first = order[starts(ordered)]
    return np.array([codes[first] for codes in columns]), of_row
