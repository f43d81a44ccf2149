"""The draft of a spec: text with a reason beside every role, and nothing of the source itself."""

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import yaml

from sfumato.tasks.profile.facts import ColumnFacts
from sfumato.tasks.profile.roles import ProposedRole, has_spellings
from sfumato.tasks.profile.skeletons import Rows, Skeleton, round_up, skeleton_of
from sfumato.tasks.profile.table import FoundTable
from sfumato.tasks.profile.units import FoundUnit
from sfumato.tasks.schema.columns import ORDERED, Role
from sfumato.tasks.schema.names import safe_name

_L = 3
_K = ((100, 5), (30, 3), (0, 2))  # from so many rows on
_SPANS = (20, 10, 4, 2)  # parts of a column's range
_MOST = 2  # quasi-identifiers over which ranges are asked
_OPPOSED = 2  # quasi-identifiers of which counts are asked together
PUBLISHED = "releases"
_WIDTH = 96
_HEAD = """\
A draft of a release spec, made by sfumato init. No value and no count of the data stands
here: those are in the private profile, whose path the command printed.
Read every column's role and the reason above it, change what is wrong, and confirm:"""
_CONFIRM = "roles: proposed  # <- write `confirmed`; until then nothing runs\n"
_DROPPED = "Dropped, and the reason; a line of its own gives a column another role:"
_REPEATS = (
    "People have several rows. A release has one of each: the first, unless source.where chooses "
    "another, or the source is first summed up by person. repeat: all has all of them, and keeps "
    "promises over people, too."
)
_HOUSEHOLD = (
    "Whoever knows one of a household often knows the others: promises are kept over households, "
    "too. Leave it out where that costs too much."
)
_NULLS = (
    "nulls: category keeps rows without a value, and null is one more value to promises; drop-row "
    "leaves these rows out"
)
_UNNUMBERED = "rows without one are nobody's, and are left out (nulls: drop-row)"
_NO_UNIT = "No column tells people apart: rows are counted as people, so each must have one."
_PROMISED = (
    "Nobody can be told from k - 1 others by the quasi-identifiers; each group has l different "
    "values of what is sensitive. Larger numbers promise more, and answers become less accurate."
)
_ASKED = "On what accuracy is measured: put what your readers will ask in its place."


def propose_promises(sensitive: Sequence[ColumnFacts], rows: int) -> list[dict[str, Any]]:
    """k-anonymity, and different values of each sensitive column in every group.

    The whole table keeps them, and so a partition that merges what does not can keep them.
    """
    k = next(k for least, k in _K if rows >= least)
    promises: list[dict[str, Any]] = [{"model": "k-anonymity", "k": k}]
    for one in sensitive:
        different = max(2, min(_L, one.distinct + bool(one.missing)))
        promise: dict[str, Any] = {"model": "l-diversity", "variant": "distinct", "l": different}
        promises.append(promise | ({"sensitive": one.name} if len(sensitive) > 1 else {}))
    return promises


def propose_workloads(
    known: Sequence[ColumnFacts], sensitive: Sequence[ColumnFacts]
) -> list[dict[str, Any]]:
    """Counts and averages over ranges of quasi-identifiers, and counts of several together."""
    return list(_workloads(known, sensitive))


def _workloads(
    known: Sequence[ColumnFacts], sensitive: Sequence[ColumnFacts]
) -> Iterator[dict[str, Any]]:
    if not sensitive or not known:
        return
    several = len(sensitive) > 1
    ranged = [(one, spans) for one in known if (spans := _spans(one))]
    for one, spans in ranged[:_MOST]:
        over = {"over": one.name, "spans": spans}
        first = {"of": sensitive[0].name} if several else {}
        yield {"kind": "range", "aggregate": "count", **over, **first}
        for number in (s for s in sensitive if s.is_number):
            of = {"of": number.name} if several else {}
            yield {"kind": "range", "aggregate": "avg", **over, **of}
    for one in sensitive:
        of = {"of": one.name} if several else {}
        yield {"kind": "counts", "attributes": min(_OPPOSED, len(known)), **of}


def _spans(one: ColumnFacts) -> list[int]:
    """Round widths that are parts of a column's range; none where it has no ranges."""
    if one.type not in ORDERED or one.type == "timestamp" or one.distinct < _SPANS[-2]:
        return []
    length = _length(one.column.values[0].as_py(), one.column.values[-1].as_py())
    return sorted({round_up(length / part) for part in _SPANS if length / part >= 1})


def _length(first: Any, last: Any) -> float:
    if isinstance(first, date | datetime):
        return float((last - first).days)
    return float(last - first)


def propose_nulls(one: ColumnFacts) -> Mapping[str, str]:
    """A null policy for a column that has nulls: their rows stay."""
    return {"nulls": "category"} if one.missing else {}


@dataclass(frozen=True, eq=False)
class SpecDraft:
    """A table with all that is proposed of it.

    Attributes:
        found: the source.
        facts: of the represented rows.
        rows: how many these are.
        unit: whom they are about.
        gaps: a column that would say so, did not many rows lack a value of it.
        roles: by column.
        skeletons: of hierarchies by quasi-identifier.
    """

    found: FoundTable
    facts: tuple[ColumnFacts, ...]
    rows: int
    unit: FoundUnit | None
    gaps: ColumnFacts | None
    roles: Mapping[str, ProposedRole]
    skeletons: Mapping[str, Skeleton]

    @property
    def identifiers(self) -> list[str]:
        """The names of the columns that tell who somebody is."""
        return [one.name for one in self.of_role("identifier")]

    def of_role(self, role: Role) -> list[ColumnFacts]:
        """The columns with a role, in order."""
        return [one for one in self.facts if self.roles[one.name].role == role]


def skeletons_of(
    facts: Sequence[ColumnFacts],
    whole: Sequence[ColumnFacts],
    roles: Mapping[str, ProposedRole],
) -> dict[str, Skeleton]:
    """The skeletons of hierarchies of quasi-identifiers that need one.

    Args:
        facts: of the represented rows.
        whole: of all rows, column by column.
        roles: by column.
    """
    columns = zip(facts, whole, strict=True)
    known = (both for both in columns if roles[both[0].name].role == "quasi-identifier")
    made = {one.name: skeleton_of(one, other) for one, other in known}
    return {name: skeleton for name, skeleton in made.items() if skeleton is not None}


def hierarchy_files(draft: SpecDraft, line: str) -> dict[str, Rows]:
    """The rows of hierarchies by the path of their file, relative to the spec."""
    made = ((name, skeleton.rows) for name, skeleton in draft.skeletons.items())
    return {_file(line, name): rows for name, rows in made if rows is not None}


def spec_text(draft: SpecDraft, line: str, title: str) -> str:
    """The draft of a spec.

    Args:
        draft: what is proposed.
        line: the name of the release line.
        title: of it.
    """
    parts = (_head(line, title), _source(draft), _columns(draft, line), _release(draft))
    return "\n".join("".join(part) for part in parts)


def _head(line: str, title: str) -> Iterator[str]:
    yield _comment(_HEAD)
    yield _CONFIRM
    yield "\n"
    yield "version: 2\n"
    yield _entry("name", line)
    yield _entry("title", title)


def _source(draft: SpecDraft) -> Iterator[str]:
    source = draft.found.source.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    order = [key for key in ("uri", "format", *source, "seen") if key in source]
    yield "source:\n"
    for key in dict.fromkeys(sorted(order, key=lambda key: key == "seen")):
        yield textwrap.indent(_entry(key, source[key]), "  ")


def _columns(draft: SpecDraft, line: str) -> Iterator[str]:
    dropped = draft.of_role("drop")
    if dropped:
        yield _comment(_DROPPED)
        yield from (_comment(f"  {_scalar(o.name)}: {draft.roles[o.name].reason}") for o in dropped)
    yield "other-columns: drop\n"
    yield "columns:\n"
    for one in draft.facts:
        proposed = draft.roles[one.name]
        if proposed.role != "drop":
            keys = _keys(draft, one, proposed, line)
            yield _comment(_said(draft, one, proposed), "  ")
            yield f"  {_scalar(one.name)}: {_flow(keys)}\n"
    if draft.unit is None:
        yield _comment(_NO_UNIT if draft.gaps is None else _of_gaps(draft.gaps))
        yield "unit: row\n"
    elif draft.unit.household in draft.identifiers:
        yield _comment(_HOUSEHOLD)
        yield _entry("household", draft.unit.household)


def _keys(draft: SpecDraft, one: ColumnFacts, proposed: ProposedRole, line: str) -> dict[str, Any]:
    keys: dict[str, Any] = {"role": proposed.role}
    if one.type != "string":
        keys["type"] = one.type
    if draft.unit is not None and draft.unit.name == one.name:
        keys |= {"unit": True} | ({"nulls": "drop-row"} if draft.unit.missing else {})
        keys |= {"repeat": "keep-one"} if draft.unit.repeats else {}
    else:
        keys |= propose_nulls(one)
    if proposed.role == "sensitive" and has_spellings(one):
        keys["unite"] = "spellings"
    if one.name in draft.skeletons:
        skeleton = draft.skeletons[one.name]
        keys |= skeleton.keys
        if skeleton.rows is not None:
            keys["hierarchy"] = {"file": _file(line, one.name)}
    return keys


def _said(draft: SpecDraft, one: ColumnFacts, proposed: ProposedRole) -> str:
    words = proposed.reason
    if draft.unit is not None and draft.unit.name == one.name:
        words += f"; {_UNNUMBERED}" if draft.unit.missing else ""
        words += f". {_REPEATS}" if draft.unit.repeats else ""
    if proposed.role == "sensitive" and one.missing:
        words += f"; {_NULLS}"
    if one.name in draft.skeletons:
        words += f"; hierarchy: {draft.skeletons[one.name].words}"
    return words


def _of_gaps(one: ColumnFacts) -> str:
    name = _scalar(one.name)
    return (
        f"Many rows have no {name}: rows are counted as people, so each must have one. If {name} "
        f"numbers people, complete it, and write {name}: {{role: identifier, unit: true}}."
    )


def _release(draft: SpecDraft) -> Iterator[str]:
    sensitive, known = draft.of_role("sensitive"), draft.of_role("quasi-identifier")
    yield _comment(_PROMISED)
    yield "promises:\n"
    yield from (f"  - {_flow(one)}\n" for one in propose_promises(sensitive, draft.rows))
    yield "partition: {method: mondrian}\n"
    yield "form: {method: generalized}\n"
    yield f"publish: {{uri: {PUBLISHED}}}\n"
    workloads = propose_workloads(known, sensitive)
    if workloads:
        yield "\n" + _comment(_ASKED)
        yield "evaluate:\n"
        yield "  workloads:\n"
        yield from (f"    - {_flow(one)}\n" for one in workloads)


def _file(line: str, column: str) -> str:
    return f"hierarchies/{line}-{safe_name(column)}.draft.csv"


def _comment(text: str, indent: str = "") -> str:
    prefix = f"{indent}# "
    lines = [
        wrapped
        for line in text.splitlines()
        for wrapped in textwrap.wrap(line, _WIDTH - len(prefix), drop_whitespace=True)
    ]
    return "".join(f"{prefix}{line}\n" for line in lines)


def _entry(key: str, value: Any) -> str:
    """A key and its value, further lines indented below it."""
    first, *rest = _flow(value, _WIDTH).split("\n")
    return "\n    ".join([f"{key}: {first}", *(line.strip() for line in rest)]) + "\n"


def _flow(value: Any, width: int = 10**6) -> str:
    text = yaml.safe_dump(
        value, default_flow_style=True, width=width, sort_keys=False, allow_unicode=True
    )
    return re.sub(r"\n\.\.\.\n\Z", "", text).rstrip("\n")


def _scalar(name: str) -> str:
    return _flow(name)
