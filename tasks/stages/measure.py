"""Measure: the value of every model on a table as it is, in one pass over its groups."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor, inf
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.measures.households import household_risk
from sfumato.expectations.measures.risk import risk
from sfumato.expectations.models.alpha_k import AlphaK
from sfumato.expectations.models.delta_disclosure import DeltaDisclosure
from sfumato.expectations.models.ke_anonymity import KEAnonymity
from sfumato.expectations.models.l_diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveLDiversity,
)
from sfumato.expectations.models.model import PrivacyModel, Verdict
from sfumato.expectations.models.promises import with_columns
from sfumato.expectations.models.t_closeness import DISTANCES, Distance, TCloseness
from sfumato.expectations.rules.verdicts import observation
from sfumato.expectations.shared.errors import InputError, SpecError
from sfumato.expectations.shared.numbers import Number, plain
from sfumato.expectations.shared.sorting import distinct
from sfumato.tasks.microdata.codings import rows_of_values
from sfumato.tasks.microdata.grouping import groups_of, groups_of_people, groups_within
from sfumato.tasks.microdata.hierarchies import read_hierarchy, require_leaves, with_ancestors
from sfumato.tasks.microdata.inferred_table import AS_USUAL, Written, read_inferred, types_of
from sfumato.tasks.microdata.singling_out import singling_out
from sfumato.tasks.microdata.suspect_values import far_values
from sfumato.tasks.microdata.table import Microdata, key

_STEPS = 10**9  # of a figure that is rounded
_EXCLUDED = {"c": 1, "delta": 1_000}
"""Limits that a group must stay below, and the steps that are added; δ is known to six decimals."""
_RANKS = range(2, 11)  # the l for which the recursive measure is reported


def read_measured(
    place: str,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str],
    promises: Sequence[PrivacyModel],
    written: Written,
) -> Microdata:
    """Return the measured columns, each of one type.

    Columns that only separate groups are text.

    Raises:
        SpecError: if a type is given for a column that is not measured.
        InputError: if the table cannot be read as said, or a column that tells groups apart and
            is sensitive has texts that mean the same value.
    """
    apart = [*quasi_identifiers, *(name for p in promises for name in p.adversary_columns)]
    about = [*sensitive, *(p.sensitive for p in promises if p.sensitive is not None)]
    for name in written.types:
        if name not in (*apart, *about):
            hint = "name it in --qi, --sensitive or --model"
            raise SpecError(f"--types {name}: the column is not measured: {hint}")
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
                f"{place}: column {name!r}: is a quasi-identifier and sensitive, and "
                "some of its texts mean the same value. Write its type with --types "
                "(string keeps the texts apart)"
            )


def _as_text(names: Sequence[str], written: Written) -> Written:
    return replace(written, of_text=dict.fromkeys(names, "string"))


def with_hierarchies(microdata: Microdata, files: Mapping[str, str], place: str) -> Microdata:
    """Return the table read from `place`, with the hierarchies of these files, by column.

    Raises:
        InputError: if a column is not measured, or its hierarchy lacks a value.
    """
    for name, file in files.items():
        if not microdata.has(name):
            raise InputError(
                f"{file}: column {name!r} is not measured. Name it in --qi or --sensitive"
            )
        hierarchy, column = read_hierarchy(Path(file), file), microdata[name]
        require_leaves(column, hierarchy, place, np.arange(microdata.rows))
        above = with_ancestors(column, hierarchy)
        microdata = microdata.keep(above if c.name == name else c for c in microdata.columns)
    return microdata


def values_of_models(groups: Groups, name: str) -> dict[str, Any]:
    """Return the `l`, `t`, `delta`, `alpha` and `ke` of the groups in a sensitive attribute.

    `delta` is None where a group lacks a value that others have.
    """
    anonymity = KEAnonymity(k=1, e=Decimal(0), sensitive=name)
    return {
        "l": diversity(groups, name),
        "t": {
            distance: _closeness(groups, name, distance)
            for distance in DISTANCES
            if distance != "hierarchical" or groups.counts_of(name).ancestors is not None
        },
        "delta": _observed_value(
            DeltaDisclosure(delta=Decimal(1), sensitive=name), groups, "delta"
        ),
        "alpha": _observed_value(AlphaK(alpha=Decimal(1), k=1, sensitive=name), groups, "alpha"),
        "ke": {"k": anonymity.distinct(groups), "e": _observed_value(anonymity, groups, "e")},
    }


def diversity(groups: Groups, name: str) -> dict[str, Any]:
    """Return the `l` of groups in a sensitive attribute, in each of the model's readings."""
    distinct = _observed_value(DistinctLDiversity(l=1, sensitive=name), groups, "l")
    return {
        "distinct": distinct,
        "entropy": _entropy(groups, name),
        "recursive_c": {
            str(rank): _observed_value(
                RecursiveLDiversity(l=rank, c=Decimal(1), sensitive=name), groups, "c"
            )
            for rank in _RANKS
            if rank <= max(3, distinct or 0)
        },
    }


def _entropy(groups: Groups, name: str) -> float | None:
    """Return the smallest exp(entropy) of a group, rounded downwards.

    It is 1 or more, which floats may miss.
    """
    scores = EntropyLDiversity(l=Decimal(1), sensitive=name).measure(groups)["l"]
    return max(1.0, _round_down(Fraction(float(scores.min())))) if len(scores) else None


def _closeness(groups: Groups, name: str, distance: Distance) -> int | float | None:
    return _observed_value(TCloseness(t=Decimal(1), distance=distance, sensitive=name), groups, "t")


def _observed_value(model: PrivacyModel, groups: Groups, parameter: str) -> int | float | None:
    """Return the value of a model's parameter on groups, as a number of JSON; None if infinite.

    It is rounded to nine decimals so that a promise with this number holds: upwards where the
    parameter is a limit, and above the value where the limit must not be reached.
    """
    value: Number = model.check(groups).observed[parameter]
    if value is None or isinstance(value, int):
        return _round_up(Fraction(value), 1) if value and parameter in _EXCLUDED else value
    if value == inf:
        return None
    exact = Fraction(value)
    if parameter in _EXCLUDED:
        return _round_up(exact, _EXCLUDED[parameter])
    if exact.denominator == 1:
        return int(exact)
    return _round_up(exact, 0) if parameter in model.at_most else _round_down(exact)


def _round_up(value: Fraction, steps: int) -> float:
    """Return the least multiple of a step that is not below a value, or some steps above it."""
    units = value * _STEPS
    return float(Fraction(ceil(units) if not steps else floor(units) + steps, _STEPS))


def _round_down(value: Fraction) -> float:
    """Return the largest multiple of a step that is not above a value."""
    return float(Fraction(floor(value * _STEPS), _STEPS))


def measure(
    place: str,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str] = (),
    promises: Sequence[PrivacyModel] = (),
    population: str | None = None,
    hierarchies: Mapping[str, str] | None = None,
    written: Written = AS_USUAL,
    household: str | None = None,
    unit: str | None = None,
) -> dict[str, Any]:
    """Return the values of the models on groups of equal quasi-identifiers; nulls are a category.

    In CSV files, columns that only separate groups are text, unless `written` says otherwise; types
    of sensitive attributes are inferred, since distances need numbers. A column that is both has
    its inferred type, if that keeps all its texts apart. A population's text is read with the types
    of the table.

    Args:
        place: a table in a registered format: a file, a folder of partitions or a pattern.
        quasi_identifiers: columns whose equal values make a group.
        sensitive: the sensitive attributes.
        promises: models with thresholds to decide, each on its own columns where it names some.
        population: a table of the people whom the rows are drawn from, where there is one.
        hierarchies: files of hierarchies by the sensitive attribute that they are of.
        written: how the files are written, and the types of columns.
        household: the column that says whose household a row is of, where there is one: promises
            are decided over households, too.
        unit: the column that says whose a row is, where people have several: promises are decided
            over people, too.

    Returns:
        `rows`, `groups`, `k`, with a unit also `people` and `k_people`; `l`, `t`, `delta`, `alpha`,
        `ke` of the only sensitive attribute, or of each under `sensitive`, with `multi_attribute`,
        its `l` where the others are known; `far`, where values lie far from all others of a column
        (as codes for what is missing do); `risk`; `household_risk` and `promises` where some were
        given.

    Raises:
        SpecError: if a promise does not say what it is about, or a type is of no column.
        InputError: if a table cannot be read as said or has no such column, or the population
            lacks some of the people.
    """
    promises = [_on_columns(promise, quasi_identifiers, sensitive) for promise in promises]
    microdata = read_measured(place, quasi_identifiers, sensitive, promises, written)
    alike = replace(written, of_text=types_of(microdata))
    microdata = with_hierarchies(microdata, hierarchies or {}, place)
    if unit is not None:
        microdata = replace(microdata, person=_numbers(place, unit, "unit", written))
    groups = groups_of(microdata, quasi_identifiers, sensitive)
    document = {
        "rows": groups.rows,
        "groups": len(groups),
        "k": int(groups.sizes.min()) if len(groups) else None,
        **_of_people(microdata, quasi_identifiers, groups),
        **_of_sensitive(microdata, groups, quasi_identifiers, sensitive),
        **_far(microdata, [*quasi_identifiers, *sensitive]),
        "risk": _risk(microdata, groups, quasi_identifiers, population, alike),
    }
    owners = _owners(place, microdata, household, written)
    if "households" in owners:
        risks = _of_households(owners["households"], microdata, quasi_identifiers)
        document["household_risk"] = risks
    if promises:
        document["promises"] = [_decide(promise, microdata, alike, owners) for promise in promises]
    return document


def _owners(
    place: str, microdata: Microdata, household: str | None, written: Written
) -> dict[str, np.ndarray]:
    """Return the owner of each row (int64, one per row), by the kind of owner."""
    owners = {} if microdata.person is None else {"people": microdata.person}
    if household is not None:
        owners["households"] = _numbers(place, household, "household", written)
    return owners


def _of_sensitive(
    microdata: Microdata, groups: Groups, quasi_identifiers: Sequence[str], sensitive: Sequence[str]
) -> dict[str, Any]:
    """Return the values of the models, by sensitive attribute if there are several."""
    if not sensitive:
        return {}
    if len(sensitive) == 1:
        return values_of_models(groups, sensitive[0])
    values = {}
    for name in sensitive:
        others = [other for other in sensitive if other != name]
        where_others_are_known = groups_of(microdata, [*quasi_identifiers, *others], [name])
        multi = {"multi_attribute": diversity(where_others_are_known, name)}
        values[name] = values_of_models(groups, name) | multi
    return {"sensitive": values}


def _far(microdata: Microdata, names: Sequence[str]) -> dict[str, Any]:
    """Count the values, and rows, of each column that lie far from the others."""
    columns = [microdata[name] for name in dict.fromkeys(names)]
    marked = [(column, far_values(column)) for column in columns]
    counts = {
        column.name: {"values": int(far.sum()), "rows": int(rows_of_values(column)[far].sum())}
        for column, far in marked
        if far.any()
    }
    return {"far": counts} if counts else {}


def _risk(
    microdata: Microdata,
    groups: Groups,
    quasi_identifiers: Sequence[str],
    population: str | None,
    written: Written,
) -> dict[str, Any] | None:
    """Return the risk of re-identification, and column sets that single people out.

    Returns None without rows.
    """
    if population is not None:
        people = read_inferred(population, quasi_identifiers, written)
        people_known = groups_within(microdata, people, quasi_identifiers, []).population
        groups = replace(groups, population=people_known)
    risks = risk(groups)
    if risks is None:
        return None
    single = singling_out(microdata, quasi_identifiers)
    return risks.document() | {
        "singling_out": [{"columns": list(s.columns), "rows": s.rows} for s in single.minimal],
        "singling_out_complete_up_to": single.complete_up_to,
    }


def _of_households(
    households: np.ndarray, microdata: Microdata, quasi_identifiers: Sequence[str]
) -> dict[str, Any] | None:
    """Return the risk of households, None without rows."""
    keys, _ = key([microdata[qi] for qi in quasi_identifiers], microdata.rows)
    group = np.searchsorted(distinct(keys), keys)
    risks = household_risk(households, group)
    return None if risks is None else risks.document()


def _numbers(place: str, name: str, what: str, written: Written) -> np.ndarray:
    """Return the number of each row's unit or household (int64); the column is read as text.

    Raises:
        InputError: if it is missing.
    """
    texts = replace(written, types={}, of_text={name: "string"})
    column = read_inferred(place, [name], texts)[name]
    if column.has_null:
        raise InputError(f"{place}: column {name!r}: a {what} is missing")
    return column.codes.astype(np.int64)


def _of_people(
    microdata: Microdata, quasi_identifiers: Sequence[str], groups: Groups
) -> dict[str, Any]:
    """Return the number of people, in all and in the smallest group, if rows have a unit."""
    if microdata.person is None:
        return {}
    people = groups_of_people(microdata, quasi_identifiers, groups, []).people
    sizes = np.zeros(0) if people is None else people.sizes
    number = len(distinct(np.sort(microdata.person)))
    return {"people": number, "k_people": int(sizes.min()) if len(sizes) else None}


def _on_columns(
    promise: PrivacyModel, quasi_identifiers: Sequence[str], sensitive: Sequence[str]
) -> PrivacyModel:
    on_columns = with_columns(promise, quasi_identifiers, sensitive if promise.protects else ())
    if promise.counts_values() and on_columns.sensitive is None:
        what = "`weight` column" if promise.weighs else "`sensitive` attribute"
        raise SpecError(
            f"promise: {promise.name}: there are several columns. Name the {what} that it is about"
        )
    return on_columns


def _decide(
    promise: PrivacyModel,
    microdata: Microdata,
    written: Written,
    owners: Mapping[str, np.ndarray],
) -> dict[str, Any]:
    """Return a promise as given, with its verdict over rows and over each kind of owner."""
    columns, sensitive = promise.adversary_columns, [promise.sensitive] if promise.sensitive else []
    if promise.reference_uri is None:
        covered, labelled = (
            columns if needed else () for needed in (promise.needs_covers, promise.needs_labels)
        )
        groups = groups_of(microdata, columns, sensitive, covered, labelled)
    else:
        people = read_inferred(promise.reference_uri, [*columns, *sensitive], written)
        groups = groups_within(microdata, people, columns, sensitive)
    verdict = promise.check(groups)
    over = {
        whom: _over_owners(promise, groups, microdata, whom, numbers)
        for whom, numbers in owners.items()
    }
    if promise.of_whole_people and "households" not in over:
        raise SpecError(
            f"promise: {promise.name}: members is about households. Name their column "
            "(--household COLUMN)"
        )
    return {
        "promise": promise.parameters(),
        "holds": verdict.holds and all(each.holds for each in over.values()),
        "required": {name: plain(value) for name, value in verdict.required.items()},
        "observed": observation(verdict),
        **{whom: observation(each) for whom, each in over.items()},
    }


def _over_owners(
    promise: PrivacyModel, groups: Groups, microdata: Microdata, whom: str, numbers: np.ndarray
) -> Verdict:
    """Return the verdict over people who have several rows, or over households.

    Raises:
        SpecError: if the promise is not defined over them.
    """
    if fault := promise.fault_over_people:
        option = {"people": "--unit", "households": "--household"}[whom]
        raise SpecError(
            f"promise: {promise.name} {fault}, or measure rows only (leave {option} out)"
        )
    named = [str(promise.sensitive)] if promise.counts_values() and promise.sensitive else []
    owned = replace(microdata, person=numbers)
    return promise.check(groups_of_people(owned, promise.adversary_columns, groups, named))
