"""The rules of facts of people, which are computed from the rows of a second table (`derive`)."""

from collections.abc import Callable

from sfumato.expectations.shared.errors import InputError, SpecError
from sfumato.flows.rules.spec_parts import SpecParts
from sfumato.tasks.schema.columns import ColumnSpec

_NO_FACTS = (
    ("values", "the accepted values of the source"),
    ("range", "the limits of the source's values"),
    ("hierarchy", "generalizations"),
    ("same_as", "its name in another line"),
)


def _facts(spec: SpecParts) -> None:
    """Refuse facts that cannot be computed from related rows of one person."""
    for name, column in spec.facts.items():
        if spec.related is None:
            raise ValueError(
                f"columns.{name}.derive: is computed from the rows of a second table, and the "
                "spec has one table. Write both under `tables`"
            )
        if name in spec.related.columns:
            raise ValueError(
                f"columns.{name}.derive: is a fact of a person. Write it among the columns of "
                f"{spec.form.table_of_rows}"
            )
        _require_fact(name, column)
    if spec.related is None or not spec.facts:
        return
    from sfumato.tasks.microdata.derived import require_types  # needs DuckDB

    try:
        require_types(spec.facts, spec.related.name, spec.related_columns)
    except (SpecError, InputError) as error:
        raise ValueError(str(error)) from None


def _require_fact(name: str, column: ColumnSpec) -> None:
    """Refuse a role, a type, or a key that no fact has."""
    if column.role != "sensitive":
        raise ValueError(
            f"columns.{name}.role: a fact of a person is sensitive. Write `role: sensitive`, with "
            "a promise or with `unprotected: REASON`"
        )
    if column.type not in ("boolean", "integer", "decimal"):
        raise ValueError(
            f"columns.{name}.type: a fact is boolean, integer or decimal. In place of a date write "
            "the days between two; in place of a text a condition such as BOOL_OR(ward = 'A')"
        )
    for key, words in _NO_FACTS:
        if getattr(column, key) is not None:
            raise ValueError(
                f"columns.{name}.{key.replace('_', '-')}: {words} mean nothing for a fact, which "
                "is computed. Leave this key out"
            )


def _facts_and_numbers(spec: SpecParts) -> None:
    """Refuse promises against who knows numbers of rows beside facts of columns that are shown.

    Facts of numbers of rows, and of columns that are not published, say nothing more to who knows
    all numbers: whoever is given other rows may have had them on the same days.
    """
    if spec.related is None or not spec.facts:
        return
    from sfumato.tasks.microdata.derived import parse_facts

    published = set(spec.form.related_columns)
    parsed = parse_facts(spec.facts, spec.related.name, spec.related_columns)
    telling = {name: sorted(sql.columns & published) for name, sql in parsed.items()}
    telling = {name: columns for name, columns in telling.items() if columns}
    if not telling:
        return
    name, columns = next(iter(telling.items()))
    for i, promise in enumerate(spec.promises):
        if getattr(promise, "numbers", "hidden") == "known":
            raise ValueError(
                f"promises.{i}.numbers: known cannot be kept beside the fact {name}, which is "
                f"computed from {', '.join(columns)}, published in {spec.form.related_table}. "
                "Together they may show to whom rows belong. Write `numbers: hidden`, which does "
                "not protect from anyone who knows how many rows each person has, or leave "
                f"{name} out, or give {', '.join(columns)} role drop"
            )


RULES: tuple[Callable[[SpecParts], None], ...] = (_facts, _facts_and_numbers)
