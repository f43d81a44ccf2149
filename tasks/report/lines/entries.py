"""Lines as their pages, feeds and metadata show them: what is public of them, and nothing else."""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from uuid import NAMESPACE_URL, uuid5

from sfumato.tasks.report.lines.described import DescribedVersion
from sfumato.tasks.terms.line_words import LineWords
from sfumato.tasks.terms.tombstone import Tombstone

_NEVER = "1970-01-01T00:00:00+00:00"


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
