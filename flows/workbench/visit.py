"""A visit to a page of the workbench: what it is about, and what was sent along."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml

from sfumato.expectations.shared.errors import SfumatoError, SpecError
from sfumato.flows.inputs.documents import parse_yaml
from sfumato.flows.workbench.counts import CountedTable, TableCounter
from sfumato.flows.workbench.desk import ChangedOutsideError, Folder, OpenedSpec
from sfumato.flows.workbench.jobs import Job, Jobs
from sfumato.flows.workbench.yaml_edits import Place, removal_of, with_value

Changes = Mapping[Any, Any]
"""New values of a spec by the way to each, a tuple of keys and positions; None removes a key."""


@dataclass(frozen=True)
class Bench:
    """Common things of all pages of one run of the workbench.

    Attributes:
        desk: the folder and its specs.
        jobs: the commands that run or have run.
        counting: the counted tables.
        place: the secret path that all addresses begin with.
        readings: how the steward chose to read a table, by the table's name.
    """

    desk: Folder
    jobs: Jobs
    counting: TableCounter
    place: str
    readings: "dict[str, Sent]" = field(default_factory=dict)

    def address(self, step: str, spec: str) -> str:
        """Return the address of a step of a spec."""
        return f"{self.place}/{step}/{quote(spec)}"


@dataclass(frozen=True)
class Sent:
    """The fields of a form or of an address, in order."""

    pairs: Sequence[tuple[str, str]] = ()

    def get(self, name: str, default: str = "") -> str:
        """Return the last value of a field; browsers send a hidden field before its checkbox."""
        return next((value for key, value in reversed(self.pairs) if key == name), default)

    def all(self, name: str) -> list[str]:
        """Return every value of a field."""
        return [value for key, value in self.pairs if key == name]

    def number(self, name: str, kind: Callable[[str], Any] = int) -> Any:
        """Return a field as a number.

        Raises:
            SpecError: where it is none.
        """
        text = self.get(name).strip().replace(",", "")
        try:
            return kind(text)
        except ValueError:
            raise SpecError(f"{name}: {text!r} is not a number. Write digits, such as 5") from None


@dataclass(frozen=True)
class Visit:
    """A visit to a step of a spec.

    Attributes:
        bench: what all pages share.
        step: the name of the step.
        spec: the spec as it is now.
        sent: the fields of the form or of the address.
    """

    bench: Bench
    step: str
    spec: OpenedSpec
    sent: Sent = field(default_factory=Sent)

    @property
    def here(self) -> str:
        """The address of this page."""
        address, table = self.bench.address(self.step, self.spec.name), self.sent.get("table")
        return f"{address}?table={quote(table)}" if table in self.spec.table_names else address

    @property
    def table_name(self) -> str | None:
        """The table of two that the page shows, that of people first; None for a spec of one."""
        names = self.spec.table_names
        return next((n for n in names if n == self.sent.get("table")), next(iter(names), None))

    @property
    def one_table(self) -> OpenedSpec:
        """The spec, as one of the table that the page shows if it has two."""
        name = self.table_name
        return self.spec if name is None else self.spec.of_table(name)

    def table(self) -> CountedTable | None:
        """Return the table of the spec, or None while it is being counted.

        Raises:
            SfumatoError: where the spec is wrong, or its source cannot be read.
        """
        return self.bench.counting.table(self.one_table)

    def table_or_fault(self) -> tuple[CountedTable | None, str]:
        """Return the table of the spec, and why it cannot be counted, empty if it can.

        The table is None while it is being counted.
        """
        try:
            return self.table(), ""
        except SfumatoError as error:
            return None, str(error)

    def progress_of(self, table: CountedTable | None, fault: str) -> str:
        """Return how far the counting of the table is, in words; empty if it is not counted now."""
        return "" if table is not None or fault else self.bench.counting.progress(self.one_table)

    def set(self, changes: Changes, title: str) -> None:
        """Write other values into the spec; None removes a key.

        Args:
            changes: the values by the way to them.
            title: of the change, for the button that undoes it.

        Raises:
            SpecError: where the spec cannot be changed so, or has changed meanwhile.
        """
        text = self.spec.text
        for place, value in changes.items():
            text = _with_change(text, place, value)
        self.write({self.spec.path: text}, title)

    def set_in_table(self, changes: Changes, title: str) -> None:
        """Write other values into the keys of the table that the page shows.

        Arguments and errors are those of `set`.
        """
        name = self.table_name
        of_table = ("source", "columns")
        self.set(
            {
                ("tables", name, *place) if name and place[0] in of_table else place: value
                for place, value in changes.items()
            },
            title,
        )

    def write(self, files: Mapping[Path, str], title: str) -> None:
        """Write files of the spec.

        Raises:
            ChangedOutsideError: where the spec has changed since the page was made.
        """
        self.bench.desk.change(self.spec.name, self.sent.get("digest"), files, title)

    def start(self, arguments: Sequence[str], title: str, kind: str = "") -> str:
        """Start a command about the spec; return the address of the page of its progress.

        Args:
            arguments: of the command, its name first.
            title: what it does, in words.
            kind: of the command, if its name does not tell what it answers.
        """
        name, digest = self.spec.name, self.spec.digest
        job = self.bench.jobs.start(
            arguments, title, self.here, spec=name, digest=digest, kind=kind
        )
        return f"{self.bench.place}/jobs/{job.id}"

    def require_present(self) -> None:
        """Refuse to act on a spec that has changed since the page was made.

        Raises:
            ChangedOutsideError: where it has.
        """
        if self.sent.get("digest") != self.spec.digest:
            raise ChangedOutsideError(
                f"{self.spec.name}: was changed since this page was made, in another tab or "
                "outside the workbench. Nothing was started. Look at the present state, and try "
                "again"
            )

    def latest(self, kind: str) -> Job | None:
        """Return the latest command of a kind about the spec, or None."""
        return self.bench.jobs.latest(kind, self.spec.name)

    def is_present(self, job: Job) -> bool:
        """Return True if a command began with the spec as it is now."""
        return job.digest == self.spec.digest


def _with_change(text: str, place: Place, value: Any) -> str:
    return removal_of(text, place) if value is None else with_value(text, place, value)


def read_mapping(name: str, text: str) -> dict[str, Any]:
    """Return the mapping that a field has as YAML on one line.

    Args:
        name: of what it is about, for errors.
        text: the text of the field.

    Raises:
        SpecError: where it is no mapping.

    >>> read_mapping("form", "{method: permuted}")
    {'method': 'permuted'}
    """
    try:
        document = parse_yaml(text)
    except (ValueError, yaml.YAMLError):
        document = None
    if not isinstance(document, dict):
        raise SpecError(f"{name}: is not a mapping. Write it like `{{method: ke, objective: sum}}`")
    return document
