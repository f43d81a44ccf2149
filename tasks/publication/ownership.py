"""Whether a public directory and a private state belong together, and know the same versions.

The public record repeats a keyed mark of the private line, and a counter that grows with every
change of its state. So another work directory, and a state put back from an old backup, are noticed
before anything is decided with them.
"""

import hmac

from sfumato.expectations.errors import PromiseError
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.private.keys import line_key
from sfumato.tasks.private.state import LineState, read_state, write_state
from sfumato.tasks.publication.line import Line
from sfumato.tasks.publication.versions import RECORD, Record, read_record, write_record
from sfumato.tasks.schema.files import read_bytes

_RESTORE = "put back the line's private state (sfumato line restore)"


def owner_mark(secret: bytes) -> str:
    """What the public record knows of a private line: keyed, so that nobody else can claim it."""
    return hmac.digest(secret, b"owner of the public record", "sha256").hex()


def with_change(state: LineState, record: Record, line: Line) -> tuple[LineState, Record]:
    """State and record after one more change of the state, the record in the line's name."""
    counter = max(state.counter, record.counter) + 1
    mark = owner_mark(line_key(line.private))
    return (
        state.model_copy(update={"counter": counter, "former_mark": None}),
        record.model_copy(update={"counter": counter, "owner": mark}),
    )


def take_ownership(line: Line) -> None:
    """Note in the public record that the line's state changed, and by which key it is known now."""
    state, record = with_change(read_state(line.private), read_record(line.public), line)
    replace_record(line, record)
    write_state(line.private, state)


def replace_record(line: Line, record: Record) -> None:
    """Write the public record; what an older format said is kept with the private state."""
    place = line.public / RECORD
    if place.exists():
        older = read_record(line.public).format
        if older != record.lowest_format:
            write_atomically(line.private / f"releases.format-{older}.json", read_bytes(place))
    write_record(line.public, record)


def require_ours(line: Line, state: LineState, record: Record, directories: list[str]) -> None:
    """Refuse to decide about versions that are another line's, or that the state does not know.

    Args:
        line: what publishes.
        state: its private state.
        record: the public record.
        directories: the versions that are there, recorded or not.

    Raises:
        PromiseError: with what to do.
    """
    if record.owner is not None:
        _require_mark(line, state, record.owner)
    if state.counter < record.counter:
        raise PromiseError(
            f"the private state of {line.name} is lost or an old backup, older than its public "
            f"record ({state.counter} < {record.counter}): {_RESTORE}"
        )
    unknown = sorted({*record.versions, *directories} - state.versions.keys())
    if unknown:
        raise PromiseError(f"version {unknown[0]} in {line.public} is not known here: {_RESTORE}")


def _require_mark(line: Line, state: LineState, owner: str) -> None:
    if owner not in (owner_mark(line_key(line.private)), state.former_mark):
        raise PromiseError(
            f"{line.public}: belongs to the private state of another work directory: run there, "
            f"or {_RESTORE}"
        )
