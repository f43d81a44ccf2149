"""Content of a draft in parts, gathered from all of them."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa

from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.measures.risk import Risk, risk
from sfumato.tasks.attacks.bars import pool_limits, pool_scores
from sfumato.tasks.attacks.declared import AttackBars
from sfumato.tasks.choose.draft import compare_risks, missed_bars, missed_goal
from sfumato.tasks.choose.left_out import BY_PARTITION, FILTER
from sfumato.tasks.parts.attack import attack_all_parts
from sfumato.tasks.parts.divided import read_parts
from sfumato.tasks.parts.strata import as_stage_table, read_rows_of
from sfumato.tasks.publication.parts import SeenParts, observations_of
from sfumato.tasks.query.accuracy.usefulness import MeasuredBounds
from sfumato.tasks.query.accuracy.vectors import VectorKeys, count_vectors
from sfumato.tasks.report.steward.draft import DraftContent
from sfumato.tasks.schema.columns import Role
from sfumato.tasks.terms.opened import Release
from sfumato.tasks.terms.terms import Declared
from sfumato.tasks.workers.workers import InTurn

_UNTOLD = "drafts of releases in parts do not show which values the rows left out have"


def draft_content_of_parts(
    divided: Path,
    release: Release,
    seen: SeenParts,
    measured: MeasuredBounds,
    bars: AttackBars,
    *,
    refuses: bool = False,
) -> DraftContent:
    """Return the content of a draft in parts.

    Args:
        divided: the stage of the rows that were to be published.
        release: the release that would be published.
        seen: the observations of its parts.
        measured: the accuracy of its answers.
        bars: the spec's bars on attacks.
        refuses: whether a release that misses its goal is refused.
    """
    declared = release.declared
    attacked, _ = attack_all_parts(release.directory, bars, InTurn())
    counts = declared.rows.model_dump(mode="json")
    why = _reasons(counts)
    beyond = missed_bars([limit.judged_bar for limit in pool_limits(attacked)])
    missed = missed_goal(measured.useful.missed, refuses=refuses)
    return DraftContent(
        rows={name: number for name, number in counts.items() if number},
        promises=observations_of(seen.all_verdicts()),
        risk=_risks(divided, declared, seen),
        attacks={
            name: [score.document() for score in scores]
            for name, scores in pool_scores(attacked).items()
        },
        lost=_losses(declared, seen.all_sizes),
        accuracy=measured.public,
        why=why,
        who=(),
        left_out="",
        warnings=[*measured.useful.warnings, *missed, *beyond, *([_UNTOLD] if why else [])],
    )


def _reasons(counts: Mapping[str, int]) -> dict[str, int]:
    """Return the numbers of rows that would not be published, by reason."""
    by_reason = {
        FILTER: counts["dropped_by_filter"],
        "no value in some column (nulls: drop-row)": counts["dropped_for_nulls"],
        BY_PARTITION: counts["suppressed"],
    }
    return {reason: number for reason, number in by_reason.items() if number}


def _risks(divided: Path, declared: Declared, seen: SeenParts) -> list[dict[str, object]]:
    """Return the numbers of rows that are unique or nearly so, before and after."""
    before = _risk_of(_sizes_of_vectors(divided, declared))
    return compare_risks(before, _risk_of(seen.all_sizes) if declared.is_recoded else before)


def _sizes_of_vectors(divided: Path, declared: Declared) -> np.ndarray:
    """Return the number of rows of each combination of quasi-identifiers (int64)."""
    names = declared.names_with_roles("quasi-identifier")
    roles: dict[str, Role] = {name: declared.columns[name].role for name in names}
    keys = VectorKeys.for_parts(names, _tables(divided, roles))
    _, sizes = count_vectors(map(keys.of_rows, _tables(divided, roles)))
    return sizes


def _tables(divided: Path, roles: dict[str, Role]) -> Iterator[pa.Table]:
    """Yield some columns of each part, one after the other."""
    for part in read_parts(divided):
        yield as_stage_table(read_rows_of(part.strata, roles))


def _risk_of(sizes: np.ndarray) -> Risk | None:
    return risk(Groups(sizes, {}))


def _losses(declared: Declared, sizes: np.ndarray) -> dict[str, float]:
    """Return the number and average size of groups; {} if the form shows no labels, or no group."""
    measures = {"groups": len(sizes), "average_group_size": float(sizes.mean())}
    return measures if declared.is_recoded and len(sizes) else {}
