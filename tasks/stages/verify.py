"""Verify: the risk of the de-identified table, and proof that the promises can be kept."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.expectations.groups.counting import dense, merge
from sfumato.expectations.groups.groups import Groups, Population
from sfumato.expectations.measures.households import HouseholdRisk, household_risk
from sfumato.expectations.measures.risk import Risk, risk
from sfumato.expectations.models.l_diversity import eligible
from sfumato.expectations.models.model import PrivacyModel, Verdict
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.numbers import Number, plain
from sfumato.tasks.microdata.grouping import groups_of, groups_of_people, groups_within
from sfumato.tasks.microdata.hierarchies import with_hierarchies
from sfumato.tasks.microdata.inferred_table import types_of
from sfumato.tasks.microdata.singling_out import SinglingOut, singling_out
from sfumato.tasks.microdata.table import Microdata, key, load
from sfumato.tasks.partitions.partition import with_strata
from sfumato.tasks.private.references import NO_REFERENCES, References
from sfumato.tasks.stages.stage import write_note
from sfumato.tasks.terms.assessment import numbers
from sfumato.tasks.terms.terms import Terms


def measure_feasibility(
    deidentified: Path, terms: Terms, references: References = NO_REFERENCES
) -> list[dict[str, Any]]:
    """Measure every promise on the table as it is, and make sure that it can be kept.

    Args:
        deidentified: the stage of the de-identified table.
        terms: what will be declared.
        references: what promises about a population speak of.

    Returns:
        One row per promise: what is required, what the table shows today, and what the coarsest
        grouping, each stratum one group, shows at best.

    Raises:
        PromiseError: if a promise cannot be kept, or a reference lacks people of the table.
    """
    whole = with_hierarchies(load(deidentified), terms.hierarchies)
    microdata, strata = with_strata(whole, terms.strata)
    if not microdata.rows:
        raise PromiseError(
            "no row is left to be published. Check the filter (source.where) and the null policies"
        )
    rescued = terms.partition.may_suppress or terms.form.declares
    seen = _SeenTable(microdata, references)
    if terms.over_people and not rescued:  # first: it asks for more than the same over rows
        _require_feasible_over(terms.kept_over, terms.promises, microdata, strata)
    rows = [_stake(p, seen, strata, rescued) for p in terms.promises]
    write_note(deidentified, "stakes", rows)
    return rows


def require_population(
    deidentified: Path, terms: Terms, promise: PrivacyModel, references: References
) -> None:
    """Make sure that a promise's reference can be read, and has everybody whom it must have.

    Raises:
        InputError: if it cannot be read, or lacks a column.
        PromiseError: if it lacks people of the table.
    """
    microdata = with_hierarchies(load(deidentified), terms.hierarchies)
    _SeenTable(microdata, references).groups_by(promise, promise.adversary_columns)


def _stake(
    promise: PrivacyModel, table: "_SeenTable", strata: Sequence[str], rescued: bool
) -> dict[str, Any]:
    """Return a promise's figures, and refuse one that cannot be kept unless it may be rescued.

    Rows may be suppressed, or distributions declared that are not those of the rows.
    """
    groups = table.groups_by(promise, promise.adversary_columns)
    if fault := promise.fault_among(groups):
        raise PromiseError(f"{promise.name}: {fault}")
    coarsest = table.coarsest(promise, strata, groups)
    best = promise.feasible(coarsest)
    if best is not None and not best.holds and not rescued:
        raise _impossible(promise, best, coarsest)
    today, failing = promise.worst(groups)
    counted = promise.sensitive in groups.sensitive
    return {
        "promise": promise.name,
        "about": promise.sensitive or "",
        "groups": len(groups),
        "failing": failing,
        **_prefix_names("required", promise.required()),
        **_prefix_names("today", today),
        **({} if best is None else _prefix_names("at best", best.observed)),
        **({"eligible l": eligible(groups, promise.sensitive)} if counted else {}),
    }


def _impossible(promise: PrivacyModel, best: Verdict, coarsest: Groups) -> PromiseError:
    """Return the refusal of a promise that not even the coarsest groups keep."""
    attribute = f", of {promise.sensitive!r}" if promise.sensitive else ""
    figures = f"required {numbers(best.required)}, at best {numbers(best.observed)}"
    if (why := promise.why_impossible(coarsest)) is not None:
        return PromiseError(f"{promise.name} cannot be kept: {figures}{attribute}. {why}")
    strata = f"in {best.failing} of {best.groups} strata"
    return PromiseError(f"{promise.name} cannot be kept: {figures} {strata}{attribute}")


def _require_feasible_over(
    whom: str, promises: Sequence[PrivacyModel], microdata: Microdata, strata: Sequence[str]
) -> None:
    """Refuse a promise over people or households that strata break and merging cannot fix."""
    for promise in promises:
        if not promise.merges_over_people or microdata.person is None:
            continue
        named = [promise.sensitive] if promise.counts_values() and promise.sensitive else []
        coarsest = groups_of(microdata, strata, named)
        owned = groups_of_people(microdata, strata, coarsest, named)
        best = promise.check(owned)
        if not best.holds:
            why = promise.why_impossible(owned)
            raise PromiseError(
                f"{promise.name} cannot be kept over {whom}: required {numbers(best.required)}, at "
                f"best {numbers(best.observed)} in {best.failing} of {best.groups} strata"
                f"{'' if why is None else f'. {why}'}"
            )


def _prefix_names(when: str, scores: Mapping[str, Number]) -> dict[str, Any]:
    return {f"{when} {name}": plain(value) for name, value in scores.items()}


class _SeenTable:
    """A table as it is, seen by somebody who knows some columns."""

    def __init__(self, microdata: Microdata, references: References) -> None:
        self._microdata, self._references = microdata, references

    def groups_by(self, promise: PrivacyModel, columns: Sequence[str]) -> Groups:
        """Return the groups of rows equal in some columns, with what the promise is about."""
        microdata, reference = self._microdata, self._references.file_for(promise)
        sensitive = [promise.sensitive] if promise.sensitive else []
        if reference is None:
            covered = promise.adversary_columns if promise.needs_covers else ()
            labelled = columns if promise.needs_labels else ()
            return groups_of(microdata, columns, sensitive, covered, labelled)
        people = reference.read([*columns, *sensitive], types_of(microdata))
        groups = groups_within(microdata, people, columns, sensitive)
        if promise.holds_everybody:
            _require_everybody(groups, promise)
        return groups

    def coarsest(self, promise: PrivacyModel, strata: Sequence[str], groups: Groups) -> Groups:
        """Return the groups of which all other groups are parts.

        For a promise about a population it is one group, which everybody could be in: a reference
        has no strata, and the people whom labels admit are unknown before there are labels.
        """
        if groups.population is None:
            return self.groups_by(promise, [*strata, *promise.known_columns])
        whole = merge(groups, np.zeros(len(groups), dtype=np.int64))
        people = groups.population.sizes.sum() + groups.population.elsewhere
        return replace(whole, population=Population(np.array([people]), 0))


def _require_everybody(groups: Groups, promise: PrivacyModel) -> None:
    population = groups.population
    short = 0 if population is None else int((population.sizes < groups.sizes).sum())
    if short:
        raise PromiseError(
            f"{promise.name}: the reference does not contain all people of the table. "
            f"For {short} of {len(groups)} combinations of quasi-identifiers, it has "
            "fewer people than the table has rows"
        )


def measure_whole(deidentified: Path, terms: Terms) -> HouseholdRisk | None:
    """Return the risk of whole households, or of people by all their rows, in the table as it is.

    Returns:
        None where promises are kept only over rows.
    """
    microdata = load(deidentified)
    if not terms.over_people or microdata.person is None:
        return None
    keys, _ = key(
        [microdata[name] for name in terms.names_with_roles("quasi-identifier")], microdata.rows
    )
    return household_risk(dense(microdata.person.astype(np.int64))[0], dense(keys)[0])


def measure_risks(deidentified: Path, terms: Terms) -> tuple[Risk, Risk, SinglingOut]:
    """Return the risks of publishing the table as it is.

    Returns:
        The risk by the quasi-identifiers, by these and the insensitive columns, and the smallest
        sets of quasi-identifiers that single people out.

    Raises:
        PromiseError: if there is no row.
    """
    microdata = load(deidentified)
    qi = terms.names_with_roles("quasi-identifier")
    narrow = risk(groups_of(microdata, qi, terms.names_with_roles("sensitive")))
    wide = risk(groups_of(microdata, terms.names_with_roles("quasi-identifier", "insensitive"), []))
    if narrow is None or wide is None:
        raise PromiseError(
            "no row is left to be published. Check the filter (source.where) and the null policies"
        )
    single = singling_out(microdata, qi)
    document = narrow.document() | {"rows_alone_with_insensitive": wide.alone}
    write_note(deidentified, "risk", document)
    return narrow, replace(wide, homogeneity={}), single
