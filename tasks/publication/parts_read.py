"""Parts of a release read back, each compared with its cut and with the whole's statements.

A cut is a tree: strata separate rows first, and a stratum that was too large is cut by one
quasi-identifier, and its pieces by another.
"""

import gc
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations, pairwise
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.rules.verdicts import Finding, examine
from sfumato.expectations.shared.arrow import ORDERED
from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.microdata.table import encode
from sfumato.tasks.publication.manifest import require_counts
from sfumato.tasks.publication.parts import (
    SUMMED,
    JudgePromises,
    PlaceOfPart,
    SeenParts,
    see_part,
    terms_of_part,
)
from sfumato.tasks.schema.hierarchy_rules import column_of
from sfumato.tasks.schema.published import DeclaredColumn
from sfumato.tasks.terms.assessment import Assessment, SeenGroups
from sfumato.tasks.terms.opened import MANIFEST, Release, open_release
from sfumato.tasks.terms.parts import PARTS, PublishedPart, Share, Where
from sfumato.tasks.terms.tables import read_tables
from sfumato.tasks.terms.terms import Declared, Terms

_OWN = ("promises", "title", "parts")
_Admitted = dict[str, frozenset[object]]


def require_cut(declared: Declared) -> None:
    """Make sure that the cuts of all parts are by strata and quasi-identifiers, and are apart.

    Raises:
        PromiseError: naming a part that is not cut by strata and then quasi-identifiers; or where
            two cuts admit the same rows.
    """
    column = declared.parts.by if declared.parts else None
    if column is not None and column not in declared.names_with_roles("quasi-identifier"):
        raise PromiseError(f"{MANIFEST}: parts.by is not a column with role quasi-identifier")
    for part in declared.made_of:
        if not part.where or not all(_is_told(where, declared) for where in part.where):
            raise PromiseError(
                f"{PARTS}/{part.name}: is not cut first by the strata and then by quasi-identifiers"
            )
    cuts = [where for part in declared.made_of for where in part.where]
    if not are_apart(cuts, declared.columns):
        raise PromiseError(
            f"{MANIFEST}: two cuts, of different parts or of one part, contain the same rows"
        )


def are_within_cut(tables: Tables, declared: Declared, cut: Sequence[Where]) -> bool:
    """Decide whether all rows of a part belong to its cut; True if the form shows no exact rows."""
    name = declared.form.rows_table
    if name is None or not any(cut):
        return True
    table = tables[name]
    inside = np.zeros(table.num_rows, dtype=bool)
    columns = {share.column for where in cut for share in where}
    coded = {column: encode(column, "insensitive", table[column]) for column in sorted(columns)}
    texts = {
        column: pc.cast(coded_column.values, pa.string()).to_pylist()
        for column, coded_column in coded.items()
    }
    for where in cut:
        met = np.ones(table.num_rows, dtype=bool)
        for share in where:
            admitted = share.admits(texts[share.column], declared.columns[share.column].type)
            met &= np.array([*admitted, share.null], dtype=bool)[coded[share.column].codes]
        inside |= met
    return bool(inside.all())


def _is_told(where: Where, declared: Declared) -> bool:
    """Decide whether a cut is by the columns of all strata, followed by quasi-identifiers."""
    named, strata = [share.column for share in where], list(map(column_of, declared.strata))
    following = set(named[len(strata) :])
    ranged = {share.column for share in where if (share.least, share.below) != (None, None)}
    return (
        named[: len(strata)] == strata
        and following <= set(declared.names_with_roles("quasi-identifier"))
        and all(declared.columns[name].type in ORDERED for name in ranged)
    )


def are_apart(cuts: Sequence[Where], columns: Mapping[str, DeclaredColumn]) -> bool:
    """Decide whether no row is admitted by two cuts, comparing first shares and then the rest.

    Cuts whose first shares are of different columns are not apart: a cut is a tree.
    """
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


PartResult = TypeVar("PartResult")


def read_whole(
    release: Release, verify: Callable[[Path], tuple[PartResult, Assessment]]
) -> tuple[SeenParts, list[PartResult]]:
    """Return the whole's view of all parts of a release, and the results of `verify`.

    Raises:
        PromiseError: where a part is missing, or another than the whole says.
    """
    declared, checked = release.declared, []
    if declared.parts is None or not declared.made_of:
        raise PromiseError(f"{MANIFEST}: does not list the parts of the release")
    require_cut(declared)
    seen, admitted = SeenParts(declared), list[_Admitted]()
    first = PlaceOfPart()
    for number, part in enumerate(declared.made_of, start=1):
        try:
            result, assessment = verify(release.directory / PARTS / part.name)
            _require_part(declared, part, assessment, number, first)
            digest = open_release(release.directory / PARTS / part.name).manifest["sfumato"]
            if digest["digest"] != part.digest:
                raise PromiseError("is another part than the whole release lists")
        except (PromiseError, InputError) as error:
            raise PromiseError(f"{PARTS}/{part.name}: {error}") from None
        checked.append(result)
        own = see_part(assessment, declared.promises)
        seen.add(own)
        admitted.append(_admitted_values(assessment.tables, declared))
        first = first.next_place(len(own.sizes), own.targets)
        del assessment
        gc.collect()  # reference cycles would keep the tables of part after part in memory
    _require_apart(declared, admitted)
    compare_parts(seen, release.directory, judge_alone)
    _require_rows(declared, seen)
    return seen, checked


def judge_alone(promises: Sequence[tuple[PrivacyModel, Groups]]) -> tuple[Finding, ...]:
    """Judge promises without Great Expectations."""
    return examine({}, {}, promises)


def compare_parts(seen: SeenParts, release: Path, judge: JudgePromises) -> None:
    """Judge each part again, with all values known, by promises that compare groups with all rows.

    Args:
        seen: every part, by itself.
        release: the directory of the whole.
        judge: judges promises by the groups that each is about.

    Raises:
        PromiseError: where a promise was not judged.
    """
    for number in range(len(seen.sizes) if seen.compared_promises else 0):
        opened = open_release(release / PARTS / f"{number + 1:04d}")
        tables = read_tables(opened.declared, opened.directory / "data")
        seen.compare(number, SeenGroups(opened.declared, tables), judge)
        del tables
        gc.collect()  # reference cycles would keep the tables of part after part in memory


def _require_part(
    declared: Declared,
    part: PublishedPart,
    assessment: Assessment,
    number: int,
    expected: PlaceOfPart,
) -> None:
    own, groups = assessment.declared, len(assessment.groups.of_all())
    place = PlaceOfPart(part.first_group, part.first_target)
    if part.name != f"{number:04d}" or (place, part.groups) != (expected, groups):
        raise PromiseError(f"its place or its groups differ from those in {MANIFEST}")
    _require_rows_of_part(declared, part, own)
    if own.predecessor is not None and declared.predecessor is None:
        raise PromiseError("continues a version, and the whole release does not")
    terms = terms_of_part(declared, part.name, len(declared.made_of))
    shared = [name for name in Terms.model_fields if name not in _OWN]
    same = all(getattr(own, name) == getattr(terms, name) for name in shared)
    if not same or own.title != terms.title or own.parts is not None or own.made_of:
        raise PromiseError("declares other things than the whole release")
    pairs = list(zip(declared.promises, own.promises, strict=False))
    if len(own.promises) != len(declared.promises) or not all(_is_kept(*pair) for pair in pairs):
        raise PromiseError("has other promises than the whole release")
    if not are_within_cut(assessment.tables, declared, part.where):
        raise PromiseError("has rows outside of the cut that defines it")


def _require_rows_of_part(declared: Declared, part: PublishedPart, own: Declared) -> None:
    if part.rows != own.rows.published:
        raise PromiseError(f"its number of rows differs from that in {MANIFEST}")
    if declared.parts is not None and part.rows > declared.parts.rows:
        raise PromiseError(f"has more rows than {MANIFEST} allows for a part")
    accounted = own.rows.published + own.rows.suppressed + own.rows.not_represented_versions
    if own.rows.read != accounted:
        raise PromiseError("counts rows that were left out before the table was cut")


def _is_kept(promise: PrivacyModel, own: PrivacyModel) -> bool:
    """Decide whether a part's promise is the whole's, or one that is judged again for the whole."""
    if not promise.compares_with_all:
        return promise == own
    scope = (promise.quasi_identifiers, promise.sensitive)
    return type(promise) is type(own) and scope == (own.quasi_identifiers, own.sensitive)


def _admitted_values(tables: Tables, declared: Declared) -> _Admitted:
    """Return the values of each quasi-identifier that a part admits.

    Returns {} unless a promise is judged over all groups together.
    """
    if not any(promise.judged_jointly for promise in declared.promises):
        return {}
    columns = {name: table[name] for table in tables.values() for name in table.column_names}
    names = declared.names_with_roles("quasi-identifier")
    return {name: frozenset(pc.unique(columns[name]).to_pylist()) for name in names}


def _require_apart(declared: Declared, admitted: Sequence[_Admitted]) -> None:
    """Make sure that no two parts admit the same combination of quasi-identifiers.

    Then a promise over all groups together holds if it holds for each part.

    Raises:
        PromiseError: where two may.
    """
    if not any(promise.judged_jointly for promise in declared.promises):
        return
    for (first, mine), (second, theirs) in combinations(enumerate(admitted, start=1), 2):
        if not any(mine[name].isdisjoint(theirs[name]) for name in mine):
            raise PromiseError(
                f"{PARTS}: parts {first} and {second} may admit the same quasi-identifiers, and "
                "presence is judged over all of them together"
            )


def _require_rows(declared: Declared, seen: SeenParts) -> None:
    rows = declared.rows
    for name in SUMMED:
        of_parts = sum(getattr(part_rows, name) for part_rows in seen.rows)
        away = declared.is_composed and name == "not_represented_versions"  # from parts not shown
        if getattr(rows, name) < of_parts or (getattr(rows, name) > of_parts and not away):
            raise PromiseError(f"{MANIFEST}: its row counts differ from those of its parts")
    require_counts(rows)
