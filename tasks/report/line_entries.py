"""Lines as their pages, feeds and metadata show them: only what is public about them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from sfumato.tasks.report.charts import Chart
from sfumato.tasks.report.utility import MeasuredLevel
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
        rows: the number of published rows.
        related_rows: the number of published rows of a second table, by its name.
        groups: the largest number of groups that a promise observed; None without one.
        promises: the promises, each in one line.
        columns: the declarations of columns, by name.
        software: its versions, by name.
        files: all but the manifest and its signature.
    """

    rows: int
    groups: int | None
    promises: tuple[str, ...]
    columns: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    software: Mapping[str, str] = field(default_factory=dict)
    files: tuple[DescribedFile, ...] = ()
    related_rows: Mapping[str, int] = field(default_factory=dict)


def describe_version(manifest: Mapping[str, Any]) -> DescribedVersion:
    """Return the description of a version that its manifest gives.

    Raises:
        KeyError, TypeError: if it is not a manifest.
    """
    stated = manifest["sfumato"]
    related = stated.get("related_rows")
    groups = [
        observation["groups"] for observation in stated["observed"] if "groups" in observation
    ]
    return DescribedVersion(
        rows=int(stated["rows"]["published"]),
        groups=max(groups, default=None),
        promises=tuple(_promise(promise) for promise in stated["promises"]),
        columns={column["name"]: column for column in stated["columns"]},
        software=dict(stated["software"]),
        files=tuple(_file(resource) for resource in manifest["resources"]),
        related_rows={stated["form"]["related"]: int(related["published"])} if related else {},
    )


def _promise(stated: Mapping[str, Any]) -> str:
    """Return a promise in one line.

    >>> _promise({"model": "ke-anonymity", "k": 3, "e": "10.5", "quasi-identifiers": ["age"]})
    'ke-anonymity (e 10.5, k 3; quasi-identifiers age)'
    """
    parameters = {key: value for key, value in sorted(stated.items()) if key != "model"}
    plain = [
        f"{key} {value}" for key, value in parameters.items() if not isinstance(value, list | dict)
    ]
    lists = [
        f"{key} {_list_text(value)}" for key, value in parameters.items() if isinstance(value, list)
    ]
    within = "; ".join(filter(None, [", ".join(plain), *lists]))
    return f"{stated['model']} ({within})" if within else str(stated["model"])


def _list_text(values: list[Any]) -> str:
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
        number: its number.
        state: `current`, `superseded`, `withdrawn`, or `pending` until its accuracy was measured.
        digest: the digest of its manifest.
        time: the time of its publication.
        as_of: the day that its data describe, if declared.
        tombstone: what replaces it, if it was withdrawn with a reason.
        approvals: the keys that approved it, with reasons, if approval was needed.
        warnings: reasons why it may be of no use.
        accuracy: the accuracy of its answers, in words.
        levels: the same by workload and level.
        charts: the same over an axis, for workloads with several levels.
        signature: the signer and the key, in words; None without a signature.
        described: the content of its manifest, if that was read.
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
    levels: tuple[MeasuredLevel, ...] = ()
    charts: tuple[Chart, ...] = ()
    signature: str | None = None
    described: DescribedVersion | None = None

    @property
    def publication_time(self) -> str:
        """The time of publication, as feeds write it."""
        return rfc3339(self.time)

    @property
    def change_time(self) -> str:
        """The time of publication or withdrawal, as feeds write it."""
        return self.publication_time if self.tombstone is None else rfc3339(self.tombstone.time)

    @property
    def day(self) -> str:
        """The day on which it was published."""
        return self.publication_time[:10]

    @property
    def urn(self) -> str:
        """A name for it that no other version has."""
        return urn_of(self.digest)


@dataclass(frozen=True)
class LineEntry:
    """A line with at least one version.

    Attributes:
        name: its name, and that of its directory.
        title: its title.
        words: further words about it.
        versions: the latest first.
    """

    name: str
    title: str
    words: LineWords
    versions: tuple[VersionEntry, ...]

    @property
    def current(self) -> VersionEntry | None:
        """The current version, or None."""
        return next((version for version in self.versions if version.state == "current"), None)

    @property
    def withdrawn(self) -> int:
        """The number of versions that were withdrawn."""
        return sum(version.state == "withdrawn" for version in self.versions)

    @property
    def last_change(self) -> str:
        """The time of the last publication or withdrawal of a version."""
        return max(version.change_time for version in self.versions)

    @property
    def first_publication(self) -> str:
        """The time at which the first version was published."""
        return self.versions[-1].publication_time

    @property
    def urn(self) -> str:
        """A name that the line keeps: it comes from its first version."""
        return urn_of(f"line {self.versions[-1].digest}")


def rfc3339(time: str) -> str:
    """Return a time as feeds write it, in UTC; the beginning of time for a text that is no time."""
    try:
        moment = datetime.fromisoformat(time)
    except ValueError:
        return _NEVER
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC).isoformat(timespec="seconds")


def urn_of(name: str) -> str:
    """Return a name that is always the same for the same text, and differs for any other text."""
    return uuid5(NAMESPACE_URL, f"sfumato {name}").urn


@dataclass(frozen=True)
class LineWordsEntry:
    """The words of a line.

    Attributes:
        paragraphs: its description.
        facts: publisher, contact and licence, each as a text and the address behind it.
        columns: descriptions of columns by name, if no codebook has them.
        labels: meanings of codes by column, if no codebook has them.
    """

    paragraphs: tuple[str, ...]
    facts: tuple[tuple[str, tuple[str, str | None]], ...]
    columns: tuple[tuple[str, str], ...] = ()
    labels: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()


def words_of_line(words: PublishedWords, *, codebook: bool) -> LineWordsEntry | None:
    """Return the words about the line, or None without any.

    Args:
        words: the words of the version.
        codebook: whether the page has one, which contains the words about columns.
    """
    paragraphs = tuple(p for p in (words.description or "").split("\n\n") if p.strip())
    texts = [(name, getattr(words, name)) for name in _FACTS]
    facts = tuple((name.title(), (text, link_of(text))) for name, text in texts if text)
    columns = () if codebook else tuple(sorted(words.columns.items()))
    labels = (
        ()
        if codebook
        else tuple((c, labels_in_order(code_labels)) for c, code_labels in _sorted_labels(words))
    )
    line_words = LineWordsEntry(paragraphs, facts, columns, labels)
    return line_words if line_words != LineWordsEntry((), ()) else None


def labels_in_order(labels: CodeLabels) -> tuple[tuple[str, str], ...]:
    """Return codes with their labels: whole numbers first and as numbers, then texts."""
    return tuple(sorted(labels.codes.items(), key=lambda pair: _place(pair[0])))


def _place(code: str) -> tuple[bool, int, str]:
    number = re.fullmatch(r"-?[0-9]+", code, re.ASCII) is not None
    return not number, int(code) if number else 0, code


def _sorted_labels(words: PublishedWords) -> list[tuple[str, CodeLabels]]:
    return sorted(words.labels.items())
