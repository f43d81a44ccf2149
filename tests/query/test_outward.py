"""Bounds that databases compute enclose the exact ones, and by few of a float's last units.

Random questions to random releases, as every database answers them, are held against the bounds
that are computed here in whole numbers and fractions.
"""

import math
import os
import random
from decimal import Decimal
from fractions import Fraction
from functools import cache

import pyarrow as pa
import pytest

from sfumato.tasks.forms.labels import interval
from sfumato.tasks.query.ask import answer_on
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.load import load
from sfumato.tasks.query.question.question import GroupColumn
from sfumato.tasks.query.rewrite import rewrite
from sfumato.tasks.query.sql.single import read_question
from sfumato.tasks.sql.target import target
from tests.query.asked import on_disk
from tests.query.dialect_laws import LOCAL, SERVERS, address
from tests.query.test_subdomains import FAKES, tables_of
from tests.query.worlds import column, declare, shape, with_help

ROWS = 60
SEEDS = {"quick": 1, "dev": 1, "ci": 1, "deep": 40}[os.environ.get("HYPOTHESIS_PROFILE", "dev")]
QUESTIONS = {"permuted": 14, "generalized": 8}
ROUNDING = Fraction(1, 2**53)
VALUES = {
    "few": ("integer", None, lambda rng: rng.randrange(-9, 40)),
    "big": ("integer", None, lambda rng: rng.choice((1, 1, -1)) * rng.randrange(2**50, 2**62)),
    "price": ("decimal", 2, lambda rng: Decimal(rng.randrange(-999, 9999)) / 100),
    "x": ("float", None, lambda rng: rng.choice((-1, 1, 1)) * 10 ** rng.uniform(-3, 9)),
}
FUNCTIONS = ("SUM", "AVG", "MIN", "MAX", "COUNT")


def draw_values(rng, name):
    type_, scale, draw = VALUES[name]
    values = [draw(rng) for _ in range(ROWS)]
    return pa.array(values, column("sensitive", type_, scale=scale).arrow_type)


def sensitive():
    return {
        name: column("sensitive", type_, scale=scale) for name, (type_, scale, _) in VALUES.items()
    }


def permuted_release(rng):
    """Values that are shuffled in groups: help tables, and conditions on the values."""
    declared = declare(
        age=column("quasi-identifier", "integer"), n=column("insensitive", "integer"), **sensitive()
    ).model_copy(update={"form": shape("permuted", sensitive="independent")})
    table = pa.table(
        {
            "age": [rng.randrange(12) for _ in range(ROWS)],
            "n": [rng.randrange(-(2**40), 2**55) for _ in range(ROWS)],
            **{name: draw_values(rng, name) for name in VALUES},
            "group_id": pa.array([place // 5 for place in range(ROWS)], pa.int64()),
        }
    )
    return declared, with_help(table, *VALUES)


def generalized_release(rng):
    """Labels: rows that are meant, or may be."""
    declared = declare("generalized", age=column("quasi-identifier", "integer"), **sensitive())
    ends = [sorted((rng.randrange(12), rng.randrange(12))) for _ in range(ROWS)]
    labels = [interval(str(low), str(high)) for low, high in ends]
    return declared, {
        "microdata": pa.table({"age": labels, **{name: draw_values(rng, name) for name in VALUES}})
    }


def redistributed_release(rng, name):
    """Subdomains in the place of values."""
    type_, scale, draw = VALUES[name]
    declared = declare(
        age=column("quasi-identifier", "integer"),
        **{name: column("sensitive", type_, scale=scale)},
    ).model_copy(update={"form": FAKES})
    rows = pa.table(
        {
            "age": [rng.randrange(12) for _ in range(ROWS)],
            "group_id": pa.array([place // 5 for place in range(ROWS)], pa.int64()),
        }
    )
    values = sorted({draw(rng) for _ in range(12)})
    return declared, tables_of(rng, declared, rows, values)


RELEASES = {
    "permuted": permuted_release,
    "generalized": generalized_release,
    **{
        f"redistributed {name}": lambda rng, name=name: redistributed_release(rng, name)
        for name in VALUES
    },
}


def queries(rng, form, names):
    for _ in range(QUESTIONS.get(form, 6)):
        aggregates = [
            f"{rng.choice(FUNCTIONS[:2] if rng.random() < 0.7 else FUNCTIONS)}({name})"
            for name in rng.choices(names, k=3)
        ]
        low = rng.randrange(8)
        where = f"age BETWEEN {low} AND {low + rng.randrange(1, 8)}"
        if form == "permuted" and rng.random() < 0.4:
            where += f" AND {rng.choice(names)} > {rng.choice([-5, 0, 3, 10**6])}"
        elif form.startswith("redistributed") and rng.random() < 0.6:
            where += f" AND {names[0]} > {rng.choice([-5, 0, 3, 10**6])}"
            aggregates = [
                aggregate_text
                for aggregate_text in aggregates
                if not aggregate_text.startswith("AVG")
            ] or [f"SUM({names[0]})"]
        elif form == "permuted":
            aggregates.append("AVG(n)")
        key = "age" if rng.random() < 0.3 else None
        selection = ", ".join([*([key] if key else []), *dict.fromkeys(aggregates)])
        yield f"SELECT {selection} FROM microdata WHERE {where}" + (" GROUP BY age" if key else "")


@cache
def questions_of_release(form, seed):
    """A release, and questions to it: as they are rewritten, with exact bounds by group."""
    rng = random.Random(f"{form} {seed}")
    declared, tables = RELEASES[form](rng)
    names = list(VALUES) if " " not in form else [form.split()[1]]
    answers_found = [
        (query, answer_on(tables, declared, query)) for query in queries(rng, form, names)
    ]
    return declared, tables, answers_found


def read(bound, *, strictly):
    """Return what a number of a database may be read as: a float as it is, or as it is written."""
    if isinstance(bound, float) and not strictly:
        return {Fraction(bound), Fraction(repr(bound))}
    return {Fraction(bound)}


def judge(label, got, exact, upper, declared, loss, kind):
    """Hold one bound against the exact one; returns by how many last units it is further out."""
    if exact is None or got is None:
        assert got is exact, label
        return None
    function, name = label.rstrip(")").split("(")
    exact, type_ = Fraction(exact), declared.columns[name].type
    strictly = function.lower() == "avg"  # others may be one of the values, as it is written
    out = max(end - exact if upper else exact - end for end in read(got, strictly=strictly))
    assert out >= 0, (label, got, float(exact), "upper" if upper else "lower")
    unit = Fraction(math.ulp(float(exact)))
    spare = 4 * unit
    if type_ == "float" or (kind == "sqlite" and (type_ == "decimal" or name == "big")):
        spare += loss[name]
    elif function.lower() != "avg" and not (kind == "sqlite" and abs(exact) > 2**60):
        assert out == 0, (label, got, exact)
    assert out <= spare, (label, got, float(exact), float(out / unit))
    return out / unit


def sides(value):
    return (value.lower, value.upper) if isinstance(value, Bounds) else (value, value)


def narrow(label, declared, kind):
    """Tell if floats never stand for what a bound is computed of."""
    name = label.rstrip(")").split("(")[1]
    wide = name == "big" and kind == "sqlite"  # whose sums are DECIMAL, and REAL there
    return declared.columns[name].type == "integer" and not wide


def losses(declared, tables):
    """Return twice what n additions of a column's floats can lose: in the sum, and in the rest."""
    losses_found = {}
    for name in declared.columns:
        columns_held = [table[name] for table in tables.values() if name in table.column_names]
        columns_held = columns_held or [tables["targets"]["lower"], tables["targets"]["upper"]]
        sizes = [
            abs(Fraction(v))
            for column in columns_held
            for v in column.to_pylist()
            if not isinstance(v, str)
        ]
        # Of subdomains there are copies: fewer than twice as many as rows.
        whole = 2 * ROWS * max(sizes, default=0) if "targets" in tables else sum(sizes)
        losses_found[name] = 2 * (ROWS + 8) * ROUNDING * whole
    return losses_found


@pytest.mark.parametrize("kind", [*LOCAL, *SERVERS])
@pytest.mark.parametrize("form", RELEASES)
def test_bounds_enclose_the_exact_ones(form, kind, tmp_path):
    widest, compared, whole = Fraction(0), 0, 0
    for seed in range(SEEDS):
        declared, tables, questions = questions_of_release(form, seed)
        url = address(kind, tmp_path)
        load(on_disk(tmp_path / f"release-{seed}", tables, declared), url, replace=True)
        loss = losses(declared, tables)
        with target(url) as database:
            for query, answer in questions:
                question = read_question(query, declared)
                rows_found = database.execute(rewrite(query, declared).sql(kind))
                keys = len(question.group_by)
                rows = {tuple(row[:keys]): row[keys:] for row in rows_found}
                assert len(rows) == len(answer.rows), query
                for row in answer.rows:
                    key = tuple(row[i.label] for i in question.shown if isinstance(i, GroupColumn))
                    items = [i for i in question.shown if not isinstance(i, GroupColumn)]
                    for place, item in enumerate(items):
                        for upper, exact in enumerate(sides(row[item.label])):
                            got = rows[key][2 * place + upper]
                            out = judge(item.label, got, exact, upper, declared, loss, kind)
                            compared += 1
                            if out is not None and narrow(item.label, declared, kind):
                                widest = max(widest, out)
                                whole += out == 0
    assert compared > 12
    assert widest <= 4
    assert whole or " " in form
