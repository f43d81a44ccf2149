"""What was chosen once for a line, where its spec leaves that to be chosen.

    <line>/choices.json   by the digest of the terms that wish it, what was chosen (0600)

It is kept as soon as it is chosen, and later versions use it. Nothing in it is about a person: it
names a partition, strata and a form as a release declares them.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.private.workdir import state_lock
from sfumato.tasks.schema.formats import read_document

CHOICES = "choices.json"
_FORMAT = 1


class FrozenChoices(BaseModel):
    """What was chosen, by the digest of the terms that wish it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    chosen: Mapping[str, Mapping[str, Any]] = {}


def read_choice(line: Path, wish: str) -> Mapping[str, Any] | None:
    """What was chosen for terms with this digest, None where nothing was.

    Raises:
        InputError: where newer software wrote it.
        PromiseError: where it cannot be read.
    """
    return _read(line).chosen.get(wish)


def keep_choice(line: Path, wish: str, choice: Mapping[str, Any]) -> Mapping[str, Any]:
    """Keep what was chosen, unless another run has chosen meanwhile; what is kept is returned."""
    with state_lock(line):
        known = _read(line)
        if wish not in known.chosen:
            known = FrozenChoices(chosen={**known.chosen, wish: choice})
            write_atomically(line / CHOICES, known.model_dump_json().encode())
        return known.chosen[wish]


def _read(line: Path) -> FrozenChoices:
    found = read_document(line / CHOICES, FrozenChoices, _FORMAT, "the choices of a line")
    return found or FrozenChoices()
