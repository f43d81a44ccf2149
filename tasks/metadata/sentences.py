"""Sentences about a release that several standards have fields for, from its manifest alone."""

from collections.abc import Iterator

from sfumato.tasks.metadata.description import ReleaseDescription
from sfumato.tasks.report.codings import coding_lines
from sfumato.tasks.report.line_entries import describe_version
from sfumato.tasks.report.numbers import plural, thousands
from sfumato.tasks.terms.terms import Declared

_LEFT_OUT = {
    "dropped_by_filter": "by the publisher's filter",
    "dropped_for_nulls": "because values were missing",
    "dropped_as_repeats": "because they were about the same person as another row",
    "suppressed": "to keep the promises",
    "not_represented_versions": "because earlier versions keep those people out",
}
_RELATED_LEFT_OUT = {
    **{key: _LEFT_OUT[key] for key in ("dropped_by_filter", "dropped_for_nulls")},
    "dropped_as_orphans": "because their person is not in the table of people",
    "dropped_with_people": "because their people were left out",
}
FORM_SENTENCES = {
    "generalized": "Labels, such as ranges, replace the values of quasi-identifiers.",
    "suppressed": "Some values of quasi-identifiers are hidden (*).",
    "permuted": (
        "Sensitive values were shuffled within each group of rows, so the value in a row need not "
        "belong to the person whom the row is about."
    ),
    "split": (
        "Sensitive values are in tables of their own, with counts by group: no file shows which "
        "person has which value."
    ),
    "ambiguous": (
        "Each quasi-identifier is in a table of its own, by group: no file shows which values "
        "belong to the same person."
    ),
    "apart": (
        "People and the rows that belong to them are in two tables, linked by group: no file shows "
        "which row belongs to which person of a group."
    ),
    "redistributed": (
        "Ranges replace sensitive values, with counts by group that may include fake values."
    ),
}
"""What the published tables of each form cannot show, by the form's name."""
_ROLES = {
    "quasi-identifier": "others may know it about a person",
    "sensitive": "others must not learn it about a person",
}
_UNPROTECTED = "no promise covers it, for a reason on the release's page"


def summary(release: ReleaseDescription) -> str:
    """Return the publisher's description, otherwise a sentence about rows, columns and promises."""
    if release.description is not None:
        return release.description
    return (
        f"{release.title}. Public microdata {_tables(release.declaration)}. "
        f"Promises: {'; '.join(promises(release))}."
    )


def _tables(declared: Declared) -> str:
    """Return the numbers of rows and the columns of the one table, or of two related ones."""
    if (counts := declared.related_rows) is None:
        columns = ", ".join(declared.columns)
        return f"with {plural(declared.rows.published, 'row')} and the columns {columns}"
    related = declared.form.related_columns
    rows = {
        declared.form.table_of_rows: declared.rows.published,
        declared.form.related_table: counts.published,
    }
    columns_by_table = ([name for name in declared.columns if name not in related], related)
    tables = [
        f"{name} ({plural(number, 'row')}; {', '.join(columns)})"
        for (name, number), columns in zip(rows.items(), columns_by_table, strict=True)
    ]
    return f"in two tables: {' and '.join(tables)}"


def promises(release: ReleaseDescription) -> tuple[str, ...]:
    """Return the promises, each in one line."""
    return describe_version(release.release.manifest).promises


def anonymization(release: ReleaseDescription) -> str:
    """Return how the table was anonymized: grouping, form and promises."""
    declared = release.declaration
    form = FORM_SENTENCES.get(declared.form.method, "")
    return (
        f"Rows were grouped (partition {declared.partition.method}) and published in the form "
        f"{declared.form.method}. {form} Promises: "
        f"{'; '.join(promises(release))}."
    ).replace("  ", " ")


def codings(release: ReleaseDescription) -> tuple[str, ...]:
    """Return the codings that changed values before they were grouped, each in a sentence."""
    return tuple(
        f"{line.title} ({', '.join(line.columns)}): {line.rule}"
        for line in coding_lines(release.declaration)
    )


def rows_left_out(declared: Declared) -> str | None:
    """Return the number of rows that are not in the release by reason; None if all are there."""
    words = {**_LEFT_OUT, "suppressed": _of_suppressed(declared)}
    counts = {reason: getattr(declared.rows, key) for key, reason in words.items()}
    reasons = [f"{thousands(count)} {reason}" for reason, count in counts.items() if count]
    if not reasons:
        return None
    return f"Of {plural(declared.rows.read, 'row')} these were left out: {', '.join(reasons)}."


def omissions(declared: Declared) -> str | None:
    """Return what is not in the release by reason, also rows of a second table; None if nothing."""
    sentences = (rows_left_out(declared), _related_rows_left_out(declared))
    return " ".join(sentence for sentence in sentences if sentence) or None


def _related_rows_left_out(declared: Declared) -> str | None:
    if (counts := declared.related_rows) is None:
        return None
    numbers = {reason: getattr(counts, key) for key, reason in _RELATED_LEFT_OUT.items()}
    reasons = [f"{thousands(number)} {reason}" for reason, number in numbers.items() if number]
    if not reasons:
        return None
    rows = f"{plural(counts.read, 'row')} of {declared.form.related_table}"
    return f"Of {rows} these were left out: {', '.join(reasons)}."


def _of_suppressed(declared: Declared) -> str:
    """Return why people were suppressed: for the promises, or for their many related rows."""
    most = declared.form.most_related_rows
    if most is None:
        return _LEFT_OUT["suppressed"]
    return f"because they have more than {thousands(most)} rows of {declared.form.related_table}"


def limitations(release: ReleaseDescription) -> Iterator[str]:
    """Yield what the published tables cannot show."""
    declared = release.declaration
    if (form := FORM_SENTENCES.get(declared.form.method)) is not None:
        yield form
    derived = {name: c for name, c in declared.columns.items() if c.derive is not None}
    if facts := [name for name, column in derived.items() if column.role == "sensitive"]:
        yield (
            f"Values of {', '.join(facts)} were shuffled within each group of people: a value in a "
            "row need not be that person's."
        )
    for name in derived.keys() - {*facts}:
        yield (
            f"{name} is the number of rows of {declared.form.related_table} of each person, as it "
            "is. Which of a group's rows are a person's is not shown."
        )
    if (reasons := omissions(declared)) is not None:
        yield reasons
    if declared.rows.fakes:
        yield f"{plural(declared.rows.fakes, 'value')} were added that belong to no person."
    if declared.rows.vacant:
        yield f"{plural(declared.rows.vacant, 'value')} of people who left are still shown."


def people_columns(declared: Declared) -> Iterator[str]:
    """Yield the columns of each role that bears on privacy, with the meaning of the role."""
    for role, meaning in _ROLES.items():
        names = declared.names_with_roles(role)
        without = [name for name in names if declared.columns[name].unprotected]
        pairs = (meaning, [name for name in names if name not in without]), (_UNPROTECTED, without)
        for words, columns in pairs:
            if columns:
                yield f"{role.capitalize()} ({words}): {', '.join(columns)}"


def people_counted(declared: Declared) -> str:
    """Return whom a row is about."""
    if declared.has_related_rows:
        people, related = declared.form.table_of_rows, declared.form.related_table
        return f"Each row of {people} is about another person. Rows of {related} belong to them."
    if declared.rows_are_people:
        return "Each row is about another person."
    if declared.unit == "row":
        return "Rows are counted as people."
    return f"People may have several rows; promises are kept over {declared.kept_over}."
