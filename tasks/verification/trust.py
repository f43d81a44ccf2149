"""The reader's trust file: the keys that a reader trusts, by names of lines or patterns of them.

    $XDG_CONFIG_HOME/sfumato/trust.json

Only the reader adds to this file; no offer of a publisher does.
"""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from sfumato.expectations.machine.fault import with_remedies
from sfumato.expectations.shared.errors import InputError, SpecError
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.schema.files import canonical_json, read_json
from sfumato.tasks.verification.offered_keys import KEYS_FILE, read_offers
from sfumato.tasks.verification.signing_keys import Public, PublicKey, Strict, fingerprint

Pattern = Annotated[str, Field(pattern=r"^[a-z0-9*?-]{1,63}$")]
_PATTERN = TypeAdapter(Pattern)


class Trust(Strict):
    """The content of the trust file."""

    format: Literal[1] = 1
    lines: dict[Pattern, tuple[PublicKey, ...]] = Field(default_factory=dict)
    revoked: tuple[Public, ...] = ()

    def of_line(self, name: str) -> dict[str, PublicKey]:
        """Return the keys trusted for a line, by public bytes; {} if it is not listed."""
        matching = (keys for pattern, keys in self.lines.items() if fnmatchcase(name, pattern))
        return {key.public: key for keys in matching for key in keys}

    def with_keys(
        self, pattern: str, keys: Iterable[PublicKey], revoked: Iterable[str] = ()
    ) -> "Trust":
        """Return a copy with more keys for the lines of a pattern, and more revoked keys."""
        present = self.lines.get(pattern, ())
        lines = {**self.lines, pattern: (*present, *(key for key in keys if key not in present))}
        return Trust(lines=lines, revoked=tuple(sorted({*self.revoked, *revoked})))

    def remove_key(self, fingerprint_to_remove: str) -> tuple["Trust", list[PublicKey]]:
        """Return a copy without the keys that have a fingerprint, and the removed keys."""
        gone = {
            key.public: key
            for keys in self.lines.values()
            for key in keys
            if fingerprint(key.public) == fingerprint_to_remove
        }
        remaining = {
            pattern: tuple(key for key in keys if key.public not in gone)
            for pattern, keys in self.lines.items()
        }
        lines = {pattern: keys for pattern, keys in remaining.items() if keys}
        return self.model_copy(update={"lines": lines}), list(gone.values())


def trust_file(environ: Mapping[str, str]) -> Path:
    """Return the place of the trust file."""
    config = environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(config) / "sfumato" / "trust.json"


def read_trust(environ: Mapping[str, str]) -> Trust:
    """Return the reader's trust; it is empty if there is no file.

    Raises:
        InputError: where the file cannot be read, because a reader who trusts somebody must not get
            an empty trust.
    """
    return read_trust_at(trust_file(environ))


def read_trust_at(place: Path) -> Trust:
    """Return the content of any trust file.

    Raises:
        InputError: where the file cannot be read.
    """
    try:
        return Trust.model_validate(read_json(place))
    except FileNotFoundError:
        return Trust()
    except (ValidationError, ValueError, OSError):
        raise InputError(
            f"{place}: cannot be read as the list of trusted keys. Restore it from a backup"
        ) from None


def write_trust(trust: Trust, environ: Mapping[str, str]) -> None:
    """Replace the trust file.

    Raises:
        InputError: where it cannot be written.
    """
    write_trust_at(trust_file(environ), trust)


def write_trust_at(place: Path, trust: Trust) -> None:
    """Replace any trust file.

    Raises:
        InputError: where it cannot be written.
    """
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(place, canonical_json(trust.model_dump(mode="json")), mode=0o600)
    except OSError as error:
        raise InputError(with_remedies(f"{place}: cannot be written", error)) from None


def trust_offered(
    place: Path, pattern: str | None, fingerprint_to_trust: str | None, environ: Mapping[str, str]
) -> list[tuple[str, PublicKey]]:
    """Add keys to the reader's trust file, and the revocations that their line publishes.

    Args:
        place: a line's public directory, or the file of a public key.
        pattern: of the lines for which they are trusted; a directory's own line where it is None.
        fingerprint_to_trust: the fingerprint of the one key to be trusted, None for all that are
            offered.
        environ: the reader's.

    Returns:
        The pattern with each key.

    Raises:
        SpecError: where the pattern is missing or none.
        InputError: where no such key is offered, or a file cannot be read.
        PromiseError: where the line's keys cannot be read.
    """
    line, keys, revoked = _read_offered(place)
    pattern = read_pattern(pattern or line)
    chosen = [
        key
        for key in keys
        if key.public not in revoked and fingerprint_to_trust in (None, fingerprint(key.public))
    ]
    if not chosen:
        raise InputError(f"{place}: does not offer such a key. Check the fingerprint")
    write_trust(read_trust(environ).with_keys(pattern, chosen, revoked), environ)
    return [(pattern, key) for key in chosen]


def _read_offered(place: Path) -> tuple[str | None, tuple[PublicKey, ...], frozenset[str]]:
    """Return the line, its keys, and the public bytes of those that were revoked."""
    if not place.is_dir():
        return None, (read_exported(place),), frozenset()
    offered = read_offers(place)
    if offered is None:
        raise InputError(
            f"{place}: has no keys ({KEYS_FILE} is missing). Give a line's public "
            "directory, or a file from `sfumato keys export`"
        )
    return offered.line, offered.keys, offered.revoked_keys()


def read_exported(place: Path) -> PublicKey:
    """Return the public key in a file that `sfumato keys export` printed.

    Raises:
        InputError: where it is none.
    """
    try:
        return PublicKey.model_validate(read_json(place))
    except (ValidationError, ValueError, OSError):
        raise InputError(
            f"{place}: is neither a public key nor a line's directory. Give a line's "
            "public directory, or a file from `sfumato keys export`"
        ) from None


def read_pattern(text: str | None) -> str:
    """Return a line's name, or a pattern of names.

    Raises:
        SpecError: where it is missing or none.
    """
    if text is None:
        raise SpecError(
            "--line: is missing. Name the lines for which you trust the key, such as hospital-*"
        )
    try:
        return _PATTERN.validate_python(text)
    except ValidationError:
        raise SpecError(
            f"--line {text!r}: is neither a line's name nor a pattern such as hospital-*"
        ) from None
