"""Overrides that are no parameters of a run: Prefect stores parameters, and these may be secret.

A filter's literals are values of people, and a digest recognises a source. The command line keeps
them in this process; a deployment has no such parameters, and has them changed in its spec.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from sfumato.flows.inputs.overrides import (
    Overrides,
    ShownOverrides,
    ShownSourceOverrides,
    SourceOverrides,
)

_hidden: list[SourceOverrides] = []


@contextmanager
def hide(overrides: Overrides) -> Iterator[ShownOverrides]:
    """Keep the hidden overrides while a run of this process lasts, and yield the visible ones."""
    _hidden.append(overrides.source)
    try:
        document = overrides.model_dump(exclude_unset=True, by_alias=True)
        source = document.get("source", {})
        visible = {key: source[key] for key in source if key in ShownSourceOverrides.model_fields}
        yield ShownOverrides.model_validate({**document, "source": visible})
    finally:
        _hidden.pop()


def whole(visible: ShownOverrides | None) -> Overrides:
    """Return the overrides of a run together with those hidden in this process."""
    document = (visible or ShownOverrides()).model_dump(exclude_unset=True, by_alias=True)
    for source in _hidden[-1:]:
        hidden = source.model_dump(exclude_unset=True, by_alias=True)
        document["source"] = {**document.get("source", {}), **hidden}
    return Overrides.model_validate(document)
