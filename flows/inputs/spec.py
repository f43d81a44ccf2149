"""The release spec: one whole run as one frozen model, read from YAML.

Composes parts whose types live with what they configure. Reads and validates; computes nothing.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import yaml
from pydantic import TypeAdapter, ValidationError, model_validator

from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.models.promises import PROMISE
from sfumato.expectations.shared.errors import SpecError
from sfumato.expectations.shared.wording import readable
from sfumato.flows.inputs.documents import parse_yaml, read_yaml, require_storable, yaml_fault
from sfumato.flows.inputs.overrides import Overrides
from sfumato.flows.rules.candidates import find_candidates
from sfumato.flows.rules.defaults import default_schemas
from sfumato.flows.rules.leaves import narrows_hierarchy, uses_hierarchy
from sfumato.flows.rules.registry import RULES
from sfumato.flows.rules.spec_parts import SpecParts
from sfumato.flows.rules.two_tables import (
    changes_of_tables,
    faults_in_tables,
    with_tables,
    without_tables,
)
from sfumato.tasks.candidates.wished import AutoParameters, Choosing, WishedTerms
from sfumato.tasks.continued.parameters import declaration_of
from sfumato.tasks.microdata.hierarchies import declared_hierarchy
from sfumato.tasks.partitions.targets.given import read_given_target
from sfumato.tasks.schema.columns import ColumnSpec
from sfumato.tasks.schema.files import NestingError
from sfumato.tasks.schema.hierarchy_rules import HierarchyLevel, HierarchyRule
from sfumato.tasks.schema.published import DeclaredColumn
from sfumato.tasks.schema.stated import CodeLabels, PublishedWords, SaidOfLine
from sfumato.tasks.terms.terms import LineName, Terms

if TYPE_CHECKING:
    from sfumato.tasks.policies.term import PublishedPolicy
    from sfumato.tasks.schema.columns import Role

_LINE_NAME: TypeAdapter[str] = TypeAdapter(LineName)
_PUBLISHED_ROLES: "tuple[Role, ...]" = ("quasi-identifier", "insensitive", "sensitive")


class ReleaseSpec(SaidOfLine, SpecParts):
    """A release line: what is read, what is promised, how it is kept, where it appears."""

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        for rule in RULES:
            rule(self)
        find_candidates(self, RULES)
        return self

    @property
    def choosing(self) -> Choosing | None:
        """The candidates of a choice, or None if the spec names a partition."""
        return find_candidates(self, RULES)

    @property
    def words(self) -> PublishedWords:
        """The owner's words about the line and its columns, which are no terms of a release."""
        statements = {name: getattr(self, name) for name in SaidOfLine.model_fields}
        descriptions = {name: column.description for name, column in self.columns.items()}
        columns = {name: text for name, text in descriptions.items() if text is not None}
        labels = {
            name: CodeLabels(codes=column.labels, whole=column.code_list == "whole")
            for name, column in self.columns.items()
            if column.labels is not None
        }
        return PublishedWords(**statements, columns=columns, labels=labels)

    def terms(self, base: Path) -> Terms:
        """Return the part of this spec that a release declares, its files read relative to `base`.

        Raises:
            InputError: where a file cannot be read, or is not a hierarchy or a target.
        """
        kind, more = Terms, dict[str, Any]()
        if isinstance(self.partition, AutoParameters):
            kind, more = WishedTerms, {"by_level": self._columns_by_level(base)}
        return kind(
            **more,
            name=self.name,
            title=self.title,
            unit="identifier" if any(c.unit for c in self.columns.values()) else "row",
            rows_per_unit="several" if self.repeats else "one",
            households=self.household is not None,
            versions=declaration_of(self.versions),
            columns=self._declared_columns(base),
            strata=self.strata,
            promises=tuple(read_given_target(promise, base) for promise in self.scoped_promises()),
            partition=self.partition,
            form=self.form,
            formats=self.formats,
            csv=self.publish.csv,
            parts=self.parts,
            policy=self._term_of_policy(),
        )

    def _term_of_policy(self) -> "PublishedPolicy | None":
        """Return what a release declares of the policy, or None without one."""
        if self.policy is None:
            return None
        from sfumato.tasks.policies.policy import term_of  # few specs have a policy

        return term_of(self.policy, self.names_with_roles(*_PUBLISHED_ROLES))

    def _declared_columns(self, base: Path) -> dict[str, DeclaredColumn]:
        """Return the columns that are published, in the order of their roles."""
        return {
            name: DeclaredColumn(
                role=column.shown_as,
                weight=column.role == "weight",
                type=column.type,
                nulls=(column.nulls or self.nulls) == "category",
                unprotected=column.unprotected,
                hierarchy=self._used_hierarchy(name, base),
                leaves="published" if narrows_hierarchy(self, name) else "all",
                derive=_sql_of(column),
                **column.coding_keys(),
            )
            for role in _PUBLISHED_ROLES
            for name, column in self.columns.items()
            if column.shown_as == role
        }

    def _columns_by_level(self, base: Path) -> dict[str, DeclaredColumn]:
        """Declare the quasi-identifiers as if strata were levels of their hierarchies."""
        names = [
            n
            for n in self.names_with_roles("quasi-identifier")
            if self.columns[n].hierarchy is not None
        ]
        strata = tuple(HierarchyLevel(column=name, level=1) for name in names)
        columns = self.model_copy(update={"strata": strata})._declared_columns(base)
        return {name: columns[name] for name in names}

    def _used_hierarchy(self, name: str, base: Path) -> HierarchyRule | None:
        """Return the hierarchy of a column if its published form depends on it, or None."""
        written = self.columns[name].hierarchy
        if written is None or not uses_hierarchy(self, name):
            return None
        return declared_hierarchy(name, written, base)


def _sql_of(column: ColumnSpec) -> str | None:
    """Return the SQL of a fact as a release states it, on one line; None for other columns."""
    if column.derive is None:
        return None
    from sfumato.tasks.sql.of_person import one_line  # few specs have facts

    return one_line(column.derive)


def read_spec(path: Path, overrides: Overrides | None = None) -> ReleaseSpec:
    """Read a spec and apply a run's overrides.

    Raises:
        SpecError: naming the file, the path of the key, and the rule.
    """
    return read_alternative(path, overrides, {})


def read_alternative(
    path: Path, overrides: Overrides | None, instead: Mapping[str, Any]
) -> ReleaseSpec:
    """Read a spec as it would be with other keys in place of some; one that is None goes.

    Raises:
        SpecError: naming the file, the path of the key, and the rule.
    """
    document = read_yaml(path)
    if not isinstance(document, dict):
        raise SpecError(f"{path}: is not a spec. Write keys and values, such as `name: costs`")
    changed = {**document, **instead}
    document = {key: value for key, value in changed.items() if value is not None}
    changes = (overrides or Overrides()).model_dump(
        mode="json", by_alias=True, exclude_unset=True, exclude={"others", "as_of"}
    )
    _require_declared(changes.get("source", {}).get("parameters") or {}, document)
    if document.get("approval", "none") != "none":
        changes.pop("approval", None)  # asked for already, and perhaps of more reviewers
    changes = {key: value for key, value in changes.items() if value not in (None, {})}
    try:
        merged = _merge(document, changes_of_tables(document, changes))
    except ValueError as error:
        raise SpecError(f"{path}: {error}") from None
    require_storable(path, merged)
    try:
        return spec_of(merged, path.absolute().parent)
    except SpecError as error:
        raise SpecError(f"{path}: {error}") from None
    except ValidationError as error:
        faults = readable(error, without_tables(merged), json_schema())
        raise SpecError(f"{path}: {faults_in_tables(faults, merged)}") from None


def spec_of(document: Mapping[str, Any], base: Path) -> ReleaseSpec:
    """Return a spec from its document, with the file of its policy.

    Args:
        document: the spec as it is written.
        base: the directory that the path of a policy is relative to.

    Raises:
        SpecError: where its policy is wrong, or not for publication.
        ValidationError: where another key is wrong.
    """
    if document.get("policy") is not None:
        from sfumato.flows.inputs.policies import read_chosen  # few specs have a policy

        document = read_chosen(document, base)
    return ReleaseSpec.model_validate(document)


def line_named(path: Path) -> str:
    """Return the name of a spec's line, or of its file if the spec does not give one."""
    try:
        document = read_yaml(path)
        return _LINE_NAME.validate_python(document["name"])
    except (SpecError, ValidationError, TypeError, KeyError):
        return path.stem


def _require_declared(parameters: Mapping[str, Any], document: Any) -> None:
    source = document.get("source")
    declared = source.get("parameters") if isinstance(source, dict) else None
    for name in parameters:
        if not isinstance(declared, dict) or name not in declared:
            raise SpecError(
                f"--set source.parameters.{name}: the spec has no such parameter. Correct "
                "the name, or add it under source.parameters"
            )


def read_promise(text: str) -> PrivacyModel:
    """Read a promise as a spec writes it, in YAML.

    Raises:
        SpecError: where it is none, naming the key and the rule.
    """
    try:
        document = parse_yaml(text)
        promise: PrivacyModel = PROMISE.validate_python(document)
    except NestingError as error:
        raise SpecError(f"promise: {error}") from None
    except (yaml.YAMLError, ValueError) as error:
        if isinstance(error, ValidationError):
            fault = readable(error, document, PROMISE.json_schema())
        else:
            fault = yaml_fault(error)
        raise SpecError(f"promise: {fault}") from None
    return promise


@cache
def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of the spec; it is made once, and nobody may change it."""
    schema = with_tables(ReleaseSpec.model_json_schema(by_alias=True))
    draft = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": draft, **schema, "allOf": list(default_schemas())}


def _merge(document: Any, changes: Any) -> Any:
    if not (isinstance(document, dict) and isinstance(changes, dict)):
        return changes
    return {
        **document,
        **{key: _merge(document.get(key), value) for key, value in changes.items()},
    }
