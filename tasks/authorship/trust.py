"""The reader's trust file: whose releases a reader takes, by names of lines or patterns of them.

    $XDG_CONFIG_HOME/sfumato/trust.json

What is here was put here by the reader; nothing that a publisher offers adds to it.
"""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from sfumato.expectations.errors import InputError
from sfumato.tasks.authorship.keys import Public, PublicKey, Strict, fingerprint
from sfumato.tasks.declaration.canonical import canonical_json
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.schema.files import read_json

Pattern = Annotated[str, Field(pattern=r"^[a-z0-9*?-]{1,63}$")]


class Trust(Strict):
    """The content of the trust file."""

    format: Literal[1] = 1
    lines: dict[Pattern, tuple[PublicKey, ...]] = Field(default_factory=dict)
    revoked: tuple[Public, ...] = ()

    def of_line(self, name: str) -> dict[str, PublicKey]:
        """The keys that are trusted for a line, by what verifies; empty where it is not listed."""
        matching = (keys for pattern, keys in self.lines.items() if fnmatchcase(name, pattern))
        return {key.public: key for keys in matching for key in keys}

    def with_keys(
        self, pattern: str, keys: Iterable[PublicKey], revoked: Iterable[str] = ()
    ) -> "Trust":
        """With more keys for the lines of a pattern, and with keys that were revoked."""
        known = self.lines.get(pattern, ())
        lines = {**self.lines, pattern: (*known, *(key for key in keys if key not in known))}
        return Trust(lines=lines, revoked=tuple(sorted({*self.revoked, *revoked})))

    def without(self, wanted: str) -> tuple["Trust", list[PublicKey]]:
        """Without the key that has a fingerprint, and that key where it was there."""
        gone = {
            key.public: key
            for keys in self.lines.values()
            for key in keys
            if fingerprint(key.public) == wanted
        }
        kept = {
            pattern: tuple(key for key in keys if key.public not in gone)
            for pattern, keys in self.lines.items()
        }
        lines = {pattern: keys for pattern, keys in kept.items() if keys}
        return self.model_copy(update={"lines": lines}), list(gone.values())


def trust_file(environ: Mapping[str, str]) -> Path:
    """The place of the trust file."""
    config = environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(config) / "sfumato" / "trust.json"


def read_trust(environ: Mapping[str, str]) -> Trust:
    """Whom the reader trusts; nobody where there is no file.

    Raises:
        InputError: where the file cannot be read: a reader who trusts somebody is not told that
            nobody is trusted.
    """
    return read_trust_at(trust_file(environ))


def read_trust_at(place: Path) -> Trust:
    """The same of any trust file.

    Raises:
        InputError: where the file cannot be read.
    """
    try:
        return Trust.model_validate(read_json(place))
    except FileNotFoundError:
        return Trust()
    except (ValidationError, ValueError, OSError):
        raise InputError(f"{place}: cannot be read as a trust file") from None


def write_trust(trust: Trust, environ: Mapping[str, str]) -> None:
    """Replace the trust file.

    Raises:
        InputError: where it cannot be written.
    """
    write_trust_at(trust_file(environ), trust)


def write_trust_at(place: Path, trust: Trust) -> None:
    """The same of any trust file.

    Raises:
        InputError: where it cannot be written.
    """
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(place, canonical_json(trust.model_dump(mode="json")), mode=0o600)
    except OSError as error:
        raise InputError(f"{place}: cannot be written ({error.strerror})") from None
