"""The private page of a profile: values, counts and people who stand out, for the steward only."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import FileSystemLoader

from sfumato.expectations.shared.numbers import Number
from sfumato.tasks.microdata.singling_out import SinglingOut, singling_out
from sfumato.tasks.microdata.suspect_values import far_values
from sfumato.tasks.microdata.table import Microdata, key
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.profile.draft import SpecDraft
from sfumato.tasks.profile.facts import ColumnFacts
from sfumato.tasks.profile.two_tables import TwoTablesDraft, is_date, numbers_to_keep
from sfumato.tasks.profile.unfit import UnfitColumn
from sfumato.tasks.report.numbers import digits, percent
from sfumato.tasks.report.rendering import environment_of, stylesheet

_TEMPLATES = Path(__file__).with_name("templates")
_SHOWN = 8  # most values of a column, and sets of columns, to show
_SEARCHED = 20_000_000  # most rows times sets of columns to search
_SETS = 2000
_SHOWN_NUMBERS = 25  # most numbers of rows that people have
_DECIMALS = 1000  # of a share that can be promised
_QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class ProfiledColumn:
    """A column as the page shows it; None for a number that nobody counted."""

    name: str
    role: str
    reason: str
    type: str
    look: str
    distinct: int | None
    missing: int
    missing_share: str
    alone: int | None
    frequent: tuple[tuple[str, int], ...]
    quarters: tuple[str, ...]
    far: tuple[tuple[str, int], ...]


def write_profile(draft: SpecDraft, directory: Path, title: str, spec: str) -> Path:
    """Write `profile.html` into a private directory.

    Args:
        draft: the table with everything that is proposed.
        directory: the private directory of the line.
        title: the title of the line.
        spec: the path of the draft.
    """
    place = directory / "profile.html"
    write_atomically(place, _page(draft, title, spec).encode())
    return place


def _page(draft: SpecDraft, title: str, spec: str) -> str:
    content: dict[str, Any] = {
        "title": title,
        "spec": spec,
        "read": draft.table.microdata.rows,
        "rows": draft.rows,
        "unit": draft.unit,
        "table": _table(draft),
    }
    return render_private("profile.html.j2", content)


def render_private(template: str, content: Mapping[str, Any]) -> str:
    """Return a private page from a template of this room, with the style of private pages."""
    templates = environment_of(FileSystemLoader(_TEMPLATES, encoding="utf-8"))
    style = stylesheet("steward.css")
    return templates.get_template(template).render(
        {**content, "css": style.css, "css_hash": style.sha256}
    )


def _table(draft: SpecDraft, name: str = "") -> dict[str, Any]:
    """Return what a page shows of one table: unique people, columns, and how it is written."""
    quasi_identifiers = [facts.name for facts in draft.of_role("quasi-identifier")]
    return {
        "name": name,
        "source": draft.table.source.uri,
        "written": list(_notation(draft)),
        "rows": draft.rows,
        "columns": list(_profile_columns(draft)),
        "known": quasi_identifiers,
        "alone": _count_unique(draft, quasi_identifiers),
        "sets": _sets(draft, quasi_identifiers),
    }


def write_profile_of_two(draft: TwoTablesDraft, directory: Path, title: str, spec: str) -> Path:
    """Write `profile.html` about two tables into a private directory.

    Arguments are those of `write_profile`.
    """
    place = directory / "profile.html"
    people, rows = draft.names
    key = draft.linked.key
    content = {
        "title": title,
        "spec": spec,
        "key": {"people": key.of_people, "rows": key.of_rows, "by": key.by},
        "people": _table(draft.people, people),
        "rows": _table(draft.rows, rows),
        "counts": list(_counts_of_two(draft)),
        "numbers": list(_numbers(draft)),
        "promises": [
            (name, values, insiders, _rounded_up(alpha))
            for name, values, insiders, alpha in numbers_to_keep(draft)
        ],
        "dates": [f.name for f in draft.rows.of_role("drop") if is_date(f)],
    }
    write_atomically(place, render_private("two_tables.html.j2", content).encode())
    return place


def _rounded_up(share: Number) -> str:
    """Return a share as a spec writes it, rounded up to thousandths.

    >>> _rounded_up(Fraction(1, 3))
    '0.334'
    """
    return f"{ceil(Fraction(share or 0) * _DECIMALS) / _DECIMALS:g}"


def _counts_of_two(draft: TwoTablesDraft) -> Iterator[tuple[str, int, str]]:
    """Yield each count of both tables together, in words, with what the draft does about it."""
    linked, (people, rows) = draft.linked, draft.names
    yield f"people in {people}", linked.people.rows, "are published"
    yield f"people without any row in {rows}", linked.without_rows, "are published"
    yield (
        f"people in several rows of {people}",
        linked.repeated,
        "the first row of each is kept (repeat: keep-one)" if linked.repeated else "",
    )
    yield (
        f"rows of {people} without a key",
        linked.unnumbered,
        "are left out (nulls: drop-row)" if linked.unnumbered else "",
    )
    yield f"rows in {rows}", linked.rows_read, "are published, if not left out below"
    yield (
        f"rows of {rows} about people who are not in {people}",
        linked.orphans,
        "are left out (orphans: drop)" if linked.orphans else "",
    )
    yield (
        f"rows of {rows} without a key",
        linked.missing,
        "are left out (source.where)" if linked.missing else "",
    )
    yield (
        f"rows in {rows} of the person with most",
        linked.most,
        "" if draft.limit is None else f"people with more than {draft.limit:,} are left out",
    )


def _numbers(draft: TwoTablesDraft) -> Iterator[tuple[int, int, int, int]]:
    """Yield numbers of rows, with the people who have so many, those with more, and their rows."""
    counted = list(draft.linked.numbers_of_rows())
    step = max(1, len(counted) // _SHOWN_NUMBERS)
    for place in sorted({*range(0, len(counted), step), len(counted) - 1}):
        number, people = counted[place]
        more = counted[place + 1 :]
        yield number, people, sum(p for _, p in more), sum(n * p for n, p in more)


def _notation(draft: SpecDraft) -> Iterator[tuple[str, str]]:
    """Yield the settings by which the source was read, each with its name in words."""
    source = draft.table.source
    yield "format", source.format
    if source.format == "csv":
        dialect = source.csv
        yield "encoding", dialect.encoding
        yield "delimiter", {"\t": "tab"}.get(dialect.delimiter, dialect.delimiter)
        yield "header", "not in the file" if dialect.header else "the first line"
        yield "missing values", ", ".join(text or "(empty)" for text in dialect.null_values)
        yield "decimals behind", source.decimal
        yield "thousands", {"": "no mark", " ": "blank"}.get(mark := dialect.thousands or "", mark)
        yield "lines above the header", str(dialect.skip)
    yield from source.date_formats.items()


def _profile_columns(draft: SpecDraft) -> Iterator[ProfiledColumn]:
    """Yield the columns in the order of the source, also those that no release can show.

    The key of a second table is left out: the page says elsewhere whom it names.
    """
    facts = {column.name: column for column in draft.facts}
    unfit = {column.name: column for column in draft.table.unfit}
    for name in draft.table.source.seen:
        if name in facts:
            yield _profile_column(facts[name], draft)
        elif name in unfit:
            yield _profile_unfit(unfit[name])


def _profile_unfit(column: UnfitColumn) -> ProfiledColumn:
    return ProfiledColumn(
        name=column.name,
        role="drop",
        reason=column.reason,
        type=column.type,
        look="",
        distinct=None,
        missing=column.missing,
        missing_share=_share(column.missing, column.rows),
        alone=None,
        frequent=(),
        quarters=(),
        far=(),
    )


def _share(part: int, whole: int) -> str:
    """Return a share of rows as a percentage.

    >>> _share(1, 8), _share(0, 8)
    ('12.5 %', '0 %')
    """
    return percent(part / max(whole, 1))


def _profile_column(facts: ColumnFacts, draft: SpecDraft) -> ProfiledColumn:
    proposed = draft.roles[facts.name]
    order = np.argsort(-facts.rows, kind="stable")[:_SHOWN]
    far = np.flatnonzero(far_values(facts.column))
    return ProfiledColumn(
        name=facts.name,
        role=proposed.role,
        reason=proposed.reason,
        type=facts.type,
        look=facts.look or "",
        distinct=facts.distinct,
        missing=facts.missing,
        missing_share=_share(facts.missing, draft.rows),
        alone=facts.alone,
        frequent=tuple((_text(facts, int(n)), int(facts.rows[n])) for n in order),
        quarters=tuple(_text(facts, n) for n in _places(facts)) if facts.is_ordered else (),
        far=tuple((_text(facts, int(n)), int(facts.rows[n])) for n in far[:_SHOWN]),
    )


def _text(facts: ColumnFacts, place: int) -> str:
    """Write a value for people: decimals without an exponent."""
    value = facts.column.values[place].as_py()
    return digits(value) if isinstance(value, Decimal) else str(value)


def _places(facts: ColumnFacts) -> list[int]:
    """Return the positions, among a column's values, of minimum, quartiles and maximum."""
    if not facts.rows_with_value:
        return []
    ends = np.cumsum(facts.rows)
    ranks = [max(1, round(share * facts.rows_with_value)) for share in _QUARTERS]
    return [int(np.searchsorted(ends, rank)) for rank in ranks]


def _count_unique(draft: SpecDraft, names: Sequence[str]) -> int:
    """Count the rows that are unique in all quasi-identifiers together."""
    if not names:
        return 0
    columns = [facts.column for facts in draft.facts if facts.name in names]
    _, times = np.unique(key(columns, draft.rows)[0], return_counts=True)
    return int((times == 1).sum())


def _sets(draft: SpecDraft, names: Sequence[str]) -> SinglingOut:
    """Return the smallest sets of quasi-identifiers in which rows are unique."""
    microdata = Microdata(tuple(facts.column for facts in draft.facts), draft.rows)
    budget = max(100, min(_SETS, _SEARCHED // max(draft.rows, 1)))
    sets = singling_out(microdata, names, budget)
    return SinglingOut(sets.minimal[:_SHOWN], sets.complete_up_to)
