"""Candidates of experiments: terms of few words, tried out on a table with seeded randomness."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any

from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.choose.trial import Trial, run_trial
from sfumato.tasks.experiments.shared.experiment import Inputs
from sfumato.tasks.microdata.hierarchies import with_hierarchies
from sfumato.tasks.microdata.table import Microdata, seeded_keys
from sfumato.tasks.partitions.partition import Partition, Partitioner, with_strata
from sfumato.tasks.partitions.registry import PARTITIONS
from sfumato.tasks.private.workdir import private_directory
from sfumato.tasks.schema.hierarchy_rules import HierarchyRule
from sfumato.tasks.schema.published import DeclaredColumn
from sfumato.tasks.terms.terms import Terms


@dataclass(frozen=True)
class Method:
    """Promises, a partition and a form as a spec writes them.

    Attributes:
        promises: its promises.
        partition: the partition of people into groups.
        form: the published form of a group.
        hierarchies: the hierarchies of the quasi-identifiers, if labels are shown.
        strata: the groups that the owner wants apart.
    """

    promises: tuple[PrivacyModel, ...]
    partition: Mapping[str, Any]
    form: Mapping[str, Any]
    hierarchies: Mapping[str, HierarchyRule] = field(default_factory=dict)
    strata: Sequence[Any] = ()

    def terms(self, microdata: Microdata) -> Terms:
        """Return the terms that a candidate of this table declares."""
        return Terms.model_validate(
            {
                "name": "experiment",
                "title": "A candidate of an experiment",
                "unit": "row",
                "versions": "disjoint",
                "columns": {
                    column.name: self._declared_column(column) for column in microdata.columns
                },
                "strata": tuple(self.strata),
                "promises": self.promises,
                "partition": dict(self.partition),
                "form": dict(self.form),
                "formats": ("parquet",),
            }
        )

    def _declared_column(self, column: Any) -> DeclaredColumn:
        type_ = "string" if str(column.values.type) == "string" else "integer"
        above = self.hierarchies.get(column.name)
        return DeclaredColumn(role=column.role, type=type_, hierarchy=above)


def scope(microdata: Microdata) -> dict[str, Any]:
    """Return what a promise about all columns names: quasi-identifiers and sensitive column."""
    quasi_identifiers = tuple(column.name for column in microdata.with_roles("quasi-identifier"))
    return {
        "quasi_identifiers": quasi_identifiers,
        "sensitive": microdata.with_roles("sensitive")[0].name,
    }


def try_method(
    microdata: Microdata,
    method: Method,
    inputs: Inputs,
    seed: int,
    partition: Partition | Partitioner | None = None,
) -> Trial:
    """Return the candidate that a method makes of a table, on given groups if there are any."""
    place = private_directory(inputs.scratch / token_hex(8))
    make = (lambda *_: partition) if isinstance(partition, Partition) else partition
    return run_trial(microdata, method.terms(microdata), place, seeded_keys(seed), make)


def partition_by(microdata: Microdata, method: Method, seed: int) -> Partition:
    """Return the groups that a method makes of a table."""
    terms = method.terms(microdata)
    table = with_hierarchies(microdata, terms.hierarchies)
    table, strata = with_strata(table, terms.strata)
    make = PARTITIONS[terms.partition.method]
    return make(table, strata, terms.promises, terms.partition, seeded_keys(seed))
