"""Addresses of databases to fill: read, and shown without accounts and passwords."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import parse_qsl, unquote, urlsplit


@dataclass(frozen=True)
class Address:
    """The address of a database: `scheme://user:password@host:port/database?option=value`.

    Attributes:
        scheme: the database's kind.
        database: its name; the path of one that is a file.
        host: the server; None where the address names none.
        port: its port; None for the usual one.
        user: the account; None where the address names none.
        password: its password.
        options: what else the driver is told.
    """

    scheme: str
    database: str
    host: str | None = None
    port: int | None = None
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    options: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, text: str) -> Self:
        """Read an address; `%xx` in accounts and options is the character that it stands for.

        Raises:
            ValueError: if it is none.

        >>> Address.read("duckdb:////srv/releases.db").database
        '/srv/releases.db'
        """
        parts = urlsplit(text, allow_fragments=False)
        return cls(
            parts.scheme,
            parts.path.removeprefix("/"),
            parts.hostname,
            parts.port,
            None if parts.username is None else unquote(parts.username),
            None if parts.password is None else unquote(parts.password),
            dict(parse_qsl(parts.query, keep_blank_values=True)),
        )

    def name_in_messages(self) -> str:
        """Return the name of the database in messages, without account, password and options.

        >>> Address.read("mariadb://me:secret@db:3307/releases?password=secret").name_in_messages()
        'mariadb://db:3307/releases'
        """
        host = (self.host or "") + (f":{self.port}" if self.port else "")
        return f"{self.scheme}://{host}/{self.database}"

    def account(self) -> dict[str, str | int]:
        """Return what the address says of server and account, under the names of most drivers."""
        named = {
            "host": self.host,
            "port": self.port,
            "user": self.user,
            "password": self.password,
        }
        return {name: value for name, value in named.items() if value is not None}
