"""Terms of which a part is yet to be chosen, the candidates, and the choice that a line keeps."""

import hashlib
from collections import ChainMap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, cast

from pydantic import BaseModel, ConfigDict, Field

from sfumato.expectations.shared.registered import Registered
from sfumato.tasks.forms.parameters import FormChoice
from sfumato.tasks.partitions.aimed.parameters import Aims
from sfumato.tasks.partitions.declared import PartitionParameters
from sfumato.tasks.partitions.of_line import DeclaredPartition
from sfumato.tasks.partitions.parameters import PARTITION_PARAMETERS
from sfumato.tasks.private.people.frozen import read_choice
from sfumato.tasks.schema.files import canonical_json
from sfumato.tasks.schema.hierarchy_rules import HierarchyLevel, HierarchyRule, Stratum
from sfumato.tasks.schema.published import DeclaredColumn
from sfumato.tasks.terms.terms import Terms

AUTO = "auto"
_SAID = {"name", "title", "formats", "csv"}
"""Terms that describe a release and decide nothing of its groups."""


class AutoParameters(PartitionParameters):
    """The partition with the least expected width, chosen once for the line."""

    gives_targets: ClassVar[bool] = True  # what is chosen goes with the form

    method: Literal["auto"]
    aims: Annotated[
        Aims | None,
        Field(
            description="the kinds of queries to choose for; otherwise those of evaluate.workloads"
        ),
    ] = None
    forms: Annotated[
        tuple[str, ...],
        Field(description="forms that may be chosen beside the spec's, by their names"),
    ] = ()

    @property
    def not_in_parts(self) -> str | None:
        """The reason why a table cannot be grouped part by part."""
        return "auto needs the whole table, and parts never have it. Name a partition"


_WISHES = ChainMap({AUTO: AutoParameters}, cast(Any, PARTITION_PARAMETERS))


PartitionWish = Annotated[PartitionParameters, Registered("method", _WISHES)]
"""A partition as a spec writes it, or the wish that one be chosen."""


class Choice(BaseModel):
    """A partition with its strata and the form that shows it, as a release declares them."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    partition: DeclaredPartition
    strata: tuple[Stratum, ...]
    form: FormChoice


class WishedTerms(Terms):
    """Terms whose partition is yet to be chosen: no release declares them.

    Attributes:
        partition: the wish.
        by_level: by their names, columns as they would be declared were strata levels of their
            hierarchies. Nothing is known of terms by them.
    """

    partition: PartitionWish
    by_level: Mapping[str, DeclaredColumn] = Field(default={}, exclude=True)

    @property
    def all_hierarchies(self) -> dict[str, HierarchyRule]:
        """The declared hierarchies, and those whose levels strata may be."""
        hierarchies = {
            name: column.hierarchy for name, column in self.by_level.items() if column.hierarchy
        }
        return {**hierarchies, **self.hierarchies}

    @property
    def wish(self) -> str:
        """The SHA-256 of what decides, which distinguishes the wish from others.

        Words, and the way tables are written, choose nothing.
        """
        columns = {
            name: column.model_copy(update={"unprotected": None})
            for name, column in self.columns.items()
        }
        silent = self.model_copy(update={"columns": columns})
        decides = set(Terms.model_fields) - _SAID
        terms = silent.model_dump(mode="json", by_alias=True, include=decides)
        return hashlib.sha256(canonical_json(terms)).hexdigest()

    def as_chosen(self, choice: Choice | Mapping[str, Any]) -> Terms:
        """Return the terms that a release declares."""
        chosen = Choice.model_validate(choice)
        own = {name: getattr(self, name) for name in Terms.model_fields}
        made = {name: getattr(chosen, name) for name in Choice.model_fields}
        levels = {
            stratum.column for stratum in chosen.strata if isinstance(stratum, HierarchyLevel)
        }
        more = {name: column for name, column in self.by_level.items() if name in levels}
        return Terms(**{**own, **made, "columns": {**self.columns, **more}})


class Choosing(BaseModel):
    """The candidates that may be chosen, and the queries that decide.

    Attributes:
        candidates: what goes with the rest of the spec, the plainest first.
        aims: the families of queries.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    candidates: Sequence[Choice]
    aims: Aims


def frozen_terms(terms: Terms, line: Path) -> Terms:
    """Return the terms with the choice that the line's state has.

    Terms are returned as they are if nothing is to be chosen.

    Args:
        terms: of a spec.
        line: the line's private directory.
    """
    if not isinstance(terms, WishedTerms):
        return terms
    choice = frozen_choice(terms, line)
    return terms if choice is None else terms.as_chosen(choice)


def frozen_choice(terms: WishedTerms, line: Path) -> Mapping[str, Any] | None:
    """Return the choice for a wish in the line's state, None if there is none.

    Earlier software kept it by the digest of all terms, their title among them.
    """
    choice = read_choice(line, terms.wish)
    return read_choice(line, terms.digest()) if choice is None else choice
