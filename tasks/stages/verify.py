"""Verify: what is at stake in the de-identified table, and whether the promises can be kept."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfumato.expectations.errors import PromiseError
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.measures.risk import Risk, risk
from sfumato.expectations.models.l_diversity import eligible
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.numbers import Number, plain
from sfumato.tasks.declaration.assessment import numbers
from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.microdata.grouping import groups_of, groups_within
from sfumato.tasks.microdata.hierarchies import with_hierarchies
from sfumato.tasks.microdata.inferred_table import Written, read_inferred, types_of
from sfumato.tasks.microdata.notation.address import local_path
from sfumato.tasks.microdata.singling_out import SinglingOut, singling_out
from sfumato.tasks.microdata.table import Microdata, load
from sfumato.tasks.partitions.strata import with_strata
from sfumato.tasks.stages.stage import write_note


def measure_feasibility(deidentified: Path, terms: Terms, base: Path) -> list[dict[str, Any]]:
    """Measure every promise on the table as it is, and make sure that it can be kept.

    Args:
        deidentified: the stage of the de-identified table.
        terms: what will be declared.
        base: the directory that a population's address is relative to.

    Returns:
        One row per promise: what is required, what the table shows today, and what the coarsest
        grouping, each stratum one group, shows at best.

    Raises:
        PromiseError: where a promise cannot be kept.
    """
    whole = with_hierarchies(load(deidentified), terms.hierarchies)
    microdata, strata = with_strata(whole, terms.strata)
    if not microdata.rows:
        raise PromiseError("no row is left to be published")
    rescued = terms.partition.may_suppress or terms.form.declares
    rows = [_stake(p, microdata, strata, base, rescued) for p in terms.promises]
    write_note(deidentified, "stakes", rows)
    return rows


def _stake(
    promise: PrivacyModel, microdata: Microdata, strata: Sequence[str], base: Path, rescued: bool
) -> dict[str, Any]:
    """A promise that cannot be kept is refused, unless something may come to its rescue.

    Rows may be suppressed, or distributions declared that are not those of the rows.
    """
    known = promise.known_columns
    best = promise.feasible(_seen(promise, microdata, [*strata, *known], base))
    if best is not None and not best.holds and not rescued:
        raise PromiseError(
            f"{promise.name} cannot be kept: required {numbers(best.required)}, at best "
            f"{numbers(best.observed)} in {best.failing} of {best.groups} strata"
        )
    groups = _seen(promise, microdata, promise.adversary_columns, base)
    today, failing = promise.worst(groups)
    return {
        "promise": promise.name,
        "about": promise.sensitive or "",
        "groups": len(groups),
        "failing": failing,
        **_prefixed("required", promise.required()),
        **_prefixed("today", today),
        **({} if best is None else _prefixed("at best", best.observed)),
        **({"eligible l": eligible(groups, promise.sensitive)} if promise.sensitive else {}),
    }


def _prefixed(when: str, scores: Mapping[str, Number]) -> dict[str, Any]:
    return {f"{when} {name}": plain(value) for name, value in scores.items()}


def _seen(promise: PrivacyModel, microdata: Microdata, by: Sequence[str], base: Path) -> Groups:
    """The groups of rows that are equal in the columns `by`, with what the promise is about."""
    sensitive = [promise.sensitive] if promise.sensitive else []
    if promise.reference_uri is not None:
        place = str(local_path(promise.reference_uri, base, os.environ))
        people = read_inferred(place, [*by, *sensitive], Written(types=types_of(microdata)))
        return groups_within(microdata, people, by, sensitive)
    covered = promise.adversary_columns if promise.needs_covers else ()
    return groups_of(microdata, by, sensitive, covered)


def measure_risks(deidentified: Path, terms: Terms) -> tuple[Risk, Risk, SinglingOut]:
    """What could be learnt if the table were published as it is.

    Returns:
        The risk by the quasi-identifiers, by these and the insensitive columns, and the smallest
        sets of quasi-identifiers that single people out.

    Raises:
        PromiseError: where there is no row.
    """
    microdata = load(deidentified)
    qi = terms.named("quasi-identifier")
    narrow = risk(groups_of(microdata, qi, terms.named("sensitive")))
    wide = risk(groups_of(microdata, terms.named("quasi-identifier", "insensitive"), []))
    if narrow is None or wide is None:
        raise PromiseError("no row is left to be published")
    single = singling_out(microdata, qi)
    document = narrow.document() | {"rows_alone_with_insensitive": wide.alone}
    write_note(deidentified, "risk", document)
    return narrow, replace(wide, homogeneity={}), single
