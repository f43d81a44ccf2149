"""The draft of a spec of two tables: people, and rows that belong to them."""

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from sfumato.tasks.profile.draft import (
    CONFIRM,
    PUBLISHED,
    SpecDraft,
    column_keys,
    column_reason,
    comment,
    entry,
    flow,
    scalar,
    source_lines,
)
from sfumato.tasks.profile.facts import ColumnFacts
from sfumato.tasks.profile.linked import DIVERSE, LinkedTables
from sfumato.tasks.profile.method import fewest, spans_of
from sfumato.tasks.profile.names import is_weight
from sfumato.tasks.profile.policy import DraftPolicy
from sfumato.tasks.profile.roles import ProposedRole

_HEAD = (
    "A draft of a release spec of two tables, made by sfumato init. No value and no count of the "
    "data is here, but a limit under `maximum` if it is needed; values and counts are in the "
    "private profile, at the path that the command printed.\nRead every column's role and the "
    "reason above it, change what is wrong, and confirm:"
)
_PEOPLE = (
    "People, one row each. Their quasi-identifiers are published as they are, so anyone who knows "
    "them of a person sees that the person is here, and in which group."
)
_ROWS = (
    "Rows that belong to people. They are published with their values as they are, each beside "
    "its group and not beside its person. Anyone who knows one value of a person's row, such as a "
    "cost, may recognise the row: sfumato plan counts the people for whom it works."
)
_ORPHANS = "Some rows belong to people who are not in the table of people. They are left out."
_NO_ORPHANS = (
    "A row of a person who is not in the table of people stops a release; drop leaves it out."
)
_MAXIMUM = (
    "Each group states the most rows of one person. If a few people have very many rows, their "
    "groups must be large. `{at-most: NUMBER, else: leave-out}` leaves out people with more rows, "
    "and these rows; the profile counts people by their number of rows."
)
_LIMITED = (
    "One person has so many rows that a value would be certain in any group. So people with more "
    "rows than this are left out, with these rows. The number is published: anyone who is known "
    "to belong to the table and is missing may have more."
)
_PROMISES = (
    "people: each row may belong to any of k people. related-l-diversity: everyone with rows may "
    "have at least l values, of which no one is certain, also for anyone who knows how many "
    "rows everyone has. `insiders: 1` also protects from people of the same group. "
    "`{model: related-alpha, alpha: 0.5, sensitive: COLUMN}` limits the share of a "
    "group's people who can have one value. "
    "Larger k and l protect more and make answers less accurate."
)
_ASKED = (
    "Queries on which accuracy is measured: rows of people in ranges, and people by their rows. "
    "Replace them by those that your readers will ask."
)
_UNPROMISED = (
    "no promise about it can be kept, because too few values differ, or one is in nearly all rows. "
    "To publish it, write why that harms no person (unprotected), otherwise give it role drop"
)
_KEY_OF_PEOPLE = "identifies people"
_REPEATED = (
    "Some people are in several rows. The first row of each is kept. To keep another one, write "
    "source.where"
)
_UNNUMBERED = "Rows without a value are left out (nulls: drop-row)"
_KEY_OF_ROWS = "names the person of each row; it is in no published file"
_NOT_BESIDE = (
    "sensitive columns of people are published beside the rows of {rows} only as facts that are "
    "computed from these rows. To keep it, repeat it in every row of {rows}, as {name}_of_row with "
    "role drop, and add to these columns (people without rows have no value) "
    "`{name}_of_person: {keys}`"
)
_NO_WEIGHTS = "answers about two tables use no weights. To use them, draft this file by itself"
_FACTS = (
    "Facts of people, computed from their rows, can be added. Each needs a promise with its name "
    "under sensitive, or a reason. How many rows a person has, for example, is `{fact}: {keys}`"
)
_NAMES_OF_NUMBERS = ("times", "number_of_rows")
_KNOWN_OF_ROW = "of a row, and would recognise the row and all its values"
_ROLE_OF_DATE = (
    "a date of a row. Anyone who knows a date of a person would recognise the row and all its "
    "values, and no promise protects from that. So it is not published"
)
_ROLE_OF_NUMBERS = "its values number rows, so they would link rows to other files"
_ROLE_OF_UNKNOWN = (
    "its meaning is not known, so it is treated as something that others may know of a row, and "
    "would recognise the row by. If others cannot know it of a person, give it role sensitive, "
    "with a promise"
)
_ROLE_OF_ONLY = (
    "its meaning is not known, so it is treated as what has to be protected. If others may know "
    "it of a person, give it role drop"
)
_FEW = 20  # values of a column by which a first question groups
_MANY = Fraction(1, 4)  # different values per row, from which many rows have a value of their own
_MOST_COUNTED = 3  # sensitive columns that are counted in workloads
_ATTRIBUTES = 2


@dataclass(frozen=True, eq=False)
class TwoTablesDraft:
    """Two tables with everything that is proposed for them.

    Attributes:
        people: the table of people, whose unit is the key.
        rows: the table of rows, without its key.
        linked: the two tables joined.
        key: the name of the key in both tables.
        limit: the most rows of a person who is not left out; None for everyone.
        policy: the policy that the draft has to keep; None for none.
    """

    people: SpecDraft
    rows: SpecDraft
    linked: LinkedTables
    key: str
    limit: int | None = None
    policy: DraftPolicy | None = None

    @property
    def names(self) -> tuple[str, str]:
        """The names of the table of people and of the table of rows."""
        return self.linked.key.people.name, self.linked.key.rows.name

    @property
    def with_limit(self) -> LinkedTables:
        """The two tables without people who have too many rows."""
        return self.linked if self.limit is None else self.linked.with_most(self.limit)

    def promises(self) -> list[dict[str, Any]]:
        """Return the promises: k people, and values of each sensitive column that has enough."""
        linked = self.with_limit
        values = {facts.name: linked.values(facts.name) for facts in self.rows.of_role("sensitive")}
        diverse: list[dict[str, Any]] = [
            {"model": "related-l-diversity", "l": number, "sensitive": name}
            for name, number in values.items()
            if number
        ]
        return [{"model": "people", "k": fewest(linked.people.rows)}, *diverse]

    def first_question(self) -> str:
        """Return a question over both tables, as SQL, with no value of the data."""
        people, rows = self.names
        short = [f for f in self.people.of_role("quasi-identifier") if f.distinct <= _FEW]
        shortest = min(short, key=lambda facts: facts.distinct, default=None)
        join = f"FROM {people} JOIN {rows} USING ({_sql_name(self.key)})"
        if shortest is None:
            return f"SELECT COUNT(*) {join}"
        name = _sql_name(shortest.name)
        return f"SELECT {name}, COUNT(*) {join} GROUP BY {name}"


def _sql_name(name: str) -> str:
    """Return a column's name in SQL, in quotes unless it is a plain word."""
    plain = name.isascii() and name.isidentifier() and name == name.lower()
    return name if plain else '"' + name.replace('"', '""') + '"'


def with_roles_of_people(draft: SpecDraft, rows: str) -> SpecDraft:
    """Return the draft of people without columns that two tables cannot publish as they are.

    Args:
        draft: with the roles that the columns would have in a table of their own.
        rows: the name of the table of rows.
    """
    facts = {column.name: column for column in draft.facts}
    roles = dict(draft.roles)
    for name, proposed in draft.roles.items():
        if proposed.role == "weight":
            roles[name] = replace(proposed, role="drop", reason=f"{proposed.reason}; {_NO_WEIGHTS}")
        elif proposed.role == "sensitive":
            why = _NOT_BESIDE.format(rows=rows, name=name, keys=_as_fact(facts[name]))
            roles[name] = replace(proposed, role="drop", reason=f"{proposed.reason}; {why}")
    return replace(draft, roles=roles)


def _as_fact(facts: ColumnFacts) -> str:
    """Return the keys of a fact that has the values of a column, which every row repeats."""
    repeated = _sql_name(f"{facts.name}_of_row")
    if facts.type in ("integer", "decimal"):
        computed = {"type": str(facts.type), "nulls": "category", "derive": f"MAX({repeated})"}
    else:
        test = f"{repeated} > NUMBER" if facts.is_number else f"{repeated} = 'VALUE'"
        computed = {"type": "boolean", "derive": f"COALESCE(BOOL_OR({test}), FALSE)"}
    return flow({"role": "sensitive", **computed, "unprotected": "REASON"})


def with_roles_of_rows(draft: SpecDraft, chosen: Mapping[str, str]) -> SpecDraft:
    """Return the draft of rows with the roles that columns of a second table can have.

    A column is published as sensitive, or it is dropped. Columns of unknown meaning are sensitive
    only if no other column is.

    Args:
        draft: with the roles that the columns would have in a table of their own.
        chosen: the roles that the steward chose, by column.
    """
    roles = {facts.name: _role_of_row(facts, draft.roles[facts.name]) for facts in draft.facts}
    roles |= {name: draft.roles[name] for name in chosen if name in draft.roles}
    if not any(proposed.role == "sensitive" for proposed in roles.values()):
        roles |= {
            name: ProposedRole("sensitive", _ROLE_OF_ONLY)
            for name, proposed in roles.items()
            if proposed.reason == _ROLE_OF_UNKNOWN and name not in chosen
        }
    return replace(draft, roles=roles)


def _role_of_row(facts: ColumnFacts, proposed: ProposedRole) -> ProposedRole:
    if is_date(facts):
        return ProposedRole("drop", _ROLE_OF_DATE)
    if proposed.role == "identifier":
        return ProposedRole("drop", _ROLE_OF_NUMBERS)
    if proposed.role not in ("quasi-identifier", "drop"):
        return proposed
    if proposed.role == "drop" and not _has_many_numbers(facts):
        return proposed
    if facts.meaning is None and facts.look is None:
        return ProposedRole("drop", _ROLE_OF_UNKNOWN)
    reason = proposed.reason.partition(", which others may know")[0]
    return ProposedRole("drop", f"{reason}: others may know it {_KNOWN_OF_ROW}")


def is_date(facts: ColumnFacts) -> bool:
    """Decide whether a column has dates, by the type of its values or by its name."""
    return facts.type in ("date", "timestamp") or facts.meaning == "date"


def _has_many_numbers(facts: ColumnFacts) -> bool:
    """Decide whether a column has numbers of unknown meaning, most of them in few rows."""
    is_unknown = facts.meaning is None and facts.is_number and not is_weight(facts.name)
    return is_unknown and facts.distinct > _FEW and facts.own > _MANY


def spec_text_of_two(draft: TwoTablesDraft, line: str, title: str) -> str:
    """Return the draft of a spec of two tables as text.

    Args:
        draft: the tables with everything that is proposed.
        line: the name of the release line.
        title: the title of the line.
    """
    parts = (_head(line, title), _tables(draft, line), _release(draft, line))
    return "\n".join("".join(part) for part in parts)


def _head(line: str, title: str) -> Iterator[str]:
    yield comment(_HEAD)
    yield CONFIRM
    yield "\n"
    yield "version: 2\n"
    yield entry("name", line)
    yield entry("title", title)


def _tables(draft: TwoTablesDraft, line: str) -> Iterator[str]:
    people, rows = draft.names
    yield "tables:\n"
    yield comment(_PEOPLE, "  ")
    yield f"  {people}:\n"
    yield _indent(_source(draft.people, None))
    yield _indent(_columns_of_people(draft, line))
    yield comment(_ROWS, "  ")
    yield f"  {rows}:\n"
    yield f"    of: {people}\n"
    where = f"{_sql_name(draft.key)} IS NOT NULL" if draft.linked.missing else None
    yield _indent(_source(draft.rows, where))
    yield _indent(_settings(draft))
    yield _indent(_columns_of_rows(draft, line))


def _indent(lines: Iterator[str]) -> str:
    return textwrap.indent("".join(lines), "    ")


def _source(draft: SpecDraft, where: str | None) -> Iterator[str]:
    table = draft.table
    # Every column has a line of its own, so the source need not list them.
    source = table.source.model_copy(update={"seen": (), "where": where})
    yield from source_lines(replace(table, source=source))
    if where is not None:
        yield comment("Rows without a key belong to no person, and are left out (where).", "  ")


def _settings(draft: TwoTablesDraft) -> Iterator[str]:
    """Yield what happens to rows of nobody, and to people with many rows."""
    yield comment(_ORPHANS if draft.linked.orphans else _NO_ORPHANS)
    yield f"orphans: {'drop' if draft.linked.orphans else 'refuse'}\n"
    if draft.limit is None:
        yield comment(_MAXIMUM)
        yield "maximum: of-groups\n"
    else:
        yield comment(_LIMITED)
        limit = {"at-most": draft.limit, "else": "leave-out"}
        yield f"maximum: {flow(limit)}\n"


def _columns_of_people(draft: TwoTablesDraft, line: str) -> Iterator[str]:
    yield "columns:\n"
    yield from _column_lines(draft.people, line)
    taken = {*draft.people.table.source.seen, *draft.rows.table.source.seen}
    name = next(name for name in (*_NAMES_OF_NUMBERS, "") if name not in taken)
    if name:
        counted = {"role": "sensitive", "type": "integer", "derive": "COUNT(*)"}
        keys = flow({**counted, "unprotected": "REASON"})
        yield comment(_FACTS.format(fact=name, keys=keys), "  ")


def _columns_of_rows(draft: TwoTablesDraft, line: str) -> Iterator[str]:
    yield "columns:\n"
    yield comment(_KEY_OF_ROWS, "  ")
    yield f"  {scalar(draft.key)}: {{role: key}}\n"
    promised = {promise.get("sensitive") for promise in draft.promises()}
    rows = draft.rows
    roles = {
        name: replace(proposed, reason=f"{proposed.reason}; {_UNPROMISED}")
        if proposed.role == "sensitive" and name not in promised
        else proposed
        for name, proposed in rows.roles.items()
    }
    yield from _column_lines(replace(rows, roles=roles), line)


def _column_lines(draft: SpecDraft, line: str) -> Iterator[str]:
    """Yield each column after its reason; dropped columns have a line, too."""
    facts = {column.name: column for column in draft.facts}
    unfit = {column.name: column.reason for column in draft.table.unfit}
    for name in draft.table.source.seen:
        if name in unfit:
            yield from _line(name, {"role": "drop"}, unfit[name])
        elif name in facts:
            proposed = draft.roles[name]
            keys = column_keys(draft, facts[name], proposed, line)
            if proposed.role == "drop":  # its type stays: a date may have a format in the source
                keys = {name: value for name, value in keys.items() if name in ("role", "type")}
            yield from _line(name, keys, _reason(draft, facts[name], proposed))


def _reason(draft: SpecDraft, facts: ColumnFacts, proposed: ProposedRole) -> str:
    if proposed.role == "drop":
        return proposed.reason
    if draft.unit is None or draft.unit.name != facts.name:
        return column_reason(draft, facts, proposed)
    repeated = f". {_REPEATED}" if draft.unit.repeats else ""
    unnumbered = f". {_UNNUMBERED}" if draft.unit.missing else ""
    return f"{_KEY_OF_PEOPLE}{repeated}{unnumbered}"


def _line(name: str, keys: Mapping[str, Any], reason: str) -> Iterator[str]:
    yield comment(reason, "  ")
    yield f"  {scalar(name)}: {flow(keys)}\n"


def _release(draft: TwoTablesDraft, line: str) -> Iterator[str]:
    yield comment(_PROMISES)
    yield "promises:\n"
    yield from (f"  - {flow(promise)}\n" for promise in draft.promises())
    yield "partition: {method: mondrian}\n"
    yield f"publish: {{uri: {PUBLISHED}}}\n"
    if draft.policy is not None:
        named = [*draft.people.facts, *draft.rows.facts]
        yield from draft.policy.lines([scalar(facts.name) for facts in named])
    workloads = list(_workloads(draft))
    if workloads:
        yield "\nevaluate:\n"
        yield comment(_ASKED, "  ")
        yield "  workloads:\n"
        yield from (f"    - {flow(workload)}\n" for workload in workloads)
    yield "\n" + comment("After a release, ask a question over both tables:")
    yield f"#   {ask_line(draft, line)}\n"


def ask_line(draft: TwoTablesDraft, line: str) -> str:
    """Return the command that asks a first question of a release of the draft."""
    return f"sfumato query {PUBLISHED}/{line}/0001 '{draft.first_question()}'"


def _workloads(draft: TwoTablesDraft) -> Iterator[dict[str, Any]]:
    """Yield questions about rows of people in ranges, and about people by their rows."""
    quasi_identifiers = draft.people.of_role("quasi-identifier")
    sensitive = draft.rows.of_role("sensitive")
    if not quasi_identifiers or not sensitive:
        return
    ranged = [(facts.name, spans) for facts in quasi_identifiers if (spans := spans_of(facts))]
    numbers = [facts for facts in sensitive if facts.is_number]
    for over, spans in ranged[:1]:
        yield {"kind": "range", "aggregate": "count", "over": over, "spans": spans}
        for facts in numbers:
            about = {"of": facts.name, "over": over, "spans": spans}
            yield {"kind": "range", "aggregate": "avg", **about}
    counted = [facts for facts in sensitive if not facts.is_number] or sensitive
    attributes = min(_ATTRIBUTES, len(quasi_identifiers))
    for facts in counted[:_MOST_COUNTED]:
        yield {"kind": "counts", "of": facts.name, "attributes": attributes}
    for over, spans in ranged[:1]:
        span = spans[len(spans) // 2]
        yield {"kind": "people", "over": over, "span": span, "of": counted[0].name, "times": [1, 2]}


def numbers_to_keep(draft: TwoTablesDraft) -> Iterator[tuple[str, int, int, Any]]:
    """Yield for each sensitive column what all people as one group keep, for the private page.

    These are its name, the number of values, the same against insiders, and the smallest α.
    """
    linked = draft.with_limit
    for facts in draft.rows.of_role("sensitive"):
        name = facts.name
        insiders = next((n for n in DIVERSE if linked.keeps(name, n, insiders=1)), 0)
        yield name, linked.values(name), insiders, linked.least_alpha(name)
