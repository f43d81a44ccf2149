"""What a reader comes to trust: the keys of a file, or those that a line offers."""

from collections.abc import Mapping
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from sfumato.expectations.errors import InputError, SpecError
from sfumato.tasks.authorship.keys import PublicKey, fingerprint
from sfumato.tasks.authorship.offers import KEYS_FILE, read_offers
from sfumato.tasks.authorship.trust import Pattern, read_trust, write_trust
from sfumato.tasks.schema.files import read_json

_PATTERN = TypeAdapter(Pattern)


def trust_offered(
    place: Path, pattern: str | None, wanted: str | None, environ: Mapping[str, str]
) -> list[tuple[str, PublicKey]]:
    """Add keys to the reader's trust file; with them, what their line says was revoked.

    Args:
        place: a line's public directory, or the file of a public key.
        pattern: of the lines for which they are trusted; a directory's own line where it is None.
        wanted: the fingerprint of the one key to be trusted, all that are offered where it is None.
        environ: the reader's.

    Returns:
        The pattern with each key.

    Raises:
        SpecError: where the pattern is missing or none.
        InputError: where no such key is offered, or a file cannot be read.
        PromiseError: where the line's keys cannot be read.
    """
    line, keys, revoked = _offered(place)
    pattern = read_pattern(pattern or line)
    chosen = [
        key
        for key in keys
        if key.public not in revoked and wanted in (None, fingerprint(key.public))
    ]
    if not chosen:
        raise InputError(f"{place}: offers no such key")
    write_trust(read_trust(environ).with_keys(pattern, chosen, revoked), environ)
    return [(pattern, key) for key in chosen]


def _offered(place: Path) -> tuple[str | None, tuple[PublicKey, ...], frozenset[str]]:
    """The line, the keys, and which of them were revoked."""
    if not place.is_dir():
        return None, (read_exported(place),), frozenset()
    offered = read_offers(place)
    if offered is None:
        raise InputError(f"{place}: no keys here ({KEYS_FILE} is missing)")
    return offered.line, offered.keys, offered.revoked()


def read_exported(place: Path) -> PublicKey:
    """The public key in a file that `sfumato keys export` printed.

    Raises:
        InputError: where it is none.
    """
    try:
        return PublicKey.model_validate(read_json(place))
    except (ValidationError, ValueError, OSError):
        raise InputError(f"{place}: is no public key and no line's directory") from None


def read_pattern(text: str | None) -> str:
    """A line's name, or a pattern of names.

    Raises:
        SpecError: where it is missing or none.
    """
    if text is None:
        raise SpecError("--line: say for which lines the key is trusted, such as hospital-*")
    try:
        return _PATTERN.validate_python(text)
    except ValidationError:
        raise SpecError(f"--line {text!r}: is no line's name, and no pattern of names") from None
