"""Addresses in a spec: `${NAME}` comes from the environment, and so does any secret."""

import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote, unquote

from sfumato.expectations.shared.errors import SpecError

UNSAFE_ADDRESS = (
    r"^[^/?#]*:/+"
    r"([^/?#@]*:(?!\$\{\w+\}@)[^@]*[^@/]@|.*[?&]([A-Za-z_]*(pass(word|wd)?|pwd|secret|token))="
    r"(?!\$\{\w+\}(&|$)))"
)
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_USER = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*://[^/?#@]*@")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")


def variables_in(uri: str) -> list[str]:
    """Return the variables of the environment that an address names.

    >>> variables_in("postgresql://${DB_USER}:${DB_PASSWORD}@db/clinic")
    ['DB_USER', 'DB_PASSWORD']
    """
    return _VARIABLE.findall(uri)


def holds_secret(uri: str) -> bool:
    """Return whether an address contains a password itself, and not as `${NAME}`.

    >>> holds_secret("postgresql://me:hunter2@db/clinic")
    True
    >>> holds_secret("jdbc:postgresql://me:hunter2@db/clinic")
    True
    >>> holds_secret("postgresql://me:${DB_PASSWORD}@db/clinic?sslmode=require")
    False
    """
    return re.match(UNSAFE_ADDRESS, uri, re.IGNORECASE) is not None


def resolve(uri: str, environ: Mapping[str, str]) -> str:
    """Return the address with its variables replaced; a user's name and password are quoted.

    >>> resolve("postgresql://me:${PW}@db/x", {"PW": "a/b@c"})
    'postgresql://me:a%2Fb%40c@db/x'

    Raises:
        SpecError: for a variable that is not set.
    """
    user = _USER.match(uri)
    end = user.end() if user else 0

    def value(match: re.Match[str]) -> str:
        if match[1] not in environ:
            raise SpecError(f"{uri}: the environment variable {match[1]} is not set. Set it")
        text = environ[match[1]]
        return quote(text, safe="") if match.start() < end else text

    return _VARIABLE.sub(value, uri)


def scheme_of(address: str) -> str | None:
    """Return the scheme of an address in lower case, None for a path.

    >>> scheme_of("S3://bucket/key"), scheme_of("people.csv")
    ('s3', None)
    """
    match = _SCHEME.match(address)
    return match[1].lower() if match else None


def local_path(uri: str, base: Path, environ: Mapping[str, str]) -> Path:
    """Return the path that an address means on this machine.

    Raises:
        SpecError: for a variable that is not set, or an address that is no path.
    """
    address = resolve(uri, environ)
    scheme = scheme_of(address)
    if scheme is None:
        return (base / address).absolute()  # `a:b` would be an address to Arrow
    if scheme != "file":
        raise SpecError(f"{uri}: an address with {scheme}:// does not work here. Use a path")
    path = re.sub(r"^[^:]+://(localhost(?=/))?", "", address)
    if not path.startswith("/"):
        raise SpecError(
            f"{uri}: a file:// address needs an absolute path on this machine, such as "
            "file:///data/table.csv"
        )
    return Path(unquote(path))
