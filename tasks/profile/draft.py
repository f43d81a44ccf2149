"""The draft of a spec: text with a reason for every role, and no data of the source."""

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from sfumato.tasks.profile.facts import ColumnFacts
from sfumato.tasks.profile.method import (
    About,
    Hide,
    ProposedMethod,
    grouping_number,
    propose_methods,
    propose_workloads,
    words_before,
)
from sfumato.tasks.profile.names import is_household
from sfumato.tasks.profile.policy import DraftPolicy
from sfumato.tasks.profile.roles import ProposedRole, has_spellings
from sfumato.tasks.profile.skeletons import Rows, Skeleton, skeleton_of
from sfumato.tasks.profile.table import FoundTable
from sfumato.tasks.profile.units import FoundUnit
from sfumato.tasks.schema.columns import Role
from sfumato.tasks.schema.names import safe_name

PUBLISHED = "releases"
_WIDTH = 96
_HEAD = (
    "A draft of a release spec, made by sfumato init. No value and no count of the "
    "data is here;\nthese are in the private profile, at the path that the command "
    "printed.\nRead every column's role and the reason above it, change what is wrong, "
    "and confirm:"
)
_HEAD_WITHOUT_DATA = (
    "A draft of a release spec, made by sfumato init without data: nothing here was compared "
    "with a table.\nRead every column's role and the reason above it, change what is wrong, "
    "and confirm:"
)
CONFIRM = "roles: proposed  # <- write `confirmed`; until then nothing runs\n"
_DROPPED = (
    "Dropped columns, each with the reason. To give one another role, write it under columns:"
)
_REPEATS = (
    "People have several rows. A release keeps the first row of each person. To keep "
    "another row, write source.where, or sum the source up by person first. With "
    "`repeat: all` it keeps all rows, and keeps promises over people also."
)
_HOUSEHOLD = (
    "Someone who knows one person of a household often knows the others. So promises "
    "are kept over households also. Leave this key out if it costs too much accuracy."
)
_NULLS = (
    "`nulls: category` keeps rows without a value, and promises count null as one more "
    "value; drop-row leaves these rows out"
)
_MISSING = "some values are missing"
_LEFT_OUT = "some values are missing: ke groups by values, so these rows are left out"
_UNNUMBERED = "rows without a value belong to no person, and are left out (nulls: drop-row)"
_NO_UNIT = (
    "No column identifies people. Rows are counted as people, so each person must have one row."
)
_UNIT_UNKNOWN = (
    "Rows are counted as people. If a column identifies people, write `role: identifier, unit: "
    "true` in its line, and leave this key out."
)
_ASKED = "Queries on which accuracy is measured. Replace them by those that your readers will ask."
_LIKELY = (
    "Answers get a likely interval (95 %) within their bounds. How wide it must be is measured on "
    "the source before publication. Leave this key out to publish only bounds."
)
MEASURED_FORMS = frozenset({"permuted", "split", "generalized", "suppressed"})
"""The forms whose likely intervals are measured in blocks of queries, so in seconds."""
MOST_ROWS_MEASURED = 1_000_000
"""The number of rows up to which measuring them was found to take a few seconds."""


def propose_nulls(facts: ColumnFacts, *, drops: bool = False) -> Mapping[str, str]:
    """Propose a null policy for a column that has nulls: their rows stay, or they are dropped."""
    policy = "drop-row" if drops else "category"
    return {"nulls": policy} if facts.missing else {}


@dataclass(frozen=True, eq=False)
class SpecDraft:
    """A table with everything that is proposed for it.

    Attributes:
        table: the source as it was read.
        facts: the facts about the columns of the represented rows.
        rows: the number of represented rows.
        unit: the column that says whom rows are about; None if no column does.
        gaps: a column that would say so if many rows did not lack a value of it.
        roles: the proposed roles, by column.
        skeletons: the skeletons of hierarchies, by quasi-identifier.
        hide: what has to be hidden; None for no answer.
        about: what readers ask about; None for no answer.
        policy: the policy that the draft has to keep; None for none.
        beginning: further words at the head of the draft.
        method: the promises, partition and form; None for those that fit the answers.
        strata: the columns whose values keep groups apart.
        further_keys: further keys of columns, by column.
    """

    table: FoundTable
    facts: tuple[ColumnFacts, ...]
    rows: int
    unit: FoundUnit | None
    gaps: ColumnFacts | None
    roles: Mapping[str, ProposedRole]
    skeletons: Mapping[str, Skeleton]
    hide: Hide | None = None
    about: About | None = None
    policy: DraftPolicy | None = None
    beginning: str = ""
    method: ProposedMethod | None = None
    strata: tuple[str, ...] = ()
    further_keys: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def shared_identifier(self) -> str | None:
        """The first identifier that rows share although each counts as a person, or None."""
        if self.unit is not None:
            return None
        shared = (f for f in self.of_role("identifier") if f.distinct < f.rows_with_value)
        return next((f.name for f in shared if not is_household(f.name)), None)

    @property
    def identifiers(self) -> list[str]:
        """The names of the columns that identify people."""
        return [facts.name for facts in self.of_role("identifier")]

    def groups_by(self, facts: ColumnFacts) -> bool:
        """Return True for the number that groups of exact rows are made by."""
        number = grouping_number(self.of_role("sensitive"), self.about)
        return self.hide == "values" and facts is number and bool(self.of_role("quasi-identifier"))

    def of_role(self, role: Role) -> list[ColumnFacts]:
        """Return the columns with a role, in order."""
        return [facts for facts in self.facts if self.roles[facts.name].role == role]


def skeletons_of(
    facts: Sequence[ColumnFacts],
    whole: Sequence[ColumnFacts],
    roles: Mapping[str, ProposedRole],
) -> dict[str, Skeleton]:
    """Return the skeletons of hierarchies for quasi-identifiers that need one.

    Args:
        facts: the facts about the represented rows, by column.
        whole: the facts about all rows, by column.
        roles: the proposed roles, by column.
    """
    columns = zip(facts, whole, strict=True)
    pairs = (both for both in columns if roles[both[0].name].role == "quasi-identifier")
    made = {column.name: skeleton_of(column, other) for column, other in pairs}
    return {name: skeleton for name, skeleton in made.items() if skeleton is not None}


def hierarchy_files(draft: SpecDraft, line: str) -> dict[str, Rows]:
    """Return the rows of hierarchies by the path of their file, relative to the spec."""
    made = ((name, skeleton.rows) for name, skeleton in draft.skeletons.items())
    return {_file(line, name): rows for name, rows in made if rows is not None}


def spec_text(draft: SpecDraft, line: str, title: str) -> str:
    """Return the draft of a spec as text.

    Args:
        draft: the table with everything that is proposed.
        line: the name of the release line.
        title: the title of the line.
    """
    parts = (
        _head(draft, line, title),
        source_lines(draft.table),
        _columns(draft, line),
        _release(draft),
    )
    return "\n".join("".join(part) for part in parts)


def _head(draft: SpecDraft, line: str, title: str) -> Iterator[str]:
    yield comment(_HEAD if draft.rows else _HEAD_WITHOUT_DATA)
    if draft.beginning:
        yield f"#\n{comment(draft.beginning)}#\n"
    yield CONFIRM
    yield "\n"
    yield "version: 2\n"
    yield entry("name", line)
    yield entry("title", title)


def source_lines(table: FoundTable) -> Iterator[str]:
    """Yield a source as a spec writes it, after what the steward should know of it."""
    source = table.source.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    order = [key for key in ("uri", "format", *source, "seen") if key in source]
    yield from map(comment, _sentences(table.notes))
    yield "source:\n"
    for key in dict.fromkeys(sorted(order, key=lambda key: key == "seen")):
        yield textwrap.indent(entry(key, source[key]), "  ")


def _sentences(notes: Sequence[str]) -> Iterator[str]:
    """Yield notes as sentences."""
    return (f"{note[:1].upper()}{note[1:]}." for note in notes)


def _columns(draft: SpecDraft, line: str) -> Iterator[str]:
    dropped = {facts.name: draft.roles[facts.name].reason for facts in draft.of_role("drop")}
    dropped |= {column.name: column.reason for column in draft.table.unfit}
    if dropped:
        yield comment(_DROPPED)
        names = [name for name in draft.table.source.seen if name in dropped]
        yield from (comment(f"  {scalar(name)}: {dropped[name]}") for name in names)
    yield "other-columns: drop\n"
    yield "columns:\n"
    for facts in draft.facts:
        proposed = draft.roles[facts.name]
        if proposed.role != "drop":
            keys = column_keys(draft, facts, proposed, line)
            yield comment(column_reason(draft, facts, proposed), "  ")
            yield f"  {scalar(facts.name)}: {flow(keys)}\n"
    if draft.unit is None:
        if draft.shared_identifier is not None:
            yield comment(_words_on_repeats(draft.shared_identifier))
        without = _NO_UNIT if draft.rows else _UNIT_UNKNOWN
        yield comment(without if draft.gaps is None else _words_on_gaps(draft.gaps))
        yield "unit: row\n"
    elif draft.unit.household in draft.identifiers:
        yield comment(_HOUSEHOLD)
        yield entry("household", draft.unit.household)


def column_keys(
    draft: SpecDraft, facts: ColumnFacts, proposed: ProposedRole, line: str
) -> dict[str, Any]:
    """Return the keys of a column that has a line of its own."""
    keys: dict[str, Any] = {"role": proposed.role}
    if facts.type != "string":
        keys["type"] = facts.type
    if draft.unit is not None and draft.unit.name == facts.name:
        keys |= {"unit": True} | ({"nulls": "drop-row"} if draft.unit.missing else {})
        keys |= {"repeat": "keep-one"} if draft.unit.repeats else {}
    else:
        keys |= propose_nulls(facts, drops=draft.groups_by(facts))
    if proposed.role == "sensitive" and has_spellings(facts):
        keys["unite"] = "spellings"
    if facts.name in draft.skeletons:
        skeleton = draft.skeletons[facts.name]
        keys |= skeleton.keys
        if skeleton.rows is not None:
            keys["hierarchy"] = {"file": _file(line, facts.name)}
    return keys | dict(draft.further_keys.get(facts.name, {}))


def column_reason(draft: SpecDraft, facts: ColumnFacts, proposed: ProposedRole) -> str:
    """Return why a column has its role and keys, in words without a value."""
    words = proposed.reason
    if draft.unit is not None and draft.unit.name == facts.name:
        words += f"; {_UNNUMBERED}" if draft.unit.missing else ""
        words += f". {_REPEATS}" if draft.unit.repeats else ""
    elif facts.missing and draft.groups_by(facts):
        words += f"; {_LEFT_OUT}"
    elif facts.missing:
        words += f"; {_NULLS if proposed.role == 'sensitive' else _MISSING}"
    if facts.name in draft.skeletons:
        words += f"; hierarchy: {draft.skeletons[facts.name].words}"
    return words


def _words_on_repeats(name: str) -> str:
    column = scalar(name)
    return (
        f"Several rows have the same {column}, so rows may be visits and not people. "
        f"If {column} identifies people, draft again with --unit {column}, or write "
        f"`{column}: {{role: identifier, unit: true, repeat: keep-one}}` (repeat: all "
        "keeps all rows). If it does not, write the reason in its line (unprotected: "
        "REASON)."
    )


def _words_on_gaps(facts: ColumnFacts) -> str:
    name = scalar(facts.name)
    return (
        f"Many rows have no {name}, so rows are counted as people, and each person "
        f"must have one row. If {name} identifies people, complete it, and write "
        f"`{name}: {{role: identifier, unit: true}}`."
    )


def _release(draft: SpecDraft) -> Iterator[str]:
    sensitive, quasi_identifiers = draft.of_role("sensitive"), draft.of_role("quasi-identifier")
    methods = propose_methods(sensitive, quasi_identifiers, draft.rows, draft.hide, draft.about)
    methods = methods if draft.method is None else [draft.method]
    if draft.policy is not None:
        methods = draft.policy.admit(methods, draft.hide)
    method, *others = methods
    if draft.strata:
        yield f"strata: {flow(list(draft.strata))}\n"
    yield comment(method.words)
    yield _method(method)
    for other in others:
        yield comment(words_before(other, draft.hide))
        yield textwrap.indent(_method(other), "# ")
    yield f"publish: {{uri: {PUBLISHED}}}\n"
    if draft.policy is not None:
        yield from draft.policy.lines([scalar(facts.name) for facts in draft.facts])
    workloads = (
        propose_workloads(quasi_identifiers, sensitive, draft.hide, draft.about)
        if draft.rows
        else []
    )
    likely = method.form in MEASURED_FORMS and draft.rows <= MOST_ROWS_MEASURED
    if workloads or likely:
        yield "\n" + "evaluate:\n"
    if likely:
        yield comment(_LIKELY, "  ")
        yield "  intervals: 95\n"
    if workloads:
        yield comment(_ASKED, "  ")
        yield "  workloads:\n"
        yield from (f"    - {flow(workload)}\n" for workload in workloads)


def _method(method: ProposedMethod) -> str:
    promises = "".join(f"  - {flow(promise)}\n" for promise in method.promises)
    partition = {"method": method.partition, **method.settings}
    form = {"method": method.form, **method.form_settings}
    choices = f"partition: {flow(partition)}\nform: {flow(form)}\n"
    return f"promises:\n{promises}{choices}"


def _file(line: str, column: str) -> str:
    return f"hierarchies/{line}-{safe_name(column)}.draft.csv"


def comment(text: str, indent: str = "") -> str:
    r"""Return a text as lines of comments; its own lines stay lines.

    >>> comment("rows of people", "  ")
    '  # rows of people\n'
    """
    prefix = f"{indent}# "
    lines = [
        wrapped
        for line in text.splitlines()
        for wrapped in textwrap.wrap(line, _WIDTH - len(prefix), drop_whitespace=True)
    ]
    return "".join(f"{prefix}{line}\n" for line in lines)


def entry(key: str, value: Any) -> str:
    """Write a key and its value, further lines indented below it."""
    first, *rest = flow(value, _WIDTH).split("\n")
    return "\n    ".join([f"{key}: {first}", *(line.strip() for line in rest)]) + "\n"


def flow(value: Any, width: int = 10**6) -> str:
    """Return a value in flow style, on one line unless it is wider than `width`.

    >>> flow({"role": "drop"})
    '{role: drop}'
    """
    text = yaml.safe_dump(
        value, default_flow_style=True, width=width, sort_keys=False, allow_unicode=True
    )
    without_marks = re.sub(r"([{,] ?)\? ('[^']*'|\"[^\"]*\") :", r"\1\2:", text)
    return re.sub(r"\n\.\.\.\n\Z", "", without_marks).rstrip("\n")


def scalar(name: str) -> str:
    """Return a name as YAML writes it, in quotes where it needs them."""
    return flow(name)
