"""Results for owners: shown as totals under a mark, for what a notebook shows is soon shared."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.expectations.machine.packages import import_extra
from sfumato.flows.api.markup import table_html

if TYPE_CHECKING:
    import pandas as pd

    from sfumato.flows.api.published import VerifiedRelease

FEWEST = 20
"""The least count that is shown as it is."""

_NOTE = "whole: .to_pandas(), .document"


class PrivateResult:
    """A result about a private table, for its owner only.

    Its repr, and its display in a notebook, contain only totals, under the mark PRIVATE: never a
    value, and no count below 20. The document contains everything.

    Attributes:
        document: all that was found, as JSON has it.
        page: the private page about it, None where there is none.
    """

    mark = "PRIVATE"

    def __init__(
        self, title: str, totals: Mapping[str, Any], document: Any, page: Path | None = None
    ) -> None:
        """Take what was found, and which totals of it are shown.

        Args:
            title: what this is.
            totals: counts, which are shown from 20 on, and texts without counts of people.
            document: all of it.
            page: the private page about it.
        """
        self._title = title
        self._totals = dict(totals)
        self.document = document
        self.page = page

    def to_pandas(self) -> "pd.DataFrame":
        """All that was found: a row for each name (str) and value (object) of the document.

        Raises:
            MissingPackageError: where pandas is not installed.
        """
        frame = import_extra("pandas", "pandas", "to_pandas").DataFrame
        rows: pd.DataFrame = frame(list(_flat(self.document)), columns=["name", "value"])
        return rows

    def _visible_totals(self) -> list[tuple[str, str]]:
        totals = [(name, _total(value)) for name, value in self._totals.items()]
        return totals + ([] if self.page is None else [("page", str(self.page))])

    def __repr__(self) -> str:
        width = max((len(name) for name, _ in self._visible_totals()), default=0)
        lines = [f"{name:<{width}}  {text}" for name, text in self._visible_totals()]
        return "\n".join([f"{self.mark}: {self._title}", *lines, f"({_NOTE})"])

    def _repr_html_(self) -> str:
        rows = [list(pair) for pair in self._visible_totals()]
        return table_html([], rows, _NOTE, f"{self.mark}: {self._title}")


class ReleasedVersion(PrivateResult):
    """A version that was released; where the spec asks for approval, a candidate that waits.

    Attributes:
        directory: of the version, or the private one of the candidate.
        published: whether it is one that everybody may see.
    """

    def __init__(
        self,
        directory: Path,
        totals: Mapping[str, Any],
        document: Any,
        page: Path,
        *,
        published: bool,
    ) -> None:
        """Take the directory of a version, or of a candidate that waits."""
        title = "a version, published" if published else "a candidate, waiting for approval"
        super().__init__(title, {"directory": str(directory), **totals}, document, page)
        self.directory = directory
        self.published = published

    def open(self) -> "VerifiedRelease":
        """The published version, checked and ready to be asked.

        Raises:
            InputError: where it waits for approval.
        """
        from sfumato.expectations.shared.errors import InputError
        from sfumato.flows.api.opening import open

        if not self.published:
            raise InputError(
                f"{self.directory}: is not published yet, because it waits for approval "
                "(sfumato review)"
            )
        return open(self.directory, check=True)


def _total(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int):
        return str(value)
    return f"{value:,}" if value >= FEWEST else f"below {FEWEST}"


def _flat(document: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the leaves of a document with dotted names; items of a list are numbered from 1."""
    if isinstance(document, Mapping):
        parts = [(str(key), part) for key, part in document.items()]
    elif isinstance(document, list | tuple):
        parts = [(str(number), part) for number, part in enumerate(document, start=1)]
    else:
        yield name, document
        return
    for key, part in parts:
        yield from _flat(part, f"{name}.{key}" if name else key)
