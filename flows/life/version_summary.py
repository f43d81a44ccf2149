"""Summary of a run's result for its owner, in totals that the version publishes itself."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfumato.expectations.shared.errors import SfumatoError
from sfumato.tasks.lines.versions import read_record
from sfumato.tasks.report.numbers import percent
from sfumato.tasks.report.steward.tables import (
    count_words,
    promise_row,
    related_row_counts,
    row_counts,
)
from sfumato.tasks.report.utility import accuracy_lines
from sfumato.tasks.terms.opened import PAGE, Release, open_release

_WOULD_BE = Path("candidate", "release")
_REVIEWED = Path("report", "review.html")
_MOST = 0.5  # of the rows: columns hidden in more are named
_READ_AGAIN = 1_000_000  # rows up to which tables are read again for what labels lose


@dataclass(frozen=True)
class VersionSummary:
    """A version in totals, or a candidate that waits for approval.

    Attributes:
        directory: where it lies.
        published: whether it is a version.
        rows: what became of the rows of the source, by the words for it.
        groups: in how many groups the published rows are, None where no promise counted them.
        promises: each in words, with what is required and what was reached.
        loss: of labels, in words; None in forms without labels.
        hidden: the columns that the labels hide in most rows, in words; None if there are none.
        accuracy: a line for each workload and level; empty where none was measured.
        page: the public page, or that for the candidate's reviewers.
        related: numbers of rows of a second table, by the words for them, by its name.
    """

    directory: Path
    published: bool
    rows: Mapping[str, int]
    groups: int | None
    promises: Sequence[str]
    loss: str | None
    hidden: str | None
    accuracy: Sequence[str]
    page: Path
    related: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def lines(self) -> Iterator[tuple[str, str]]:
        """Yield names and texts in the order of display."""
        yield "rows", count_words(self.rows)
        for name, numbers in self.related.items():
            yield "related", f"{name}: {count_words(numbers)}"
        if self.groups is not None:
            yield "groups", f"{self.groups:,}"
        yield from (("promise", promise) for promise in self.promises)
        if self.loss is not None:
            yield "loss", self.loss
        if self.hidden is not None:
            yield "hidden", self.hidden
        yield from (("accuracy", line) for line in self.accuracy)
        yield "page", str(self.page)

    def document(self) -> dict[str, Any]:
        """Return the summary for JSON."""
        return {
            "directory": str(self.directory),
            "published": self.published,
            "rows": dict(self.rows),
            **({"related_rows": self.related} if self.related else {}),
            "groups": self.groups,
            "promises": list(self.promises),
            "loss": self.loss,
            "hidden": self.hidden,
            "accuracy": list(self.accuracy),
            "page": str(self.page),
        }


def summarise_version(directory: Path) -> VersionSummary:
    """Summarise a version or candidate from its manifest, labels and public record.

    Args:
        directory: of a version, or of a candidate that waits for approval.

    Raises:
        InputError: where there is neither.
    """
    waits = (directory / _WOULD_BE).is_dir()
    release = open_release(directory / _WOULD_BE if waits else directory)
    observed = release.manifest["sfumato"].get("observed") or []
    counted = [observation["groups"] for observation in observed if observation.get("groups")]
    return VersionSummary(
        directory,
        not waits,
        dict(row_counts(release.declared.rows)),
        max(counted, default=None),
        [_promise(observation) for observation in observed],
        *_losses(release),
        _accuracy(release),
        directory / (_REVIEWED if waits else PAGE),
        related_row_counts(release),
    )


def _promise(observation: Mapping[str, Any]) -> str:
    words, required, observed, _ = promise_row(observation)
    return f"{words}: required {required}, reached {observed}" if required else words


def _losses(release: Release) -> tuple[str | None, str | None]:
    """Return how much of a column's range labels cover, and which columns they hide, in words."""
    declared = release.declared
    small = declared.rows.published <= _READ_AGAIN
    if not declared.is_recoded or declared.parts or declared.made_of or not small:
        return None, None
    from sfumato.tasks.terms.tables import read_tables
    from sfumato.tasks.terms.utility import hidden_shares, mean_penalty

    tables = read_tables(declared, release.directory / "data")
    penalty = mean_penalty(tables, declared)
    if penalty is None:
        return None, None
    loss = f"labels cover {percent(float(penalty))} of a column's range on average (NCP)"
    shares = {n: share for n, share in hidden_shares(tables, declared).items() if share > _MOST}
    names = [f"{name} in {percent(float(share))}" for name, share in shares.items()]
    hidden = f"{', '.join(names)} of the rows: sfumato plan looks for something better"
    return loss, hidden if names else None


def _accuracy(release: Release) -> list[str]:
    try:
        record = read_record(release.directory.resolve().parent)
    except SfumatoError:  # what stands beside a release need not be a record
        return []
    version = record.versions.get(release.directory.resolve().name)
    return [] if version is None else accuracy_lines(version.accuracy or ())
