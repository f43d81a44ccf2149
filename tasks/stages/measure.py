"""Measure: every model's value on a table as it is, in one pass over its groups."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.expectations.errors import InputError, SpecError
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.measures.risk import risk
from sfumato.expectations.models.alpha_k import AlphaK
from sfumato.expectations.models.ke_anonymity import KEAnonymity
from sfumato.expectations.models.l_diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveLDiversity,
)
from sfumato.expectations.models.model import Number, PrivacyModel, plain
from sfumato.expectations.models.t_closeness import DISTANCES, Distance, TCloseness
from sfumato.expectations.verdicts import observation
from sfumato.tasks.microdata.grouping import groups_of, groups_within
from sfumato.tasks.microdata.hierarchies import read_hierarchy, require_leaves, with_ancestors
from sfumato.tasks.microdata.inferred_table import AS_USUAL, Written, read_inferred, types_of
from sfumato.tasks.microdata.singling_out import singling_out
from sfumato.tasks.microdata.table import Microdata

_RANKS = range(2, 11)  # the l for which the recursive measure is reported


def measure(
    place: str,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str] = (),
    promises: Sequence[PrivacyModel] = (),
    population: str | None = None,
    hierarchies: Mapping[str, str] | None = None,
    written: Written = AS_USUAL,
) -> dict[str, Any]:
    """The values of the models on the groups of equal quasi-identifiers; nulls are a category.

    In CSV files, columns that tell groups apart are text, unless `written` says otherwise; types of
    sensitive attributes are inferred, since distances need numbers. A column that is both has its
    inferred type, where that keeps all its texts apart. A population's text is read by the types of
    the table.

    Args:
        place: a CSV or Parquet table: a file, a folder of partitions or a pattern.
        quasi_identifiers: columns whose equal values make a group.
        sensitive: the sensitive attributes.
        promises: models with thresholds to decide, each on its own columns where it names some.
        population: a table of the people whom the rows are drawn from, where there is one.
        hierarchies: files of hierarchies by the sensitive attribute that they are of.
        written: how the files are written, and the types of columns.

    Returns:
        `rows`, `groups`, `k`; `l`, `t`, `alpha`, `ke` of the only sensitive attribute, or of each
        under `sensitive`, with `multi_attribute`, its `l` where the others are known; `risk`; and
        `promises` where some were given.

    Raises:
        SpecError: where a promise does not say what it is about, or a type is of no column.
        InputError: where a table cannot be read as said or has no such column, or the population
            lacks some of the people.
    """
    promises = [_scoped(promise, quasi_identifiers, sensitive) for promise in promises]
    microdata = _read(place, quasi_identifiers, sensitive, promises, written)
    alike = replace(written, of_text=types_of(microdata))
    microdata = _with_hierarchies(microdata, hierarchies or {}, place)
    groups = groups_of(microdata, quasi_identifiers, sensitive)
    document: dict[str, Any] = {
        "rows": groups.rows,
        "groups": len(groups),
        "k": int(groups.sizes.min()) if len(groups) else None,
    }
    if len(sensitive) == 1:
        document |= _of_attribute(groups, sensitive[0])
    elif sensitive:
        document["sensitive"] = {
            name: _of_attribute(groups, name)
            | {
                "multi_attribute": _where_others_are_known(
                    microdata, quasi_identifiers, sensitive, name
                )
            }
            for name in sensitive
        }
    document["risk"] = _risk(microdata, groups, quasi_identifiers, population, alike)
    if promises:
        document["promises"] = [_decided(p, microdata, alike) for p in promises]
    return document


def _read(
    place: str,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str],
    promises: Sequence[PrivacyModel],
    written: Written,
) -> Microdata:
    """The measured columns, each of one type: that of text, where it tells groups apart alone."""
    apart = [*quasi_identifiers, *(name for p in promises for name in p.adversary_columns)]
    about = [*sensitive, *(p.sensitive for p in promises if p.sensitive is not None)]
    for name in written.types:
        if name not in (*apart, *about):
            hint = "name it in --qi, --sensitive or --model"
            raise SpecError(f"--types {name}: is no column that is measured: {hint}")
    texts = _as_text([name for name in apart if name not in about], written)
    microdata = read_inferred(place, [*apart, *about], texts)
    both = [name for name in apart if name in about and name not in written.types]
    if both:
        _require_texts_apart(place, both, microdata, written)
    return microdata


def _require_texts_apart(
    place: str, names: Sequence[str], microdata: Microdata, written: Written
) -> None:
    """Make sure that inferred types give each text a value of its own.

    Raises:
        InputError: for a column with texts that mean the same value.
    """
    texts = read_inferred(place, names, _as_text(names, written))
    for name in names:
        if len(texts[name].values) > len(microdata[name].values):
            raise InputError(
                f"{place}: column {name!r}: is a quasi-identifier and sensitive, and texts of it "
                f"mean the same: give its type with --types (string keeps them apart)"
            )


def _as_text(names: Sequence[str], written: Written) -> Written:
    return replace(written, of_text=dict.fromkeys(names, "string"))


def _risk(
    microdata: Microdata,
    groups: Groups,
    quasi_identifiers: Sequence[str],
    population: str | None,
    written: Written,
) -> dict[str, Any] | None:
    """What could be learnt from the table as it is, and which columns already single people out."""
    if population is not None:
        people = read_inferred(population, quasi_identifiers, written)
        drawn = groups_within(microdata, people, quasi_identifiers, []).population
        groups = replace(groups, population=drawn)
    found = risk(groups)
    if found is None:
        return None
    single = singling_out(microdata, quasi_identifiers)
    return found.document() | {
        "singling_out": [{"columns": list(s.columns), "rows": s.rows} for s in single.minimal],
        "singling_out_complete_up_to": single.complete_up_to,
    }


def _with_hierarchies(microdata: Microdata, files: Mapping[str, str], place: str) -> Microdata:
    for name, file in files.items():
        if not microdata.has(name):
            raise InputError(f"{file}: column {name!r} is not measured")
        known, column = read_hierarchy(Path(file), file), microdata[name]
        require_leaves(column, known, place, np.arange(microdata.rows))
        above = with_ancestors(column, known)
        microdata = microdata.keep(above if c.name == name else c for c in microdata.columns)
    return microdata


def _scoped(
    promise: PrivacyModel, quasi_identifiers: Sequence[str], sensitive: Sequence[str]
) -> PrivacyModel:
    only = sensitive[0] if len(sensitive) == 1 and promise.protects else None
    if promise.protects and promise.sensitive is None and only is None:
        raise SpecError(f"promise: {promise.name}: say which `sensitive` attribute it is about")
    return replace(
        promise,
        quasi_identifiers=promise.quasi_identifiers or tuple(quasi_identifiers),
        sensitive=promise.sensitive or only,
    )


def _of_attribute(groups: Groups, name: str) -> dict[str, Any]:
    anonymity = KEAnonymity(k=1, e=Decimal(0), sensitive=name)
    return {
        "l": _diversity(groups, name),
        "t": {
            distance: _closeness(groups, name, distance)
            for distance in DISTANCES
            if distance != "hierarchical" or groups.of(name).ancestors is not None
        },
        "alpha": _observed(AlphaK(alpha=Decimal(1), k=1, sensitive=name), groups, "alpha"),
        "ke": {"k": anonymity.distinct(groups), "e": _observed(anonymity, groups, "e")},
    }


def _diversity(groups: Groups, name: str) -> dict[str, Any]:
    distinct = _observed(DistinctLDiversity(l=1, sensitive=name), groups, "l")
    return {
        "distinct": distinct,
        "entropy": _entropy(groups, name),
        "recursive_c": {
            str(rank): _observed(
                RecursiveLDiversity(l=rank, c=Decimal(1), sensitive=name), groups, "c"
            )
            for rank in _RANKS
            if rank <= max(3, distinct or 0)
        },
    }


def _entropy(groups: Groups, name: str) -> float | None:
    """The smallest exp(entropy) of a group, not rounded."""
    scores = EntropyLDiversity(l=Decimal(1), sensitive=name).measure(groups)["l"]
    return float(scores.min()) if len(scores) else None


def _where_others_are_known(
    microdata: Microdata, quasi_identifiers: Sequence[str], sensitive: Sequence[str], name: str
) -> dict[str, Any]:
    others = [other for other in sensitive if other != name]
    return _diversity(groups_of(microdata, [*quasi_identifiers, *others], [name]), name)


def _closeness(groups: Groups, name: str, distance: Distance) -> int | float | None:
    return _observed(TCloseness(t=Decimal(1), distance=distance, sensitive=name), groups, "t")


def _observed(model: PrivacyModel, groups: Groups, parameter: str) -> int | float | None:
    """What a model observes, as a number of JSON."""
    value: Number = model.check(groups).observed[parameter]
    if value is None or isinstance(value, int):
        return value
    return int(value) if Fraction(value).denominator == 1 else float(value)


def _decided(promise: PrivacyModel, microdata: Microdata, written: Written) -> dict[str, Any]:
    """A promise as given, and its verdict."""
    by, sensitive = promise.adversary_columns, [promise.sensitive] if promise.sensitive else []
    if promise.reference_uri is None:
        groups = groups_of(microdata, by, sensitive, by if promise.needs_covers else ())
    else:
        people = read_inferred(promise.reference_uri, [*by, *sensitive], written)
        groups = groups_within(microdata, people, by, sensitive)
    verdict = promise.check(groups)
    return {
        "promise": promise.parameters(),
        "holds": verdict.holds,
        "required": {name: plain(value) for name, value in verdict.required.items()},
        "observed": observation(verdict),
    }
