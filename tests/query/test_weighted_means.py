"""Weighted sums and means, of every world that a release leaves possible."""

import itertools
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from sfumato.tasks.forms.labels import interval
from sfumato.tasks.query.ask import answer_on
from tests.query.test_recoded import declare as declare_labels
from tests.query.worlds import column, declare, shape, worlds

WEIGHT = column("insensitive", "decimal", scale=1, weight=True)
ASKED = "SELECT SUM(w) AS people, SUM(w * loss) AS total, SUM(w * loss) / SUM(w) AS mean"


def weights(generator, rows):
    weights_drawn = generator.choice(["0.5", "1.5", "2.0", "7.0"], rows).tolist()
    return pa.array(weights_drawn, pa.string()).cast(pa.decimal128(38, 1))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("form", ["permuted", "split"])
def test_exact_rows_have_the_extremes_of_all_worlds(form, seed):
    generator = np.random.default_rng(seed)
    group = np.repeat(np.arange(3), [3, 2, 3])
    table = pa.table(
        {
            "age": generator.integers(0, 3, len(group)),
            "w": weights(generator, len(group)),
            "loss": generator.integers(-3, 4, len(group)),
            "group_id": group,
        }
    )
    declared = declare(
        form,
        age=column("quasi-identifier", "integer"),
        w=WEIGHT,
        loss=column("sensitive", "integer"),
    ).model_copy(update={"form": shape(form)})
    tables = {"microdata": table}
    if form == "split":
        counted = table.group_by(["group_id", "loss"]).aggregate([([], "count_all")])
        st = counted.rename_columns(["group_id", "loss", "count"])
        tables = {"qit": table.select(["age", "w", "group_id"]), "st": st}
    age, w, loss = (table[name].to_pylist() for name in ("age", "w", "loss"))
    for most in range(3):
        selected = [place for place, years in enumerate(age) if years <= most]
        (row,) = answer_on(tables, declared, f"{ASKED} FROM microdata WHERE age <= {most}").rows
        people = sum(Fraction(w[place]) for place in selected)
        totals = [
            sum(Fraction(w[place]) * world[place] for place in selected)
            for world in worlds(group.tolist(), loss)
        ]
        if not selected:
            assert row["mean"].lower is None
            continue
        assert row["people"].lower == row["people"].upper == people
        assert (row["total"].lower, row["total"].upper) == (min(totals), max(totals))
        ends = row["mean"].lower, row["mean"].upper
        assert ends == (min(totals) / people, max(totals) / people)
        assert row["mean"].attained


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("form", ["generalized", "suppressed"])
def test_labels_have_bounds_of_all_worlds(form, seed):
    generator = np.random.default_rng(seed)
    rows = 5
    ends = [sorted(generator.integers(0, 4, 2).tolist()) for _ in range(rows)]
    if form == "suppressed":
        ends = [(low, low) if generator.random() < 0.6 else (0, 3) for low, _ in ends]
    labels = [
        "*" if form == "suppressed" and low < high else interval(str(low), str(high))
        for low, high in ends
    ]
    table = pa.table(
        {
            "age": labels,
            "w": weights(generator, rows),
            "loss": generator.integers(-3, 4, rows),
        }
    )
    declared = declare_labels(
        form,
        age=column("quasi-identifier", "integer"),
        w=WEIGHT,
        loss=column("sensitive", "integer"),
    )
    w, loss = ([Fraction(number) for number in table[name].to_pylist()] for name in ("w", "loss"))
    for most in range(4):
        query = f"{ASKED} FROM microdata WHERE age <= {most}"
        (row,) = answer_on({"microdata": table}, declared, query).rows
        open_ = "*" if form == "suppressed" else None
        statuses = [
            [False, True] if label == open_ else sorted({low <= most, high <= most})
            for label, (low, high) in zip(labels, ends, strict=True)
        ]
        totals = []
        for world in itertools.product(*statuses):
            selected = [place for place, is_selected in enumerate(world) if is_selected]
            if selected:
                people = sum(w[place] for place in selected)
                total = sum(w[place] * loss[place] for place in selected)
                totals.append((people, total, total / people))
        for name, seen in zip(("people", "total", "mean"), zip(*totals, strict=True), strict=False):
            bounds = row[name]
            assert bounds.lower <= min(seen) <= max(seen) <= bounds.upper, (name, most)
            if bounds.attained:
                assert (bounds.lower, bounds.upper) == (min(seen), max(seen)), (name, most)
