"""A line's memory of its versions: state.json, in all formats that were ever written.

    0   versions, and the one that was about to appear
    1   a counter that grows with every change, which the public record repeats: so that an old
        backup put back is noticed; the mark by which the public record knew the line before its
        key was changed
    2   of each version the SHA-256 of its private map, and whether it continues the one before
    3   of each version whether its units and rows are kept in their normal forms, too

Older formats are read as the newest. What was written in one stays beside the state, in a file such
as `state.format-0.json`, when the line is first continued, so that older software can be given back
its own.
"""

import json
from datetime import date
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.schema.files import parse_json, read_bytes
from sfumato.tasks.schema.formats import read_content, require_readable

STATE = "state.json"
_FORMAT = 3


class PublishedVersion(BaseModel):
    """A version in the line's memory: its rows and spec as digests, its map by its SHA-256.

    `units_normal` and `rows_normal` say that its units and rows are kept in their normal forms.
    `unmeasured` is only true of a version that is about to be published: its accuracy is to be
    measured before it is current.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    rows: str
    spec: str
    digest: str
    units: bool
    map: str | None = None
    composed: bool = False
    as_of: date | None = None
    units_normal: bool = Field(default=False, exclude_if=lambda is_normal: not is_normal)
    rows_normal: bool = Field(default=False, exclude_if=lambda is_normal: not is_normal)
    unmeasured: bool = Field(default=False, exclude_if=lambda is_unmeasured: not is_unmeasured)


class LineState(BaseModel):
    """Every version that the line published, and the one that it was about to publish, if any."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    format: Literal[3] = 3
    counter: int = 0
    former_mark: str | None = None
    versions: dict[str, PublishedVersion] = {}
    pending: tuple[str, PublishedVersion] | None = None


def last_digest(state: LineState) -> str | None:
    """Return the digest of a line's last version, or None if it has none."""
    return state.versions[max(state.versions)].digest if state.versions else None


def read_state(line: Path) -> LineState:
    """Read a line's memory of its versions.

    Raises:
        InputError: where newer software wrote it.
        PromiseError: where it is no line's state.
    """
    place = line / STATE
    content = read_content(place, "a line's state")
    return LineState() if content is None else parse_state(place, content)


def parse_state(place: Path, content: bytes) -> LineState:
    """Return a line's state as it is written; `place` is for messages.

    Raises:
        InputError: where newer software wrote it.
        PromiseError: where it is no line's state.
    """
    try:
        document = parse_json(content)
        if isinstance(document, dict):
            require_readable(place, document, _FORMAT)
            document = {**document, "format": _FORMAT}
        return LineState.model_validate(document)
    except (ValidationError, ValueError):
        raise PromiseError(
            f"{place}: cannot be read as a line's state. Restore it from a backup: sfumato "
            "line restore SPEC FILE"
        ) from None


def write_state(line: Path, state: LineState) -> None:
    """Replace the line's state; a state in an older format is kept beside it."""
    _keep_older_format(line)
    write_atomically(line / STATE, state.model_dump_json(exclude_none=True).encode())


def _keep_older_format(line: Path) -> None:
    place = line / STATE
    if place.exists():
        content = read_bytes(place)
        written = json.loads(content).get("format", 0)
        if written != _FORMAT:
            write_atomically(line / f"state.format-{written}.json", content)
