"""Accuracy of composed releases: truths are over people, and within the bounds."""

import random

import pyarrow as pa
import pytest

from sfumato.tasks.microdata.table import Microdata, encode, seeded_keys
from sfumato.tasks.query.accuracy.evaluate import evaluate
from sfumato.tasks.query.accuracy.parameters import Evaluation
from tests.query.asked import on_disk
from tests.query.composed import as_composed, publish_composed
from tests.query.worlds import column, declare, shape

COLUMNS = {
    "age": column("quasi-identifier", "integer"),
    "hours": column("quasi-identifier", "integer"),
    "loss": column("sensitive", "integer"),
}
COUNTS = {"kind": "counts", "attributes": 1, "of": "loss", "selectivity": [10, 60], "queries": 6}
RANGES = {"kind": "range", "over": "age", "spans": [1, 3, 9], "queries": 6}
SETS = {"kind": "arbitrary", "selected": [1, 5, 20], "queries": 6}
FUNCTIONS = ("count", "sum", "avg", "min", "max")
EACH = [{**RANGES, "aggregate": function} for function in FUNCTIONS]
SAMPLED = [{**SETS, "aggregate": function} for function in FUNCTIONS]
WORKLOADS = {
    "permuted": [COUNTS, *EACH, *SAMPLED],
    "split": [COUNTS, *EACH, *SAMPLED],
    "ambiguous": [COUNTS, EACH[0]],
    "redistributed": [COUNTS, *EACH],
    "generalized": [COUNTS, *EACH],
    "suppressed": [COUNTS, *EACH],
}


@pytest.mark.parametrize("method", WORKLOADS)
def test_every_truth_over_people_is_within_the_bounds(method, tmp_path):
    rng, size = random.Random(method), 60
    form = shape(method, **({"fakes": 9} if method == "redistributed" else {}))
    declared = as_composed(declare(**COLUMNS).model_copy(update={"form": form}))
    columns = {
        name: [rng.randrange(most) for _ in range(size)]
        for name, most in zip(COLUMNS, (20, 5, 9), strict=True)
    }
    group = [place // 5 for place in range(size)]
    kind = [int(place % 5 > 1 and rng.random() < 0.5) for place in range(size)]
    tables = publish_composed(declared, columns, group, kind)
    people = pa.table(columns).filter(pa.array([not is_leaver for is_leaver in kind]))
    original = Microdata(
        tuple(encode(name, definition.role, people[name]) for name, definition in COLUMNS.items()),
        people.num_rows,
    )
    release = on_disk(tmp_path, tables, declared)
    workloads = Evaluation.model_validate({"workloads": WORKLOADS[method]}).workloads
    measured = evaluate(release, original, workloads, seeded_keys(2), lambda _d, _o: None)
    assert len(measured) == sum(len(workload.levels) * workload.queries for workload in workloads)
    for query in measured:
        assert query.inside, query
    assert any(query.lower != query.upper for query in measured)
