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
    declared = release.declaration
    columns = ", ".join(declared.columns)
    return (
        f"{release.title}. Public microdata with {plural(declared.rows.published, 'row')} and the "
        f"columns {columns}. Promises: {'; '.join(promises(release))}."
    )


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
    if facts := [name for name, column in declared.columns.items() if column.derive is not None]:
        yield (
            f"Values of {', '.join(facts)} were shuffled within each group of people: a value in a "
            "row need not be that person's."
        )
    if (left_out := rows_left_out(declared)) is not None:
        yield left_out
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
    if declared.rows_are_people:
        return "Each row is about another person."
    if declared.unit == "row":
        return "Rows are counted as people."
    return f"People may have several rows; promises are kept over {declared.kept_over}."
