"""The first draft of a spec of two tables: people, and rows that belong to them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import sqlglot
from sqlglot import exp

from sfumato.expectations.shared.errors import InputError, SpecError
from sfumato.flows.choice.first_spec import (
    SPEC_MODE,
    WrittenSpec,
    line_name,
    notes_on_unfit,
    open_question,
    policy_of_draft,
    relative_address,
    require_new,
    stem_of,
)
from sfumato.flows.inputs.passphrases import source_secrets
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.private.scratch import scratch_directory
from sfumato.tasks.private.workdir import line_directory, require_apart, work_directory
from sfumato.tasks.private.wrapping import with_secrets
from sfumato.tasks.profile.dialect import DraftOptions, is_guess
from sfumato.tasks.profile.draft import PUBLISHED, SpecDraft
from sfumato.tasks.profile.facts import facts_of
from sfumato.tasks.profile.keys import NamedTable, TableKey, find_key
from sfumato.tasks.profile.linked import LinkedTables, limit_needed, link, with_names
from sfumato.tasks.profile.page import write_profile_of_two
from sfumato.tasks.profile.roles import propose_roles
from sfumato.tasks.profile.table import FoundTable, find_table, read_source
from sfumato.tasks.profile.two_tables import (
    TwoTablesDraft,
    ask_line,
    spec_text_of_two,
    with_roles_of_people,
    with_roles_of_rows,
)
from sfumato.tasks.profile.units import FoundUnit
from sfumato.tasks.sql.reserved import RESERVED
from sfumato.tasks.stages.ingest import FETCHED

_TAKEN = frozenset({"people", "groups", "attacks", "group_counts", *RESERVED})
"""Names that no table of a release can have."""
_LONGEST = 50
_HAVE, _BELONG = ("row has", "rows have"), ("row belongs", "rows belong")
_NEITHER = "To use it, draft one file. Otherwise leave it out"
_ONE_TABLE = {
    "hide": "two tables show quasi-identifiers as they are, and hide to which person a row "
    f"belongs. {_NEITHER}",
    "about": f"readers of two tables ask about numbers and categories. {_NEITHER}",
    "unit": "the key names people. Write --key COLUMN in its place",
    "columns": "it names the columns of one file. Write a header into each file",
}
"""Options of a draft of one table that mean nothing for two, and why."""


def write_first_spec_of_two(
    addresses: Sequence[str],
    place: Path | None,
    options: Sequence[DraftOptions],
    environ: Mapping[str, str],
    *,
    key: str | None = None,
    policy: str | None = None,
) -> WrittenSpec:
    """Read two sources, and write the draft of a spec and the private profile.

    Args:
        addresses: of the two sources, in any order.
        place: of the draft; `PEOPLE-and-ROWS.yaml` here, without it.
        options: what is known of each source.
        environ: the environment.
        key: the column by which rows name people, as `--key` has it; None to find it.
        policy: a policy that the draft has to keep; None for none.

    Raises:
        SpecError: where an option, an address or a name is wrong, or a file is there already.
        InputError: where a source cannot be read, or the two tables have no key.
        TransientFault: where a database or a store cannot be reached.
    """
    _refuse_options_of_one_table(options[0])
    base = (place or Path()).absolute().parent if place else Path.cwd()
    work = work_directory(environ)
    require_apart(base / PUBLISHED, work)
    tables = _read_tables(addresses, options, base, environ)
    _require_known_columns(tables, options[0])
    pair = find_key(tables, key)
    line = line_name(place.stem if place else f"{pair.people.name}-and-{pair.rows.name}")
    spec = place or Path(f"{line}.yaml")
    require_new(spec)
    drafted_under = None if policy is None else policy_of_draft(policy, base)
    if drafted_under is not None:
        drafted_under.require_for_two_tables()
    draft = replace(_draft(pair, options[0]), policy=drafted_under)
    title = line.replace("-", " ").capitalize()
    text = spec_text_of_two(draft, line, title)
    undecided = open_question(text, base)
    profile = write_profile_of_two(draft, line_directory(work, line), title, str(spec))
    write_atomically(spec, text.encode(), SPEC_MODE)
    notes = [*_notes(draft), *(note for table in tables for note in _notes_on_table(table))]
    guesses = [
        dialect.encoding
        for table in tables
        if is_guess(dialect := table.found.source.csv, options[0])
    ]
    return WrittenSpec(
        spec,
        (),
        profile,
        undecided,
        guess=next(iter(guesses), None),
        unnumbered=None,
        notes=tuple(notes),
        question=ask_line(draft, line),
    )


def _refuse_options_of_one_table(options: DraftOptions) -> None:
    for name, why in _ONE_TABLE.items():
        if getattr(options, name) is not None:
            raise SpecError(f"--{name}: is for one table, because {why}")


def _read_tables(
    addresses: Sequence[str],
    options: Sequence[DraftOptions],
    base: Path,
    environ: Mapping[str, str],
) -> list[NamedTable]:
    """Return the two tables, each with a name of its own."""
    tables: list[FoundTable] = []
    for address, own in zip(addresses, options, strict=True):
        source = read_source(relative_address(address, base), own)
        with source_secrets(source, environ), scratch_directory(environ) as scratch:
            private = with_secrets(environ)
            tables.append(find_table(source, own, base, private, scratch / FETCHED))
    names = [name_of_table(address, own) for address, own in zip(addresses, options, strict=True)]
    if names[0] == names[1]:
        names = [f"{name[: _LONGEST - 2]}_{number}" for number, name in enumerate(names, start=1)]
    return [NamedTable(name, table) for name, table in zip(names, tables, strict=True)]


def name_of_table(address: str, options: DraftOptions) -> str:
    """Return the name of a table: that of its sheet, of its query's first table, or of its file.

    >>> name_of_table("data/Patients 2026.csv", DraftOptions())
    'patients_2026'
    >>> name_of_table("clinic.xlsx", DraftOptions(sheet="Order"))
    'order_table'
    """
    written = options.sheet or _first_table(options.query) or stem_of(address)
    name = re.sub("[^a-z0-9]+", "_", written.lower()).strip("_")[:_LONGEST].strip("_")
    if not name or not name[0].isalpha():
        name = f"table_{name}".strip("_")
    return f"{name}_table" if name in _TAKEN else name


def _first_table(query: str | None) -> str | None:
    """Return the first table that a query reads; None without one that can be told."""
    if query is None:
        return None
    try:
        table = sqlglot.parse_one(query).find(exp.Table)
    except sqlglot.errors.SqlglotError:
        return None
    return None if table is None else table.name or None


def _require_known_columns(tables: Sequence[NamedTable], options: DraftOptions) -> None:
    """Refuse a column that an option names, and neither table has."""
    names = {name for table in tables for name in table.found.source.seen}
    for option, columns in (("role", options.roles), ("date-format", options.date_formats)):
        for name in columns:
            if name not in names:
                listed = " and ".join(table.uri for table in tables)
                raise InputError(f"--{option} {name}: {listed} have no such column. Correct it")


def _draft(key: TableKey, options: DraftOptions) -> TwoTablesDraft:
    """Return the draft of two tables that a key joins."""
    key, name = _with_common_names(key)
    linked = link(key)
    people = _draft_of_people(key.people.found, linked, name, options)
    rows = _draft_of_rows(key.rows.found, name, options)
    sensitive = [facts.name for facts in rows.of_role("sensitive")]
    return TwoTablesDraft(people, rows, linked, name, limit_needed(linked, sensitive))


def _with_common_names(key: TableKey) -> tuple[TableKey, str]:
    """Return a key that has one name in both tables, whose other columns have different names.

    Raises:
        InputError: where values of the key have different types, and are not text in both files.
    """
    people, rows = key.people.found, key.rows.found
    types = {people.types[key.of_people], rows.types[key.of_rows]}
    formats = {people.source.format, rows.source.format}
    if len(types) > 1 and formats != {"csv"}:
        raise InputError(
            f"{key.option}: the key has type {' in one table and '.join(sorted(types))} in the "
            "other. Give it the same type in both"
        )
    name = _common_name(key)
    people = with_names(people, {} if key.of_people == name else {key.of_people: name})
    taken = {column for column in people.source.seen if column != name}
    renamed = {} if key.of_rows == name else {key.of_rows: name}
    own = set(rows.source.seen)
    for column in rows.source.seen:
        if column != key.of_rows and column in taken:
            renamed[column] = _free_name(f"{key.rows.name}_{column}", taken | own)
    rows = with_names(rows, renamed)
    if len(types) > 1:
        people = replace(people, types={**people.types, name: "string"})
    tables = (NamedTable(key.people.name, people), NamedTable(key.rows.name, rows))
    return replace(key, people=tables[0], rows=tables[1], of_people=name, of_rows=name), name


def _common_name(key: TableKey) -> str:
    """Return a name of the key that no other column of either table has, the longer one if any."""
    others = {*key.people.found.source.seen} - {key.of_people}
    others |= {*key.rows.found.source.seen} - {key.of_rows}
    names = sorted({key.of_people, key.of_rows}, key=len, reverse=True)
    free = [name for name in names if name not in others]
    return free[0] if free else _free_name(f"{key.people.name}_key", others)


def _free_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name = f"{name}_"
    return name


def _draft_of_people(
    table: FoundTable, linked: LinkedTables, name: str, options: DraftOptions
) -> SpecDraft:
    """Return the draft of the table of people, with the rows of people who are kept."""
    repeats, missing = linked.repeated > 0, linked.unnumbered
    unit = FoundUnit(name, repeats, "names people in both tables", missing=missing)
    microdata = table.microdata
    if repeats or missing:
        microdata = microdata.take(linked.first_rows)
    facts = facts_of(microdata, dict(table.types))
    roles = propose_roles(facts, unit, options.of_columns(table.source.seen))
    draft = SpecDraft(table, facts, microdata.rows, unit, None, roles, {})
    return with_roles_of_people(draft, linked.key.rows.name)


def _draft_of_rows(table: FoundTable, name: str, options: DraftOptions) -> SpecDraft:
    """Return the draft of the table of rows, without its key."""
    facts = tuple(f for f in facts_of(table.microdata, dict(table.types)) if f.name != name)
    own = options.of_columns(column for column in table.source.seen if column != name)
    roles = propose_roles(facts, None, own)
    draft = SpecDraft(table, facts, table.microdata.rows, None, None, roles, {})
    return with_roles_of_rows(draft, own.roles)


def _notes(draft: TwoTablesDraft) -> list[str]:
    """Return how the tables belong together, and what is left out, in counts for the steward."""
    linked, (people, rows) = draft.linked, draft.names
    how = ", found only by its values, so check it" if linked.key.by == "values" else ""
    notes = [f"{draft.key} of {rows} names people in {people}{how}"]
    counts = (
        (
            linked.repeated,
            "person is",
            "people are",
            f"in several rows of {people}; each keeps one",
        ),
        (linked.unnumbered, *_HAVE, f"no {draft.key} in {people}, and {{}} left out"),
        (linked.orphans, *_BELONG, f"to no person of {people} (table {rows}), and {{}} left out"),
        (linked.missing, *_HAVE, f"no {draft.key} in {rows}, and {{}} left out"),
    )
    for number, alone, several, words in counts:
        if number:
            subject, verb = (alone, "is") if number == 1 else (several, "are")
            notes.append(f"{number:,} {subject} {words.format(verb)}")
    if draft.limit is not None:
        notes.append(f"people with more than {draft.limit:,} rows are left out (maximum)")
    return notes


def _notes_on_table(table: NamedTable) -> list[str]:
    return [f"{table.name}: {note}" for note in (*table.found.notes, *notes_on_unfit(table.found))]
