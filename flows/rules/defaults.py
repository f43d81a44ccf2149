"""Better defaults, by the version of a spec; they are resolved when the spec is read.

`version: 1` keeps meaning what it meant: the models' own defaults are its defaults. A later version
lists here every key that it understands otherwise where the spec leaves it out. The version is not
among the terms of a release; the parameters that it resolves to are.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

SpecVersion = Literal[1, 2]
VERSIONS: tuple[SpecVersion, ...] = get_args(SpecVersion)
WORDS = (
    "which defaults apply. Version 2 has better defaults; version 1 keeps its old ones "
    "(sfumato schema lists the differences under allOf)"
)

Document = Mapping[str, Any]


@dataclass(frozen=True)
class Default:
    """Value of a key of a spec's part if the spec leaves the key out.

    Attributes:
        part: the key of the part: partition, form.
        method: the part's method.
        key: the part's key.
        value: as a spec writes it.
        where: a test of documents that the default applies to; None for all.
        condition: the same in words.
    """

    part: str
    method: str
    key: str
    value: Any
    where: Callable[[Document], bool] | None = None
    condition: str = ""

    def holds(self, document: Document) -> bool:
        """Return True if a document has the part and leaves the key out."""
        part = document.get(self.part)
        if not isinstance(part, Mapping) or part.get("method") != self.method or self.key in part:
            return False
        return self.where is None or self.where(document)


def _spreads_own_values(document: Document) -> bool:
    """Return True if each group shows its own distribution, whose ratios can then be exact.

    Of any other target, ratios of counts rarely divide one another, and exact ones would leave most
    values at the root of the tree.
    """
    partition, promises = document.get("partition"), document.get("promises")
    if not isinstance(partition, Mapping) or partition.get("method") != "stratum":
        return False
    targets = [
        (promise.get("target"), promise.get("per", "stratum"))
        for promise in (promises if isinstance(promises, list | tuple) else ())
        if isinstance(promise, Mapping) and promise.get("model") == "p-privacy"
    ]
    return targets == [("source", "stratum")]


BETTER: Mapping[SpecVersion, tuple[Default, ...]] = {
    2: (
        Default("partition", "ke", "objective", "weighted"),
        Default(
            *("form", "redistributed", "denominator", "exact"),
            where=_spreads_own_values,
            condition="for partition stratum, if the target is the stratum's own distribution",
        ),
    ),
}


def resolve(document: Any) -> Any:
    """Return a spec with the defaults of its version written out; anything else unchanged."""
    if not isinstance(document, Mapping) or document.get("version") not in VERSIONS:
        return document
    resolved = dict(document)
    for default in BETTER.get(document["version"], ()):
        if default.holds(document):
            resolved[default.part] = {**resolved[default.part], default.key: default.value}
    return resolved


def default_schemas() -> Iterator[dict[str, Any]]:
    """Yield JSON Schemas that state the defaults of versions after the first."""
    for version, defaults in BETTER.items():
        for default in defaults:
            words = f"version {version}{': ' if default.condition else ''}{default.condition}"
            default_schema = {"default": default.value, "description": words}
            method = {"method": {"const": default.method}}
            yield {
                "if": _all_of({"version": {"const": version}, default.part: _all_of(method)}),
                "then": {
                    "properties": {default.part: {"properties": {default.key: default_schema}}}
                },
            }


def _all_of(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"properties": dict(properties), "required": list(properties)}
