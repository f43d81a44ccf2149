"""The private page of a profile: values, counts and who stands out, for the steward's eyes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import FileSystemLoader

from sfumato.tasks.microdata.singling_out import SinglingOut, singling_out
from sfumato.tasks.microdata.suspect_values import far_values
from sfumato.tasks.microdata.table import Microdata, key
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.profile.draft import SpecDraft
from sfumato.tasks.profile.facts import ColumnFacts
from sfumato.tasks.report.rendering import environment_of

_TEMPLATES = Path(__file__).with_name("templates")
_SHOWN = 8  # values of a column, and sets of columns
_SEARCHED = 20_000_000  # rows times sets of columns that are looked at
_SETS = 2000
_QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class ProfiledColumn:
    """A column as the page shows it; shares are percentages of rows."""

    name: str
    role: str
    reason: str
    type: str
    look: str
    distinct: int
    missing: int
    alone: int
    frequent: tuple[tuple[str, int], ...]
    quarters: tuple[str, ...]
    far: tuple[tuple[str, int], ...]


def write_profile(draft: SpecDraft, directory: Path, title: str, spec: str) -> Path:
    """Write `profile.html` into a private directory.

    Args:
        draft: what is proposed of the table.
        directory: of the line.
        title: of the line.
        spec: the path of the draft.
    """
    place = directory / "profile.html"
    write_atomically(place, _page(draft, title, spec).encode())
    return place


def _page(draft: SpecDraft, title: str, spec: str) -> str:
    known = [one.name for one in draft.of_role("quasi-identifier")]
    source = draft.found.source
    content: dict[str, Any] = {
        "title": title,
        "spec": spec,
        "source": source.uri,
        "written": list(_notation(draft)),
        "read": draft.found.microdata.rows,
        "rows": draft.rows,
        "unit": draft.unit,
        "columns": [_profiled(one, draft) for one in draft.facts],
        "known": known,
        "alone": _stand_out(draft, known),
        "sets": _sets(draft, known),
    }
    templates = environment_of(FileSystemLoader(_TEMPLATES, encoding="utf-8"))
    return templates.get_template("profile.html.j2").render(content)


def _notation(draft: SpecDraft) -> Iterator[tuple[str, str]]:
    """How the source is written, in words and as it was read."""
    source = draft.found.source
    yield "format", source.format
    if source.format == "csv":
        dialect = source.csv
        yield "encoding", dialect.encoding
        yield "delimiter", {"\t": "tab"}.get(dialect.delimiter, dialect.delimiter)
        yield "header", "none in the file" if dialect.header else "the first line"
        yield "missing values", ", ".join(text or "(empty)" for text in dialect.null_values)
        yield "decimals behind", source.decimal
    yield from source.date_formats.items()


def _profiled(one: ColumnFacts, draft: SpecDraft) -> ProfiledColumn:
    proposed = draft.roles[one.name]
    order = np.argsort(-one.rows, kind="stable")[:_SHOWN]
    far = np.flatnonzero(far_values(one.column))
    return ProfiledColumn(
        name=one.name,
        role=proposed.role,
        reason=proposed.reason,
        type=one.type,
        look=one.look or "",
        distinct=one.distinct,
        missing=one.missing,
        alone=one.alone,
        frequent=tuple((_text(one, int(n)), int(one.rows[n])) for n in order),
        quarters=tuple(_text(one, n) for n in _places(one)) if one.is_ordered else (),
        far=tuple((_text(one, int(n)), int(one.rows[n])) for n in far[:_SHOWN]),
    )


def _text(one: ColumnFacts, place: int) -> str:
    """A value for people: decimals without an exponent."""
    value = one.column.values[place].as_py()
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def _places(one: ColumnFacts) -> list[int]:
    """The positions among a column's values of its least, quartiles, and greatest."""
    if not one.filled:
        return []
    ends = np.cumsum(one.rows)
    ranks = [max(1, round(share * one.filled)) for share in _QUARTERS]
    return [int(np.searchsorted(ends, rank)) for rank in ranks]


def _stand_out(draft: SpecDraft, known: Sequence[str]) -> int:
    """Number of rows that are alone on all quasi-identifiers together."""
    if not known:
        return 0
    columns = [one.column for one in draft.facts if one.name in known]
    _, times = np.unique(key(columns, draft.rows)[0], return_counts=True)
    return int((times == 1).sum())


def _sets(draft: SpecDraft, known: Sequence[str]) -> SinglingOut:
    """The smallest sets of quasi-identifiers that leave rows alone."""
    microdata = Microdata(tuple(one.column for one in draft.facts), draft.rows)
    budget = max(100, min(_SETS, _SEARCHED // max(draft.rows, 1)))
    found = singling_out(microdata, known, budget)
    return SinglingOut(found.minimal[:_SHOWN], found.complete_up_to)
