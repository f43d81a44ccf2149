"""What the manifest of a version tells of it, as pages and metadata of its line show it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class DescribedFile:
    """A file of a version: its path in the version's directory, media type, bytes and SHA-256."""

    path: str
    mediatype: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class DescribedVersion:
    """A version, as its manifest describes it.

    Attributes:
        rows: that are published.
        groups: of the tables, the most that a promise speaks of; None where none says it.
        promises: each in one line.
        columns: what is declared of each, by name.
        software: its versions, by name.
        files: all but the manifest and its signature.
    """

    rows: int
    groups: int | None
    promises: tuple[str, ...]
    columns: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    software: Mapping[str, str] = field(default_factory=dict)
    files: tuple[DescribedFile, ...] = ()


def describe_version(manifest: Mapping[str, Any]) -> DescribedVersion:
    """What a manifest that was read tells.

    Raises:
        KeyError, TypeError: where it is none.
    """
    stated = manifest["sfumato"]
    groups = [one["groups"] for one in stated["observed"] if "groups" in one]
    return DescribedVersion(
        rows=int(stated["rows"]["published"]),
        groups=max(groups, default=None),
        promises=tuple(_promise(one) for one in stated["promises"]),
        columns={column["name"]: column for column in stated["columns"]},
        software=dict(stated["software"]),
        files=tuple(_file(one) for one in manifest["resources"]),
    )


def _promise(stated: Mapping[str, Any]) -> str:
    """A promise in one line.

    >>> _promise({"model": "ke-anonymity", "k": 3, "e": "10.5", "quasi-identifiers": ["age"]})
    'ke-anonymity (e 10.5, k 3; quasi-identifiers age)'
    """
    told = {key: value for key, value in sorted(stated.items()) if key != "model"}
    plain = [f"{key} {value}" for key, value in told.items() if not isinstance(value, list | dict)]
    lists = [f"{key} {_listed(value)}" for key, value in told.items() if isinstance(value, list)]
    within = "; ".join(filter(None, [", ".join(plain), *lists]))
    return f"{stated['model']} ({within})" if within else str(stated["model"])


def _listed(values: list[Any]) -> str:
    return ", ".join(map(str, values)) or "none"


def _file(resource: Mapping[str, Any]) -> DescribedFile:
    return DescribedFile(
        str(resource["path"]),
        str(resource["mediatype"]),
        int(resource["bytes"]),
        str(resource["hash"]).removeprefix("sha256:"),
    )
