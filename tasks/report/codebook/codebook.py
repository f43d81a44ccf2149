"""The codebook: each published column in words, and what stands of it in the files."""

from dataclasses import dataclass

from sfumato.tasks.forms.form import Tables
from sfumato.tasks.report.codebook.marginals import Marginal, marginal
from sfumato.tasks.report.codebook.standing_values import StandingValues, standing_values
from sfumato.tasks.report.codings import coding_lines
from sfumato.tasks.report.lines.said import NO_LABELS, labels_in_order
from sfumato.tasks.report.plots.plot import plural
from sfumato.tasks.report.snippets.registry import SNIPPETS
from sfumato.tasks.schema.published import DeclaredColumn
from sfumato.tasks.terms.terms import Declared

_ROLES = {
    "quasi-identifier": "Quasi-identifier: others may know it of a person.",
    "insensitive": "Insensitive: published beside the others, and no promise is about it.",
    "sensitive": "Sensitive: what nobody must learn of a person.",
    "weight": "Weight: how many people of the population the row stands for.",
}
_CAPTIONS = {
    "row": "How many rows have each value",
    "group": "How many groups admit each value; of several values together, one counted by one",
    "count": "How often each stands in the files, by their counts",
}


@dataclass(frozen=True)
class CodebookEntry:
    """A published column.

    Attributes:
        role: in words.
        description: of its values, as its owner says; None where nothing is said.
        labels: what its codes mean, as its owner says, in the order of the codes.
        whole: these are all that the owner's list has, published or not.
        tables: the names of those in which it stands.
        place: as what it stands there.
        ranged: ranges stand in the place of its values.
        missing: whether and how often values are missing.
        codings: what was done to its values before, by title.
        counted: what stands once for each value: a row, a group, or a count.
        caption: what the bars count.
        marginal: how often its values occur in the files; None where something was computed from
            the values of people to code them, which the ends of what is published would tell.
    """

    role: str
    description: str | None
    labels: tuple[tuple[str, str], ...]
    whole: bool
    tables: tuple[str, ...]
    place: str
    ranged: bool
    missing: str
    codings: tuple[str, ...]
    counted: str
    caption: str
    marginal: Marginal | None


def codebook(declared: Declared, tables: Tables) -> dict[str, CodebookEntry]:
    """An entry for each column by its name."""
    return {
        name: _entry(name, declared, standing_values(name, tables)) for name in declared.columns
    }


def _entry(name: str, declared: Declared, of: StandingValues) -> CodebookEntry:
    column = declared.columns[name]
    counted = _counted(column, declared, of)
    labels = declared.words.labels.get(name, NO_LABELS)
    return CodebookEntry(
        _ROLES[column.told_role],
        declared.words.columns.get(name),
        labels_in_order(labels),
        labels.whole,
        of.tables,
        _place(of, counted),
        of.ranged,
        _missing(column, of, counted),
        tuple(line.title for line in coding_lines(declared) if name in line.columns),
        counted,
        _CAPTIONS[counted],
        None if column.computed else marginal(of, column.type),
    )


def _counted(column: DeclaredColumn, declared: Declared, of: StandingValues) -> str:
    """The noun of what is counted of a column."""
    if of.counted:
        return "count"
    if column.role == "sensitive":
        return "row"
    return SNIPPETS[declared.form.shows].counted


def _place(of: StandingValues, counted: str) -> str:
    if of.counted:
        return "as ranges, each with a count" if of.ranged else "each value with a count"
    return "one in each row" if counted == "row" else f"each value once for each {counted}"


def _missing(column: DeclaredColumn, of: StandingValues, counted: str) -> str:
    if not column.nulls:
        return "never"
    if not of.missing:
        return "never in these files"
    times = plural(of.missing, "time" if counted == "count" else counted)
    return f"{times}, as a category of its own"
