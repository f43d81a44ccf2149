"""Who knows a few quasi-identifiers, or one more than a promise says, against plain counting."""

from collections import Counter, defaultdict
from decimal import Decimal
from itertools import combinations
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

from sfumato.expectations.models.limited_knowledge import KMAnonymity, LKCPrivacy
from sfumato.tasks.attacks.group import few_columns
from sfumato.tasks.attacks.shared.attack import AttackedRelease
from sfumato.tasks.choose.trial import run_trial
from sfumato.tasks.forms.form_parameters import SuppressedParameters
from sfumato.tasks.microdata.table import Microdata, encode, seeded_keys
from sfumato.tasks.partitions.limited_knowledge.parameters import LocalSuppressionParameters
from sfumato.tasks.schema.published import DeclaredColumn
from sfumato.tasks.terms.terms import Terms

QUASI = ("a", "b", "c")
SCHEMA = {
    **{name: DeclaredColumn(role="quasi-identifier", type="integer") for name in QUASI},
    "s": DeclaredColumn(role="sensitive", type="integer"),
}


def make_release(folder, promise, seed=1, rows=40):
    """A table of hidden cells that keeps a promise."""
    rng = np.random.default_rng(seed)
    values = {**{name: rng.integers(0, 4, rows) for name in QUASI}, "s": rng.integers(0, 3, rows)}
    columns = tuple(encode(n, SCHEMA[n].role, pa.array(v)) for n, v in values.items())
    terms = Terms(
        name="attacked",
        title="Attacked",
        unit="row",
        versions="disjoint",
        columns=SCHEMA,
        strata=(),
        promises=(promise,),
        partition=LocalSuppressionParameters(method="local-suppression"),
        form=SuppressedParameters(method="suppressed"),
        formats=("parquet",),
    )
    trial = run_trial(Microdata(columns, rows), terms, folder, seeded_keys(seed)).require_kept()
    declared, tables = trial.assessment.declared, trial.assessment.tables
    return AttackedRelease(declared, tables, trial.represented, "s")


def counted_plainly(rows, number, least):
    """The shares of rows that the best columns show among few, and with one value only."""
    few, certain = set(), set()
    for columns in combinations(QUASI, number):
        alike = Counter(tuple(row[c] for c in columns) for row in rows)
        values = defaultdict(set)
        for row in rows:
            values[tuple(row[c] for c in columns)].add(row["s"])
        for place, row in enumerate(rows):
            labels = tuple(row[c] for c in columns)
            few |= {place} if alike[labels] < least else set()
            certain |= {place} if len(values[labels]) == 1 else set()
    return len(few) / len(rows), len(certain) / len(rows)


@pytest.mark.parametrize("seed", range(4))
def test_scores_are_what_counting_gives(tmp_path, seed):
    promise = LKCPrivacy(l=1, k=3, c=Decimal("0.9"), sensitive="s", quasi_identifiers=QUASI)
    release = make_release(tmp_path, promise, seed)
    rows = release.tables["microdata"].to_pylist()
    scores = few_columns.attack(release)
    assert [score.share for score in scores] == [
        pytest.approx(share) for number in (1, 2) for share in counted_plainly(rows, number, 3)
    ]
    assert scores[0].share == 0.0
    assert scores[2].share > 0.0
    assert "best 2 quasi-identifiers" in scores[2].measure


def test_a_promise_about_rows_has_no_value_to_know(tmp_path):
    promise = KMAnonymity(k=3, m=2, quasi_identifiers=QUASI)
    scores = few_columns.attack(make_release(tmp_path, promise))
    assert scores[0].share == 0.0
    assert len(scores) == 2


def test_nobody_knows_more_columns_than_there_are(tmp_path):
    promise = KMAnonymity(k=2, m=3, quasi_identifiers=QUASI)
    assert len(few_columns.attack(make_release(tmp_path, promise))) == 1


def test_too_many_sets_of_columns_are_skipped_with_the_reason(tmp_path):
    promise = KMAnonymity(k=2, m=2, quasi_identifiers=QUASI)
    with patch.object(few_columns, "_MOST", 2):
        scores = few_columns.attack(make_release(tmp_path, promise))
    assert ["sets of columns" in score.skipped for score in scores] == [True, False]
