"""The result of a partition and a form on a table, from which a candidate is written."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.candidates.followed import lasting_columns, partition_as_followed
from sfumato.tasks.candidates.remember import (
    publish_with_classes,
    publish_with_ids,
    slots_of,
    whose_rows,
)
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.microdata.table import Microdata, Randomness
from sfumato.tasks.partitions.partition import Partition, Partitioner, with_strata
from sfumato.tasks.partitions.registry import PARTITIONS
from sfumato.tasks.private.people.followed import FollowedLine
from sfumato.tasks.private.people.slots import VACANT, WITNESS, SlotMap
from sfumato.tasks.terms.assessment import numbers
from sfumato.tasks.terms.people import WhoseRows
from sfumato.tasks.terms.tables import form_of
from sfumato.tasks.terms.terms import Terms


@dataclass(frozen=True, eq=False)
class AnonymizedTable:
    """The result of a partition and a form on a table.

    Attributes:
        microdata: the rows that were grouped.
        partition: their groups.
        tables: what is shown of them.
        shown: which rows of the source are represented (bool).
        suppressed: how many of the others the partition left out.
        slots: what the line's map is to know, None if nobody is remembered.
        counts: of people and groups that go on, for the private report.
        predecessor: the digest of the version that this one continues, None for none.
        made_after: the digest of the line's last version when its map was read.
        whose: whose the rows are that are shown, where people have several.
        absences: why each of the others is not shown (see `Absence`; int8, one per row of the
            source), None if that is the partition, or the line whose groups are shown.
    """

    microdata: Microdata
    partition: Partition
    tables: Tables
    shown: np.ndarray
    suppressed: int
    slots: SlotMap | None
    counts: Mapping[str, Any] = field(default_factory=dict)
    predecessor: str | None = None
    made_after: str | None = None
    whose: WhoseRows | None = None
    absences: np.ndarray | None = None

    @property
    def rows(self) -> Microdata:
        """The rows that tables show, people's and vacant ones."""
        continued = self.partition.continued
        if continued is None:
            return self.microdata
        return self.microdata.take(np.flatnonzero(continued.kind != WITNESS))

    @property
    def vacant(self) -> int:
        """Number of values of people who left."""
        continued = self.partition.continued
        return 0 if continued is None else int((continued.kind == VACANT).sum())


def anonymize_alone(
    microdata: Microdata,
    names: np.ndarray | None,
    terms: Terms,
    randomness: Randomness,
    followed: FollowedLine | None = None,
    partitioner: Partitioner | None = None,
) -> AnonymizedTable:
    """Group the rows of a version that continues none, and make its tables.

    Args:
        microdata: the table, with its hierarchies.
        names: of each row's person (S16), None if nobody is remembered.
        terms: what is declared.
        randomness: what is drawn from.
        followed: the line whose groups are shown, None if the partition makes them.
        partitioner: in place of the one that is declared, where that has chosen for more rows.

    Raises:
        PromiseError: if the partition cannot keep the promises.
    """
    if followed is None or names is None:
        promises = terms.form.grouped_by(terms.promises, terms.partition)
        partition = (partitioner or PARTITIONS[terms.partition.method])(
            *with_strata(microdata, terms.strata), promises, terms.partition, randomness
        )
    else:
        partition = partition_as_followed(microdata, names, followed, lasting_columns(terms))
    if terms.form.declares:
        partition = _with_targets(terms, microdata, partition)
    form, class_ = form_of(terms), partition.group
    followed_later = names is not None or terms.over_people
    if terms.is_recoded and followed_later:
        tables, class_ = publish_with_classes(form, microdata, partition, terms.form, randomness)
    elif terms.over_people:
        tables, class_ = publish_with_ids(form, microdata, partition, terms.form, randomness)
    else:
        tables = form.publish(microdata, partition, terms.form, randomness)
    _require_kept_by_rounded_targets(terms, microdata, partition, tables)
    slots = None if names is None else slots_of(names, microdata, class_)
    whose = whose_rows(microdata, class_) if terms.over_people else None
    represented = partition.group >= 0
    suppressed = partition.suppressed if followed is None else 0
    return AnonymizedTable(
        microdata, partition, tables, represented, suppressed, slots, whose=whose
    )


def _with_targets(terms: Terms, microdata: Microdata, partition: Partition) -> Partition:
    """Return the groups with the targets that are promised: declared ones, or their own."""
    from sfumato.tasks.forms.redistributed import range_tree
    from sfumato.tasks.forms.redistributed_parameters import RedistributedParameters
    from sfumato.tasks.partitions.distribution.own_targets import with_own_targets
    from sfumato.tasks.partitions.distribution.with_targets import with_declared_targets

    form = terms.form
    if partition.target_distributions is None:
        partition = with_declared_targets(
            partition, *with_strata(microdata, terms.strata), terms.promises
        )
    if not isinstance(form, RedistributedParameters) or form.largest is None:
        return partition
    return with_own_targets(
        partition, microdata, terms.promises, form.largest, lambda c: range_tree(c, form)
    )


def _require_kept_by_rounded_targets(
    terms: Terms, microdata: Microdata, partition: Partition, tables: Tables
) -> None:
    """Refuse targets that break a promise only because their ratios were rounded.

    Raises:
        PromiseError: with what the requested targets show, and the published ones.
    """
    aims = partition.target_distributions
    if aims is None or aims.exact:
        return
    from sfumato.expectations.models.p_privacy import PPrivacy
    from sfumato.tasks.partitions.distribution.with_targets import declared_groups
    from sfumato.tasks.partitions.targets.distribution import weights_of_chances

    column, sizes = microdata[aims.name], np.bincount(partition.group[partition.group >= 0])
    weights = [weights_of_chances(distribution) for distribution in aims.distributions]
    requested = declared_groups(column, sizes, aims.target, weights)
    quasi_identifiers = terms.names_with_roles("quasi-identifier")
    rounded = form_of(terms).groups(tables, terms.columns, quasi_identifiers, [aims.name])
    for promise in terms.promises:
        if isinstance(promise, PPrivacy) or (verdict := promise.check(rounded)).holds:
            continue
        raise PromiseError(
            f"{promise.name}: the requested targets keep it "
            f"({numbers(promise.check(requested).observed)}), but their rounded ratios break it in "
            f"{verdict.failing} of {verdict.groups} groups ({numbers(verdict.observed)}, required "
            f"{numbers(verdict.required)}). Use a larger form.denominator, or `denominator: exact`"
        )
