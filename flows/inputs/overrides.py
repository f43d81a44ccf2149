"""Keys of its spec that a run may change, typed, on the command line and in a deployment."""

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, Literal

import yaml
from pydantic import ConfigDict, Field, ValidationError, model_validator

from sfumato.expectations.shared.arrow import Value
from sfumato.expectations.shared.errors import SpecError
from sfumato.expectations.shared.wording import readable
from sfumato.flows.inputs.documents import parse_yaml, yaml_fault
from sfumato.flows.rules.spec_parts import StrictPart
from sfumato.tasks.microdata.readers.declared import Address
from sfumato.tasks.query.accuracy.parameters import Evaluation
from sfumato.tasks.schema.files import NestingError
from sfumato.tasks.terms.terms import Format

_DOTTED = (("source", "uri"), ("publish", "uri"), ("publish", "formats"))


class ParameterOverride(StrictPart):
    """The value of a query's parameter, whose type the spec declares."""

    value: Value


class ShownSourceOverrides(StrictPart):
    """The keys of the source that a run may change and Prefect may know."""

    uri: Address | None = None
    parameters: Annotated[
        dict[str, ParameterOverride] | None,
        Field(description="parameters of the query; name no person, because Prefect stores them"),
    ] = None


class SourceOverrides(ShownSourceOverrides):
    """The keys of the source that a run may change."""

    sha256: str | None = None
    where: str | None = None


class PublishOverrides(StrictPart):
    """The keys of the publication that a run may change."""

    uri: str | None = None
    formats: tuple[Format, ...] | None = None


def _with_dotted_keys(schema: dict[str, Any]) -> None:
    """Let a deployment's parameters also have the keys that `--set` has, checked as strictly."""
    parts: dict[str, type[StrictPart]] = {
        "source": ShownSourceOverrides,
        "publish": PublishOverrides,
    }
    schema["patternProperties"] = {
        rf"^{part}\.{key}$": parts[part].model_json_schema()["properties"][key]
        for part, key in _DOTTED
    }


class ShownOverrides(StrictPart):
    """The keys that a run may change and Prefect may know: the parameters of a deployment."""

    model_config = ConfigDict(json_schema_extra=_with_dotted_keys)

    source: ShownSourceOverrides = ShownSourceOverrides()
    publish: PublishOverrides = PublishOverrides()
    evaluate: Evaluation | None = None
    approval: Annotated[
        Literal["required"] | None, Field(description="can only be changed to required")
    ] = None
    as_of: Annotated[
        date | None,
        Field(
            description="the day that the version describes",
            json_schema_extra={"pattern": r"^\d{4}-\d{2}-\d{2}$"},  # formats are not enforced
        ),
    ] = None
    others: Annotated[
        bool,
        Field(description="most people of a composed line are really other people than before"),
    ] = False

    @model_validator(mode="before")
    @classmethod
    def _nest(cls, document: Any) -> Any:
        """Return a mapping whose dotted keys are mappings in mappings."""
        if not isinstance(document, dict):
            return document
        nested: dict[Any, Any] = {key: document[key] for key in document if not _is_dotted(key)}
        for name in filter(_is_dotted, document):
            part, _, key = name.partition(".")
            place = nested[part] = dict(nested.get(part) or {})
            if key in place:
                raise ValueError(
                    f"{name}: is set twice, also as `{part}: {{{key}: …}}`. Set it once"
                )
            place[key] = document[name]
        return nested


class Overrides(ShownOverrides):
    """The keys that a run may change; promises, roles, partition and form are the spec's alone."""

    source: SourceOverrides = SourceOverrides()


def _is_dotted(key: Any) -> bool:
    """Decide whether a key is one of the dotted ones that a deployment's parameters may have."""
    return isinstance(key, str) and tuple(key.split(".")) in _DOTTED


def read_overrides(settings: Mapping[str, str]) -> Overrides:
    """Return overrides from `key=value` settings; keys are dotted, values are YAML.

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
                raise SpecError(
                    f"--set {name}: {parent} is also set as a whole. Set one of the two"
                )
        try:
            place[last] = parse_yaml(text)
        except NestingError as error:
            raise SpecError(f"--set {name}: the value is {error}") from None
        except (yaml.YAMLError, ValueError) as error:
            raise SpecError(
                f"--set {name}: the value cannot be read: {yaml_fault(error)}"
            ) from None
    try:
        return Overrides.model_validate(document)
    except ValidationError as error:
        hint = " (only source, publish, evaluate and `approval: required` can be overridden)"
        raise SpecError(
            f"--set {readable(error, document, Overrides.model_json_schema())}{hint}"
        ) from None
