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
    """Keep what is not shown while a run of this process takes what is, and yield that."""
    _hidden.append(overrides.source)
    try:
        document = overrides.model_dump(exclude_unset=True, by_alias=True)
        source = document.get("source", {})
        shown = {key: source[key] for key in source if key in ShownSourceOverrides.model_fields}
        yield ShownOverrides.model_validate({**document, "source": shown})
    finally:
        _hidden.pop()


def whole(shown: ShownOverrides | None) -> Overrides:
    """The overrides of a run with what is hidden in this process."""
    document = (shown or ShownOverrides()).model_dump(exclude_unset=True, by_alias=True)
    for source in _hidden[-1:]:
        kept = source.model_dump(exclude_unset=True, by_alias=True)
        document["source"] = {**document.get("source", {}), **kept}
    return Overrides.model_validate(document)
