"""The release spec: one whole run as one frozen model, read from YAML.

Composes parts whose types live with what they configure. Reads and validates; computes nothing.
"""

from collections.abc import Hashable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from sfumato.expectations.errors import SpecError
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.models.promises import PROMISE, Promise
from sfumato.flows.rules import RULES
from sfumato.tasks.declaration.terms import Format, LineName, Terms, Title
from sfumato.tasks.forms.parameters import FormParameters
from sfumato.tasks.microdata.hierarchies import declared_hierarchy
from sfumato.tasks.partitions.parameters import PartitionParameters
from sfumato.tasks.query.accuracy.workloads.parameters import Evaluation
from sfumato.tasks.schema.columns import ColumnSpec, NullPolicy, Role
from sfumato.tasks.schema.hierarchy_rules import Declared
from sfumato.tasks.schema.published import DeclaredColumn
from sfumato.tasks.schema.sources import Source
from sfumato.tasks.schema.strata import Stratum
from sfumato.tasks.targets.given import with_given

_PUBLISHED_ROLES = ("quasi-identifier", "insensitive", "sensitive")


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Publish(_Part):
    """Where releases appear, and in which formats."""

    uri: Annotated[str, Field(min_length=1, description="a path or file:// address")]
    formats: Annotated[tuple[Format, ...], Field(min_length=1)] = ("parquet", "csv")

    @model_validator(mode="after")
    def _parquet_is_among_them(self) -> Self:
        if "parquet" not in self.formats:
            raise ValueError("formats: parquet must be among them: queries and checks read it")
        if len(set(self.formats)) < len(self.formats):
            raise ValueError("formats: one is named twice")
        return self


class ReleaseSpec(_Part):
    """A release line: what is read, what is promised, how it is kept, where it appears."""

    version: Literal[1]
    name: LineName
    title: Title
    source: Source
    nulls: NullPolicy = "refuse"
    columns: Annotated[dict[str, ColumnSpec], Field(min_length=1)]
    promises: Annotated[tuple[Promise, ...], Field(min_length=1)]
    partition: PartitionParameters
    form: FormParameters
    publish: Publish
    unit: Annotated[
        str | None,
        Field(description="`row` where rows are people, else the identifier with `unit: true`"),
    ] = None
    strata: tuple[Stratum, ...] = ()
    versions: Literal["disjoint", "accepted-risk"] = "disjoint"
    approval: Literal["none", "required"] = "none"
    retain: Annotated[
        int, Field(ge=0, le=24 * 366, description="hours for which a run's stages are kept")
    ] = 0
    evaluate: Evaluation = Evaluation()

    def named(self, *roles: Role) -> list[str]:
        """The columns that have one of these roles, in order."""
        return [name for name, column in self.columns.items() if column.role in roles]

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        for rule in RULES:
            rule(self)
        return self

    def scoped(self) -> tuple[PrivacyModel, ...]:
        """The promises, each saying which columns it is about."""
        qi, sensitive = self.named("quasi-identifier"), self.named("sensitive")
        only = sensitive[0] if len(sensitive) == 1 else None
        return tuple(
            replace(
                promise,
                quasi_identifiers=promise.quasi_identifiers or tuple(qi),
                sensitive=promise.sensitive or only,
            )
            for promise in self.promises
        )

    def terms(self, base: Path) -> Terms:
        """What of this spec a release declares, files of it read relative to `base`.

        Raises:
            InputError: where a file cannot be read, or is no hierarchy or no target.
        """
        published = {
            name: DeclaredColumn(
                role=column.role,
                type=column.type,
                nulls=(column.nulls or self.nulls) == "category",
                unprotected=column.unprotected,
                hierarchy=self._used_hierarchy(name, base),
            )
            for role in _PUBLISHED_ROLES
            for name, column in self.columns.items()
            if column.role == role
        }
        return Terms(
            name=self.name,
            title=self.title,
            unit="identifier" if any(c.unit for c in self.columns.values()) else "row",
            versions=self.versions,
            columns=published,
            strata=self.strata,
            promises=tuple(with_given(promise, base) for promise in self.scoped()),
            partition=self.partition,
            form=self.form,
            formats=self.publish.formats,
        )

    def _used_hierarchy(self, name: str, base: Path) -> Declared | None:
        """The hierarchy of a column, where what is published of it depends on it."""
        column = self.columns[name]
        recoded = column.role == "quasi-identifier" and self.form.method == "generalized"
        if column.hierarchy is None or not (recoded or column.role == "sensitive"):
            return None
        return declared_hierarchy(name, column.hierarchy, base)


class SourceOverrides(_Part):
    """What a run may change of the source."""

    uri: str | None = None
    sha256: str | None = None
    where: str | None = None


class PublishOverrides(_Part):
    """What a run may change of the publication."""

    uri: str | None = None
    formats: tuple[Format, ...] | None = None


class Overrides(_Part):
    """What one run may change; promises, roles, partition and form change in the spec alone."""

    source: SourceOverrides = SourceOverrides()
    publish: PublishOverrides = PublishOverrides()
    evaluate: Evaluation | None = None
    approval: Annotated[Literal["required"] | None, Field(description="only towards required")] = (
        None
    )


def read_spec(path: Path, overrides: Overrides | None = None) -> ReleaseSpec:
    """Read a spec and apply a run's overrides.

    Raises:
        SpecError: naming the file, the path of the key, and the rule.
    """
    document = _read_yaml(path)
    if not isinstance(document, dict):
        raise SpecError(f"{path}: not a mapping of keys")
    changes = (overrides or Overrides()).model_dump(mode="json", by_alias=True, exclude_unset=True)
    merged = _merged(document, {k: v for k, v in changes.items() if v not in (None, {})})
    try:
        return ReleaseSpec.model_validate(merged)
    except ValidationError as error:
        raise SpecError(f"{path}: {readable(error, merged)}") from None


def read_overrides(settings: Mapping[str, str]) -> Overrides:
    """Overrides from `key=value` settings, keys dotted, values YAML.

    Raises:
        SpecError: where a key may not be overridden, or a value is not valid for it.
    """
    document: dict[str, Any] = {}
    for name, text in settings.items():
        *parents, last = name.split(".")
        place = document
        for parent in parents:
            place = place.setdefault(parent, {})
            if not isinstance(place, dict):
                raise SpecError(f"--set {name}: {parent} is set as a whole, too")
        try:
            place[last] = yaml.safe_load(text)
        except (yaml.YAMLError, ValueError):
            raise SpecError(f"--set {name}: the value is not YAML") from None
    try:
        return Overrides.model_validate(document)
    except ValidationError as error:
        hint = " (only source, publish, evaluate and approval: required can be overridden)"
        raise SpecError(f"--set {readable(error, document)}{hint}") from None


def read_promise(text: str) -> PrivacyModel:
    """A promise as a spec writes it, in YAML.

    Raises:
        SpecError: where it is none, naming the key and the rule.
    """
    try:
        document = yaml.safe_load(text)
        promise: PrivacyModel = PROMISE.validate_python(document)
    except (yaml.YAMLError, ValueError) as error:
        fault = readable(error, document) if isinstance(error, ValidationError) else "not YAML"
        raise SpecError(f"promise: {fault}") from None
    return promise


def json_schema() -> dict[str, Any]:
    """JSON Schema of the spec."""
    schema = ReleaseSpec.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def readable(error: ValidationError, document: Any) -> str:
    """What is wrong, each with the path of its key, on one line."""
    found = [f"{_path(e['loc'], document)}{_rule(e['msg'])}" for e in error.errors()]
    more = f" (and {len(found) - 4} more)" if len(found) > 4 else ""
    return " ".join("; ".join(found[:4]).split()) + more


def _path(location: tuple[int | str, ...], document: Any) -> str:
    """The keys that the document has on the way to an error, and the one that is wrong."""
    kept, here = [], document
    for i, part in enumerate(location):
        known = (
            isinstance(part, int)
            or (isinstance(here, dict) and part in here)
            or i == len(location) - 1
        )
        if known:
            kept.append(str(part) if str(part).isprintable() else repr(part))
            here = _child(here, part)
    return ".".join(kept) + ": " if kept else ""


def _child(here: Any, part: int | str) -> Any:
    if isinstance(here, dict):
        return here.get(part)
    if isinstance(here, list | tuple) and isinstance(part, int) and part < len(here):
        return here[part]
    return None


def _rule(message: str) -> str:
    return message.removeprefix("Value error, ").replace("\n", " ")


class _StrictLoader(yaml.SafeLoader):
    """YAML in which a key stands once."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.MarkedYAMLError(
                    problem=f"key {key!r} twice", problem_mark=node.start_mark
                )
        return super().construct_mapping(node, deep)


def _read_yaml(path: Path) -> Any:
    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader=_StrictLoader)  # noqa: S506
    except OSError as error:
        raise SpecError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise SpecError(f"{path}: not UTF-8") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else "?"
        raise SpecError(f"{path}: line {line}: not YAML ({error.problem})") from None
    except (yaml.YAMLError, ValueError):  # 2001-99-99 is no date
        raise SpecError(f"{path}: not YAML") from None


def _merged(document: Any, changes: Any) -> Any:
    if not (isinstance(document, dict) and isinstance(changes, dict)):
        return changes
    return {
        **document,
        **{key: _merged(document.get(key), value) for key, value in changes.items()},
    }
