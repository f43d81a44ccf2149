"""The owner's own expectations: of columns that are there, and of their types."""

from collections.abc import Callable, Mapping
from difflib import get_close_matches

from sfumato.expectations.rules.owned import OwnedRule
from sfumato.flows.rules.spec_parts import SpecParts


def _expectations(spec: SpecParts) -> None:
    owned = spec.expectations
    if spec.parts is not None and owned.model_fields_set:
        raise ValueError(
            "expectations: check whole tables, and a release in parts never reads a whole "
            "table. Leave expectations out, or leave parts out"
        )
    source = {name: str(column.type) for name, column in spec.columns.items()}
    _hold("source", owned.source, source)
    _hold("release", owned.release, _published_types(spec))


def _published_types(spec: SpecParts) -> dict[str, str]:
    """Return the type of each published column; labels are texts."""
    labels = spec.names_with_roles("quasi-identifier") if spec.form.recodes else []
    names = spec.names_with_roles("quasi-identifier", "insensitive", "sensitive")
    return {name: "string" if name in labels else str(spec.columns[name].type) for name in names}


def _hold(part: str, rules: tuple[OwnedRule, ...], types: Mapping[str, str]) -> None:
    for i, rule in enumerate(rules):
        place = f"expectations.{part}.{i}.{rule.type}"
        for name in rule.arguments.columns:
            if name not in types:
                near = get_close_matches(name, types, 1)
                hint = f"; did you mean {near[0]}?" if near else ""
                raise ValueError(f"{place}: the {part} has no column {name!r}{hint}")
            if rule.arguments.kinds and types[name] not in rule.arguments.kinds:
                kinds = ", ".join(sorted(rule.arguments.kinds))
                raise ValueError(
                    f"{place}: column {name!r} has type {types[name]}, and this "
                    f"expectation needs {kinds}"
                )


RULES: tuple[Callable[[SpecParts], None], ...] = (_expectations,)
