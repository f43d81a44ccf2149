"""Facts of people beside their related rows, and questions about people by themselves.

Facts are shuffled within groups, so that the table of people is one of form `permuted`: questions
that read no related rows are answered as those are. Beside related rows a condition on facts says
only how many of a group's people meet it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from sqlglot import exp

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.forms.declared import FormParameters
from sfumato.tasks.forms.form_parameters import PermutedParameters
from sfumato.tasks.forms.related.parameters import ApartParameters
from sfumato.tasks.query.question.inquiry import Inquiry
from sfumato.tasks.query.question.question import TABLE, Matching
from sfumato.tasks.query.question.ways import facts_of
from sfumato.tasks.terms.terms import Terms

_Declared = TypeVar("_Declared", bound=Terms)
_Table = TypeVar("_Table")


def people_alone(declared: _Declared) -> _Declared:
    """Return the terms of a release of people alone, whose facts are permuted."""
    form = declared.form
    if not isinstance(form, ApartParameters):
        raise TypeError(form.method)
    related = set(form.related_columns)
    columns = {name: column for name, column in declared.columns.items() if name not in related}
    permuted = PermutedParameters(method="permuted", sensitive=form.sensitive)
    promises = tuple(promise for promise in declared.promises if not promise.of_related)
    changes = {"columns": columns, "form": permuted, "promises": promises}
    return declared.model_copy(update=changes)


def tables_alone(tables: Mapping[str, _Table], form: FormParameters) -> dict[str, _Table]:
    """Return the table of people under the name that queries of one table have, and help tables."""
    people = form.table_of_rows
    others = {n: t for n, t in tables.items() if n not in (people, form.related_table)}
    return {**others, **({TABLE: tables[people]} if people in tables else {})}


def with_people_named(query: exp.Select, form: FormParameters) -> exp.Select:
    """Return a query of people alone that names their table as the release does."""
    for table in list(query.find_all(exp.Table)):
        if table.name == TABLE:
            renamed = exp.to_table(form.table_of_rows)
            if table.alias:
                renamed.set("alias", table.args["alias"].copy())
            table.replace(renamed)
    for column in query.find_all(exp.Column):
        if column.table == TABLE:
            column.set("table", exp.to_identifier(form.table_of_rows))
    return query


def conditions_on_facts(
    matching: Sequence[Matching], declared: Terms
) -> tuple[list[exp.Expr], list[Matching]]:
    """Return the conditions on facts, and those on related rows or marks."""
    facts = set(facts_of(declared))
    of_facts = [part.condition for part in matching if facts & {*part.columns}]
    return of_facts, [part for part in matching if not facts & {*part.columns}]


def beside_counts(inquiry: Inquiry, declared: Terms) -> Inquiry:
    """Return an inquiry about people alone as one beside their rows, if only that can be written.

    Databases have no help tables for answers by facts, or by what is calculated from facts. If such
    an inquiry only counts people, it needs none.
    """
    facts = _with_calculated(inquiry, declared)
    by_facts = any(key.name in facts for key in inquiry.keys)
    calculates = any(column.sensitive for column in inquiry.calculated)
    counts = all(part.only_counts_rows and not part.exact for part in inquiry.parts)
    if inquiry.related is None or not counts or not (by_facts or calculates):
        return inquiry
    return replace(inquiry, related=replace(inquiry.related, alone=False))


def require_no_facts(inquiry: Inquiry, declared: Terms) -> None:
    """Refuse aggregates of facts in an inquiry that also reads related rows.

    Raises:
        QueryError: with what to ask instead.
    """
    facts, form = _with_calculated(inquiry, declared), declared.form
    for part in inquiry.parts:
        for aggregate in (*part.aggregates, *part.exact):
            if aggregate.sensitive in facts:
                raise QueryError(
                    f"{aggregate.kind.sql_name} of a fact of people has no bounds beside rows of "
                    f"{form.related_table}. Ask {form.table_of_rows} by itself, without EXISTS, IN "
                    f"or a join with {form.related_table}"
                )


def _with_calculated(inquiry: Inquiry, declared: Terms) -> set[str]:
    """Return the facts, and the columns that an inquiry calculates from some."""
    facts = set(facts_of(declared))
    for column in inquiry.calculated:
        if facts & {*column.sources}:
            facts.add(column.name)
    return facts
