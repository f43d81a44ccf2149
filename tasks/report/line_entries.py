"""Lines as their pages, feeds and metadata show them: what is public of them, and nothing else."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from sfumato.tasks.schema.stated import CodeLabels, PublishedWords, link_of
from sfumato.tasks.terms.line_words import LineWords
from sfumato.tasks.terms.tombstone import Tombstone

_NEVER = "1970-01-01T00:00:00+00:00"
NO_LABELS = CodeLabels(codes={})
_FACTS = ("publisher", "contact", "licence")


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


@dataclass(frozen=True)
class VersionEntry:
    """A version of a line.

    Attributes:
        number: of it.
        state: `current`, `superseded`, `withdrawn`, or `pending` until its accuracy was measured.
        digest: of its manifest.
        time: when it was published.
        as_of: the day of which it tells, where that is said.
        tombstone: what stands in its place, where it was withdrawn and says why.
        approvals: whose keys approved it, and why, where somebody was asked.
        warnings: why it may be of no use.
        accuracy: how accurate its answers are, in words.
        signature: who signed it, and with which key, in words; None where nobody did.
        described: what its manifest tells, where that was read.
    """

    number: str
    state: str
    digest: str
    time: str
    as_of: date | None = None
    tombstone: Tombstone | None = None
    approvals: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    accuracy: tuple[str, ...] = ()
    signature: str | None = None
    described: DescribedVersion | None = None

    @property
    def published(self) -> str:
        """When it was published, as feeds write it."""
        return rfc3339(self.time)

    @property
    def updated(self) -> str:
        """When it was published or withdrawn, as feeds write it."""
        return self.published if self.tombstone is None else rfc3339(self.tombstone.time)

    @property
    def day(self) -> str:
        """The day on which it was published."""
        return self.published[:10]

    @property
    def urn(self) -> str:
        """A name for it that no other version has."""
        return urn_of(self.digest)


@dataclass(frozen=True)
class LineEntry:
    """A line with at least one version.

    Attributes:
        name: of it, and of its directory.
        title: what it is called.
        words: what else is said of it.
        versions: the latest first.
    """

    name: str
    title: str
    words: LineWords
    versions: tuple[VersionEntry, ...]

    @property
    def current(self) -> VersionEntry | None:
        """The version that is current, None where none is."""
        return next((one for one in self.versions if one.state == "current"), None)

    @property
    def withdrawn(self) -> int:
        """How many versions were withdrawn."""
        return sum(one.state == "withdrawn" for one in self.versions)

    @property
    def updated(self) -> str:
        """When a version was last published or withdrawn."""
        return max(one.updated for one in self.versions)

    @property
    def since(self) -> str:
        """When the first version was published."""
        return self.versions[-1].published

    @property
    def urn(self) -> str:
        """A name that the line keeps: it comes from its first version."""
        return urn_of(f"line {self.versions[-1].digest}")


def rfc3339(time: str) -> str:
    """A time as feeds write it, in UTC; the beginning of time where it is none."""
    try:
        moment = datetime.fromisoformat(time)
    except ValueError:
        return _NEVER
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC).isoformat(timespec="seconds")


def urn_of(name: str) -> str:
    """A name that is always the same for the same text, and unlike that of any other."""
    return uuid5(NAMESPACE_URL, f"sfumato {name}").urn


@dataclass(frozen=True)
class SaidWords:
    """The words of a line.

    Attributes:
        paragraphs: its description.
        facts: publisher, contact and licence, each as a text and the address behind it.
        columns: what is said of columns by name, where no codebook has it.
        labels: what codes mean by column, there, too.
    """

    paragraphs: tuple[str, ...]
    facts: tuple[tuple[str, tuple[str, str | None]], ...]
    columns: tuple[tuple[str, str], ...] = ()
    labels: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()


def said_of_line(words: PublishedWords, *, codebook: bool) -> SaidWords | None:
    """The words that are said of the line, None where none are.

    Args:
        words: of the version.
        codebook: whether the page has one, which says what is said of columns.
    """
    paragraphs = tuple(p for p in (words.description or "").split("\n\n") if p.strip())
    told = [(name, getattr(words, name)) for name in _FACTS]
    facts = tuple((name.title(), (text, link_of(text))) for name, text in told if text)
    columns = () if codebook else tuple(sorted(words.columns.items()))
    labels = () if codebook else tuple((c, labels_in_order(of)) for c, of in _sorted(words))
    found = SaidWords(paragraphs, facts, columns, labels)
    return found if found != SaidWords((), ()) else None


def labels_in_order(of: CodeLabels) -> tuple[tuple[str, str], ...]:
    """Codes with their labels: whole numbers first and as numbers, then texts."""
    return tuple(sorted(of.codes.items(), key=lambda pair: _place(pair[0])))


def _place(code: str) -> tuple[bool, int, str]:
    number = re.fullmatch(r"-?[0-9]+", code, re.ASCII) is not None
    return not number, int(code) if number else 0, code


def _sorted(words: PublishedWords) -> list[tuple[str, CodeLabels]]:
    return sorted(words.labels.items())
