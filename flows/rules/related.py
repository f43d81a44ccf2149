"""The rules of a spec of two related tables: what they do not go with yet, and facts (`derive`)."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from sfumato.expectations.shared.errors import InputError, SpecError
from sfumato.flows.rules.spec_parts import SpecParts
from sfumato.flows.rules.two_tables import APART
from sfumato.tasks.schema.columns import ColumnSpec

if TYPE_CHECKING:
    from sfumato.tasks.forms.related.parameters import ApartParameters


def _two_tables(spec: SpecParts) -> None:
    """Refuse what two related tables do not go with yet."""
    form = spec.form
    if (spec.related is None) != (form.shows != APART):
        raise ValueError("form: apart is made of two tables. Write them under `tables`")
    if spec.related is None:
        return
    if TYPE_CHECKING:
        assert isinstance(form, ApartParameters)
    refused = {
        "parts": (spec.parts is not None, "people and their rows are released as a whole"),
        "household": (spec.household is not None, "promises are kept over people"),
        "groups": (spec.groups is not None, "groups are made of these people"),
        "people": (
            spec.people is not None,
            "two lines about the same people are not "
            "compared with related rows yet. Publish people who are in no other line, or accept "
            "the risk, which the page will state (across-lines: accepted-risk)",
        ),
        "attacks": (bool(spec.attacks.root), "no attack on related rows can be limited yet"),
        "evaluate": (
            spec.evaluate.intervals is not None,
            "likely intervals of answers across both are not known yet. Leave intervals out",
        ),
        "versions": (
            spec.versions != "disjoint",
            "rows that are new in a version cannot be published by themselves yet, and tables "
            "that are published whole each time reveal more together than each promises. Publish "
            "people who are in no earlier version (source.where), with `versions: disjoint`",
        ),
    }
    for key, (stands, why) in refused.items():
        if stands:
            raise ValueError(f"{key}: cannot be used with two related tables, because {why}")
    if spec.grouping is None or spec.grouping.method != "mondrian":
        raise ValueError("partition: two related tables need `{method: mondrian}`")
    for name, column in spec.columns.items():
        _require_fitting(form, name, column)


def _one_reason(spec: SpecParts) -> None:
    """Refuse that people are left out for two reasons, which the release would not tell apart."""
    capped = spec.related is not None and spec.related.cap is not None
    if capped and getattr(spec.grouping, "leave", None):
        raise ValueError(
            "partition.leave: cannot be used with `maximum.at-most`, because the release states "
            "one reason why people are left out"
        )


def _free_names(spec: SpecParts) -> None:
    """Refuse words of SQL as names of tables, which queries could not write without quotes."""
    if spec.related is None:
        return
    from sfumato.tasks.sql.reserved import RESERVED

    for name in (spec.form.table_of_rows, spec.form.related_table):
        if name in RESERVED:
            raise ValueError(
                f"tables.{name}: is a word of SQL, so queries could not name the table. Give it "
                f"another name, such as {name}_table"
            )


def _promises_of_two(spec: SpecParts) -> None:
    """Refuse a promise about one table where there are two."""
    if spec.related is None:
        return
    of_rows = spec.form.related_columns
    for i, promise in enumerate(spec.promises):
        if promise.of_related and promise.protects and promise.sensitive in spec.facts:
            raise ValueError(
                f"promises.{i}.sensitive: {promise.sensitive} is a fact of people, and "
                f"{promise.name} is about rows of {spec.form.related_table}. Promise l-diversity, "
                "or another promise of one table"
            )
        if spec.facts and not promise.of_related and promise.sensitive in of_rows:
            raise ValueError(
                f"promises.{i}: {promise.name} is about the facts of people, and "
                f"{promise.sensitive} is a column of {spec.form.related_table}. Promise "
                "related-l-diversity or related-alpha"
            )
        if not spec.form.admits(promise) or not (promise.of_related or spec.facts):
            raise ValueError(
                f"promises.{i}: {promise.name} is about one table. Of two, promise people, "
                "related-l-diversity or related-alpha"
            )


def _require_fitting(form: "ApartParameters", name: str, column: ColumnSpec) -> None:
    """Refuse a column that two related tables cannot have yet."""
    if column.repeat == "all":
        raise ValueError(
            f"columns.{name}.repeat: each person has one row in {form.people}. Write keep-one to "
            "keep the first row of each"
        )
    if column.role == "weight":
        raise ValueError(f"columns.{name}: weights of people beside related rows are not known")
    if name in form.columns and column.role == "insensitive":
        raise ValueError(
            f"columns.{name}: every column of {form.related} is published beside the others. "
            "Give it role sensitive, with a promise or with `unprotected: REASON`"
        )


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
        _require_fact(name, column, spec.related.name)
    if spec.related is None or not spec.facts:
        return
    from sfumato.tasks.microdata.derived import require_types  # needs DuckDB

    try:
        require_types(spec.facts, spec.related.name, spec.related_columns)
    except (SpecError, InputError) as error:
        raise ValueError(str(error)) from None


def _require_fact(name: str, column: ColumnSpec, related: str) -> None:
    """Refuse a role, a type, or a key that no fact has."""
    from sfumato.tasks.forms.related.facts import is_published_number

    if column.role == "insensitive" and not is_published_number(column):
        raise ValueError(
            f"columns.{name}.role: only the number of rows can be published beside each person, "
            f"which is `numbers: published` of {related}. Write `role: sensitive`, with a promise "
            "or with `unprotected: REASON`"
        )
    if column.role not in ("sensitive", "insensitive"):
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
    from sfumato.tasks.forms.related.facts import fact_of_published_column
    from sfumato.tasks.microdata.derived import parse_facts

    published = set(spec.form.related_columns)
    parsed = parse_facts(spec.facts, spec.related.name, spec.related_columns)
    telling = {name: sorted(sql.columns & published) for name, sql in parsed.items()}
    telling = {name: columns for name, columns in telling.items() if columns}
    against = [i for i, p in enumerate(spec.promises) if getattr(p, "numbers", "hidden") == "known"]
    if not against:
        return
    if telling:
        name, columns = next(iter(telling.items()))
        raise ValueError(
            f"promises.{against[0]}.numbers: known cannot be kept beside the fact {name}, which is "
            f"computed from {', '.join(columns)}, published in {spec.form.related_table}. "
            "Together they may show to whom rows belong. Write `numbers: hidden`, which does "
            "not protect from anyone who knows how many rows each person has, or leave "
            f"{name} out, or give {', '.join(columns)} role drop"
        )
    if named := fact_of_published_column(spec.facts, spec.form.related_columns):
        fact, column = named
        raise ValueError(
            f"columns.{fact}.derive: uses the name {column} with another meaning. A column of this "
            f"name is published in {spec.form.related_table}, and a check of the release takes one "
            "for the other. Use another name, or rename the column (source.rename)"
        )


def _published_numbers(spec: SpecParts) -> None:
    """Refuse what published numbers of rows do not go with."""
    if spec.related is None or not spec.facts:
        return
    from sfumato.tasks.forms.related.facts import beside_published_number, published_number

    if published_number(spec.facts) is None:
        return
    if fault := beside_published_number(spec.facts, spec.promises):
        raise ValueError(": ".join(fault))


RULES: tuple[Callable[[SpecParts], None], ...] = (
    _two_tables,
    _free_names,
    _one_reason,
    _promises_of_two,
    _facts,
    _published_numbers,
    _facts_and_numbers,
)
