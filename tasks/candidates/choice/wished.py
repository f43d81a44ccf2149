"""Terms of which a part is to be chosen, and what may be chosen."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.forms.parameters import FormChoice
from sfumato.tasks.partitions.aimed.parameters import Aims
from sfumato.tasks.partitions.of_line import DeclaredPartition
from sfumato.tasks.partitions.wish import PartitionWish
from sfumato.tasks.schema.strata import Stratum


class Choice(BaseModel):
    """A partition with its strata and the form that shows it, as a release declares them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    partition: DeclaredPartition
    strata: tuple[Stratum, ...]
    form: FormChoice


class WishedTerms(Terms):
    """Terms whose partition is yet to be chosen: no release declares them.

    Their digest tells the wish from others.
    """

    partition: PartitionWish

    def as_chosen(self, choice: Choice | Mapping[str, Any]) -> Terms:
        """The terms that a release declares."""
        chosen = Choice.model_validate(choice)
        kept = {name: getattr(self, name) for name in Terms.model_fields}
        made = {name: getattr(chosen, name) for name in Choice.model_fields}
        return Terms(**{**kept, **made})


class Choosing(BaseModel):
    """What may be chosen, and by which queries.

    Attributes:
        candidates: what goes with the rest of the spec, the plainest first.
        aims: the families of queries.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    candidates: Sequence[Choice]
    aims: Aims
