"""Common parts of the experiments with averages: methods, scales, and how errors are scored.

The paper's error is the width of the bounds of AVG by the truth. Its generalization partition is
Incognito's with l-diversity of the paper's eight quasi-identifiers, here the full-domain table of
least height; up to one row in twenty is suppressed (the paper removes outliers in age), because
otherwise the age is fully generalized.
"""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from sfumato.expectations.models.ke_anonymity import KEAnonymity
from sfumato.expectations.models.l_diversity import DistinctLDiversity
from sfumato.tasks.experiments.shared.candidates import Method, partition_by, scope
from sfumato.tasks.experiments.shared.questions import GroupedValues, numbers_of
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.schema.hierarchy_rules import HierarchyRule

LOSS = "capital-loss"
ERROR = "error"
GENERALIZED, PERMUTED = "generalized", "permuted"
OBJECTIVES = {"least sum": "sum", "least largest": "max", "random": "random"}
"""The series of the paper's partitions, by the objectives that they have in a spec."""

_SUPPRESSION = "0.05"


@dataclass(frozen=True)
class AskedLevels:
    """Levels of an experiment, and the number of questions at each.

    Attributes:
        levels: numbers of selected rows, or widths of windows.
        questions: the number at each level.
        rows: the number of generated people, if any.
    """

    levels: tuple[int, ...]
    questions: int
    rows: int = 0


def diverse(
    microdata: Microdata,
    distinct: int,
    form: str,
    hierarchies: dict[str, HierarchyRule],
    metric: str = "height",
) -> Method:
    """Return full-domain generalization into groups with so many distinct losses, in some form."""
    promise = DistinctLDiversity(l=distinct, **scope(microdata))
    return Method((promise,), full_domain(metric), {"method": form}, hierarchies)


def full_domain(metric: str) -> dict[str, str]:
    """Return the full-domain partition that loses the least by a metric."""
    return {"method": "full-domain", "metric": metric, "suppression": _SUPPRESSION}


def permuted_losses(microdata: Microdata, k: int, e: int, objective: str) -> Method:
    """Return the method that permutes losses in groups of k distinct ones that span e or more."""
    promise = KEAnonymity(k=k, e=Decimal(e), **scope(microdata))
    partition: dict[str, Any] = {"method": "ke", "objective": objective}
    return Method((promise,), partition, {"method": PERMUTED})


def grouped_values(microdata: Microdata, partition: Partition) -> tuple[Microdata, GroupedValues]:
    """Return the rows that a partition does not suppress, and their losses in its groups."""
    in_groups = np.flatnonzero(partition.group >= 0)
    rows = microdata.take(in_groups)
    return rows, GroupedValues(partition.group[in_groups], numbers_of(rows, LOSS))


def values_of(microdata: Microdata, method: Method, seed: int) -> tuple[Microdata, GroupedValues]:
    """Return the rows that a method's groups do not suppress, and their losses in these groups."""
    return grouped_values(microdata, partition_by(microdata, method, seed))
