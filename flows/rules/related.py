"""The rules of a spec of two related tables: what they do not go with yet."""

from collections.abc import Callable
from typing import TYPE_CHECKING

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
            "compared with related rows yet. Publish people who are in no other line",
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


RULES: tuple[Callable[[SpecParts], None], ...] = (
    _two_tables,
    _free_names,
    _one_reason,
    _promises_of_two,
)
