"""The cut of a published release: which rows each part may have, and that no two may have one.

A cut is a tree: strata tell rows apart first, and a stratum that was too large is cut by one
quasi-identifier, and its pieces by another.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.errors import PromiseError
from sfumato.tasks.declaration.cuts import PARTS, Share, Where
from sfumato.tasks.declaration.opened import MANIFEST
from sfumato.tasks.declaration.terms import Declared
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.microdata.table import encode
from sfumato.tasks.schema.published import DeclaredColumn
from sfumato.tasks.schema.strata import column_of


def require_cut(declared: Declared) -> None:
    """Make sure that the cuts of all parts are by strata and quasi-identifiers, and are apart.

    Raises:
        PromiseError: naming the part whose cut is none, or where two admit the same rows.
    """
    by = declared.parts.by if declared.parts else None
    if by is not None and by not in declared.named("quasi-identifier"):
        raise PromiseError(f"{MANIFEST}: parts.by is not a quasi-identifier")
    for part in declared.made_of:
        if not part.where or not all(_is_told(where, declared) for where in part.where):
            raise PromiseError(
                f"{PARTS}/{part.name}: is not cut by the strata and then by quasi-identifiers"
            )
    cuts = [where for part in declared.made_of for where in part.where]
    if not are_apart(cuts, declared.columns):
        raise PromiseError(f"{MANIFEST}: the cuts of two parts, or of one, admit the same rows")


def within(tables: Tables, declared: Declared, cut: Sequence[Where]) -> bool:
    """Decide whether all rows are of the part, where they are shown with exact values."""
    name = declared.form.rows_table
    if name is None or not any(cut):
        return True
    table = tables[name]
    inside = np.zeros(table.num_rows, dtype=bool)
    columns = {share.column for where in cut for share in where}
    coded = {one: encode(one, "insensitive", table[one]) for one in sorted(columns)}
    texts = {one: pc.cast(of.values, pa.string()).to_pylist() for one, of in coded.items()}
    for where in cut:
        met = np.ones(table.num_rows, dtype=bool)
        for share in where:
            admitted = share.admits(texts[share.column], declared.columns[share.column].type)
            met &= np.array([*admitted, share.null], dtype=bool)[coded[share.column].codes]
        inside |= met
    return bool(inside.all())


def _is_told(where: Where, declared: Declared) -> bool:
    """Decide whether rows are told by what every stratum is told by, and quasi-identifiers."""
    named, strata = [share.column for share in where], list(map(column_of, declared.strata))
    following = set(named[len(strata) :])
    return named[: len(strata)] == strata and following <= set(declared.named("quasi-identifier"))


def are_apart(cuts: Sequence[Where], columns: Mapping[str, DeclaredColumn]) -> bool:
    """Decide whether no row is admitted by two, each told by its first share and then the rest."""
    if len(cuts) < 2:
        return True
    below: dict[Share, list[Where]] = {}
    for where in cuts:
        if not where:
            return False
        below.setdefault(where[0], []).append(where[1:])
    names = {share.column for share in below}
    return (
        len(names) == 1
        and _disjoint(below, columns[names.pop()])
        and all(are_apart(rest, columns) for rest in below.values())
    )


def _disjoint(shares: Iterable[Share], column: DeclaredColumn) -> bool:
    """Decide whether no value is in two of several shares of a column."""
    shares = list(shares)
    listed = [value for share in shares for value in share.values or ()]
    ranges = sorted(share.ends(column.type) for share in shares if share.has_range)
    return (
        sum(share.null for share in shares) <= 1
        and len(set(listed)) == len(listed)
        and not (listed and ranges)
        and all(below <= least for (_, below), (least, _) in pairwise(ranges))
    )
