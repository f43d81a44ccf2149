"""Losses of a recoded table, against plain sums over its rows."""

from math import log
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.tasks.forms.label_readers import reader
from sfumato.tasks.forms.labels import admits
from sfumato.tasks.forms.registry import FORMS
from sfumato.tasks.microdata.table import Microdata, encode, seeded_keys
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.publication import divergence as diagnostic
from sfumato.tasks.publication.divergence import divergence
from tests.query.worlds import column, partial_declaration, shape


def declare(form, names):
    columns = {name: column("quasi-identifier", "string", nulls=True) for name in names}
    columns["s"] = column("sensitive", "integer")
    return partial_declaration(columns=columns, form=shape(form), versions="disjoint")


def table_of(rows):
    """Rows of quasi-identifiers and one sensitive value, last."""
    *quasi, sensitive = zip(*rows, strict=True)
    columns = [
        encode(f"q{i}", "quasi-identifier", pa.array(values, pa.string()))
        for i, values in enumerate(quasi)
    ]
    return Microdata(
        (*columns, encode("s", "sensitive", pa.array(sensitive, pa.int64()))), len(rows)
    )


def publish_form(microdata, group, form="generalized"):
    parameters = SimpleNamespace(linked=(), single_values="quoted")
    return FORMS[form].publish(microdata, Partition(np.array(group)), parameters, seeded_keys(1))


def test_the_vector_of_three_values():
    microdata = table_of([("a", 0), ("a", 0), ("b", 0), ("c", 1)])
    tables = publish_form(microdata, [0, 0, 1, 1])
    lost = divergence(microdata, tables, declare("generalized", ["q0"]))
    assert lost.kl == pytest.approx(log(2) / 2)
    assert lost.entropy == pytest.approx((2 * log(2 / 2) + 2 * log(2 / 1)) / 4)


def test_nothing_is_lost_where_every_row_is_shown():
    microdata = table_of([("a", 0), ("b", 0), (None, 1)])
    lost = divergence(microdata, publish_form(microdata, [0, 1, 2]), declare("generalized", ["q0"]))
    assert (lost.kl, lost.entropy) == (pytest.approx(0), pytest.approx(0))


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        (
            "_CELLS",
            ("there are 4 cells of labels and sensitive values, and at most 0 can be computed"),
        ),
        ("_MOST", "more than 0 "),
    ],
)
def test_what_is_too_large_to_compare_says_so(monkeypatch, budget, words):
    microdata = table_of([("a", 0), ("a", 0), ("b", 0), ("c", 1)])
    tables = publish_form(microdata, [0, 0, 1, 1])
    monkeypatch.setattr(diagnostic, budget, 0)
    lost = divergence(microdata, tables, declare("generalized", ["q0"]))
    assert lost.kl is None
    assert lost.document()["kl_skipped"].startswith(words)
    assert lost.entropy == pytest.approx((2 * log(2 / 2) + 2 * log(2 / 1)) / 4)


VALUES = st.sampled_from(["a", "b", "c", None])


@given(
    st.lists(st.tuples(VALUES, VALUES, st.integers(0, 2)), min_size=1, max_size=8),
    st.sampled_from(["generalized", "suppressed"]),
    st.data(),
)
def test_as_sums_over_rows(rows, form, data):
    groups = data.draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows)))
    _, group = np.unique(groups, return_inverse=True)
    if data.draw(st.booleans()):
        group = group - 1  # the first one is suppressed
    microdata, names = table_of(rows), ["q0", "q1"]
    declared = declare(form, names)
    tables = publish_form(microdata, group, form)
    rows_shown = tables["microdata"].to_pylist()
    lost = divergence(microdata, tables, declared)
    if not rows_shown:
        assert lost is None
        return
    kl, entropy = by_hand(rows, rows_shown, declared, names)
    assert lost.kl == pytest.approx(kl)
    assert lost.entropy == pytest.approx(entropy)
    assert lost.kl >= -1e-12


def by_hand(rows, rows_shown, declared, names):
    n = len(rows)
    domains = [sorted({row[i] for row in rows}, key=str) for i in range(len(names))]
    star = declared.form.method == "suppressed"

    def fits(label, name, value):
        if star:
            return label == "*" or label == value
        return admits(reader(name, declared.columns[name])(label), value)

    cells = [
        (
            [{v for v in d if fits(row[q], q, v)} for q, d in zip(names, domains, strict=True)],
            row["s"],
        )
        for row in rows_shown
    ]
    values = [row[-1] for row in rows]
    for _, s in cells:
        values.remove(s)
    cells += [([set(d) for d in domains], s) for s in values]
    kl = 0.0
    for row in rows:
        p1 = sum(other == row for other in rows) / n
        p2 = sum(
            np.prod([1 / len(c) for c in cell])
            for cell, s in cells
            if s == row[-1] and all(v in c for v, c in zip(row, cell, strict=False))
        )
        kl += log(p1 / (p2 / n)) / n
    own = sum(log(sum(o[i] == row[i] for o in rows)) for row in rows for i in range(len(names)))
    behind = sum(log(sum(o[i] in c for o in rows)) for cell, _ in cells for i, c in enumerate(cell))
    return kl, (behind - own) / n
