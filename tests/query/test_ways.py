"""Every registered way of showing a person keeps the laws of ways."""

import random

import numpy as np
import pytest

from sfumato.tasks.forms.parameters import FORM_PARAMETERS
from tests.query.composed import as_composed
from tests.query.composed import publish_composed as composed_tables
from tests.query.test_apart import GROUPS, PATIENTS, PEOPLE, publish_apart
from tests.query.test_matched import declare, in_form, random_rows
from tests.query.test_recoded import PETS, random_table
from tests.query.test_subdomains import SMALL, small
from tests.query.way_laws import REGISTRIES, WayCase, WayLaws
from tests.query.worlds import column, shape
from tests.query.worlds import declare as plain


def of_rows(form):
    declared = declare(form)
    table = random_rows(np.random.default_rng(1), [3, 4, 2])
    return WayCase(declared, in_form(table, declared), 9)


def of_subdomains():
    tables, _, _ = small(3)
    return WayCase(SMALL, tables, tables["qit"].num_rows)


def of_labels():
    table, _ = random_table(np.random.default_rng(1), 6)
    return WayCase(PETS, {"microdata": table}, 6)


def of_composed(form, **parameters):
    """A release from which two people have left."""
    declared = as_composed(LOSSES.model_copy(update={"form": shape(form, **parameters)}))
    rng = random.Random(form)
    columns = {"age": [0, 1, 2] * 3, "loss": [rng.randrange(5) for _ in range(9)]}
    tables = composed_tables(declared, columns, [0] * 5 + [1] * 4, [0, 0, 0, 0, 1, 0, 0, 0, 1])
    return WayCase(declared, tables, 7)


LOSSES = plain(age=column("quasi-identifier", "integer"), loss=column("sensitive", "integer"))
CASES = [
    of_rows("permuted"),
    of_rows("split"),
    WayCase(PATIENTS, publish_apart(PATIENTS, PEOPLE, GROUPS), len(GROUPS)),
    of_subdomains(),
    of_labels(),
    of_composed("permuted"),
    of_composed("split"),
    of_composed("ambiguous"),
    of_composed("redistributed", fakes=9),
    of_composed("generalized"),
    of_composed("suppressed"),
]


def test_every_registered_way_has_a_case():
    # A release of two tables is asked another way: tests/related has its laws.
    tried = {case.way for case in CASES} | {"apart"}
    assert [set(registry) for registry in REGISTRIES] == [tried] * len(REGISTRIES)
    assert tried == {kind.shows for kind in FORM_PARAMETERS.values()}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
class TestWays(WayLaws):
    """All of them."""
