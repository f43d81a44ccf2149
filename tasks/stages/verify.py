"""Verify: what is at stake in the de-identified table, and whether the promises can be kept."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from expectations.counting import count
from expectations.errors import PromiseError
from expectations.groups import Groups
from expectations.model import plain
from tasks.microdata.table import Microdata, key, load
from tasks.release.declared import Terms
from tasks.release.promised import numbers
from tasks.stages.stage import note


def grouped(microdata: Microdata, by: Sequence[str], sensitive: Sequence[str]) -> Groups:
    """The groups of rows that have equal values in the columns `by`."""
    keys, bound = key([microdata[name] for name in by], microdata.rows)
    return count(keys, bound, {name: microdata[name].coded() for name in sensitive})


def stakes(deidentified: Path, terms: Terms) -> list[dict[str, Any]]:
    """Measure the table and make sure that every promise can be kept.

    A promise that merging groups cannot break can be kept exactly if the coarsest grouping, each
    stratum one group, keeps it.

    Returns:
        One row per promise: model, required, observed today and at best, rows alone on the
        quasi-identifiers, without and with the insensitive columns.

    Raises:
        PromiseError: where a promise cannot be kept.
    """
    microdata = load(deidentified)
    if not microdata.rows:
        raise PromiseError("no row is left to be published")
    sensitive = terms.named("sensitive")
    today = grouped(microdata, terms.named("quasi-identifier"), sensitive)
    wider = grouped(microdata, terms.named("quasi-identifier", "insensitive"), [])
    coarsest = grouped(microdata, terms.strata, sensitive)
    rows = []
    for promise in terms.promises:
        best = promise.check(coarsest)
        if not best.holds:
            raise PromiseError(
                f"{promise.model} cannot be kept: required {numbers(best.required)}, at best "
                f"{numbers(best.observed)} in {best.failing} of {best.groups} strata"
            )
        now = promise.check(today)
        rows.append(
            {
                "promise": promise.model,
                **{f"required {k}": plain(v) for k, v in now.required.items()},
                **{f"today {k}": plain(v) for k, v in now.observed.items()},
                **{f"at best {k}": plain(v) for k, v in best.observed.items()},
                "rows": microdata.rows,
                "smallest group today": int(today.sizes.min()),
                "rows alone": int((today.sizes == 1).sum()),
                "rows alone with insensitive columns": int((wider.sizes == 1).sum()),
            }
        )
    note(deidentified, "stakes", rows)
    return rows
