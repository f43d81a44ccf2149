"""Measure: every model's value on a table as it is, in one pass over its groups."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sfumato.expectations.errors import SpecError
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.measures.risk import risk
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.numbers import plain
from sfumato.expectations.verdicts import observation
from sfumato.tasks.microdata.grouping import groups_of, groups_within
from sfumato.tasks.microdata.inferred_table import AS_USUAL, Written, read_inferred, types_of
from sfumato.tasks.microdata.singling_out import singling_out
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.stages.measured_table import read_measured, with_hierarchies
from sfumato.tasks.stages.model_values import diversity, values_of_models


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
        place: a table in a registered format: a file, a folder of partitions or a pattern.
        quasi_identifiers: columns whose equal values make a group.
        sensitive: the sensitive attributes.
        promises: models with thresholds to decide, each on its own columns where it names some.
        population: a table of the people whom the rows are drawn from, where there is one.
        hierarchies: files of hierarchies by the sensitive attribute that they are of.
        written: how the files are written, and the types of columns.

    Returns:
        `rows`, `groups`, `k`; `l`, `t`, `delta`, `alpha`, `ke` of the only sensitive attribute, or
        of each under `sensitive`, with `multi_attribute`, its `l` where the others are known;
        `risk`; and `promises` where some were given.

    Raises:
        SpecError: where a promise does not say what it is about, or a type is of no column.
        InputError: where a table cannot be read as said or has no such column, or the population
            lacks some of the people.
    """
    promises = [_scoped(promise, quasi_identifiers, sensitive) for promise in promises]
    microdata = read_measured(place, quasi_identifiers, sensitive, promises, written)
    alike = replace(written, of_text=types_of(microdata))
    microdata = with_hierarchies(microdata, hierarchies or {}, place)
    groups = groups_of(microdata, quasi_identifiers, sensitive)
    document = {
        "rows": groups.rows,
        "groups": len(groups),
        "k": int(groups.sizes.min()) if len(groups) else None,
        **_of_sensitive(microdata, groups, quasi_identifiers, sensitive),
        "risk": _risk(microdata, groups, quasi_identifiers, population, alike),
    }
    if promises:
        document["promises"] = [_decided(promise, microdata, alike) for promise in promises]
    return document


def _of_sensitive(
    microdata: Microdata, groups: Groups, quasi_identifiers: Sequence[str], sensitive: Sequence[str]
) -> dict[str, Any]:
    """The values of the models, by sensitive attribute where there are several."""
    if not sensitive:
        return {}
    if len(sensitive) == 1:
        return values_of_models(groups, sensitive[0])
    found = {}
    for name in sensitive:
        others = [other for other in sensitive if other != name]
        where_others_are_known = groups_of(microdata, [*quasi_identifiers, *others], [name])
        multi = {"multi_attribute": diversity(where_others_are_known, name)}
        found[name] = values_of_models(groups, name) | multi
    return {"sensitive": found}


def _risk(
    microdata: Microdata,
    groups: Groups,
    quasi_identifiers: Sequence[str],
    population: str | None,
    written: Written,
) -> dict[str, Any] | None:
    """The risk of re-identification, and the columns that single people out; None without rows."""
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


def _scoped(
    promise: PrivacyModel, quasi_identifiers: Sequence[str], sensitive: Sequence[str]
) -> PrivacyModel:
    only = sensitive[0] if len(sensitive) == 1 and promise.protects else None
    if promise.protects and promise.sensitive is None and only is None:
        raise SpecError(f"promise: {promise.name}: name the `sensitive` attribute it is about")
    return replace(
        promise,
        quasi_identifiers=promise.quasi_identifiers or tuple(quasi_identifiers),
        sensitive=promise.sensitive or only,
    )


def _decided(promise: PrivacyModel, microdata: Microdata, written: Written) -> dict[str, Any]:
    """A promise as given, with its verdict."""
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
