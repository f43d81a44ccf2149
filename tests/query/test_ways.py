"""Every registered way of showing a person keeps the laws of ways."""

import numpy as np
import pytest

from sfumato.tasks.forms.parameters import FORM_PARAMETERS
from tests.query.test_apart import GROUPS, PATIENTS, PEOPLE, published
from tests.query.test_matched import declare, in_form, random_rows
from tests.query.test_recoded import PETS, random_table
from tests.query.test_subdomains import SMALL, small
from tests.query.way_laws import REGISTRIES, WayCase, WayLaws


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


CASES = [
    of_rows("permuted"),
    of_rows("split"),
    WayCase(PATIENTS, published(PATIENTS, PEOPLE, GROUPS), len(GROUPS)),
    of_subdomains(),
    of_labels(),
]


def test_every_registered_way_has_a_case():
    tried = {case.way for case in CASES}
    assert [set(registry) for registry in REGISTRIES] == [tried] * len(REGISTRIES)
    assert tried == {kind.shows for kind in FORM_PARAMETERS.values()}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.declared.form.method)
class TestWays(WayLaws):
    """All of them."""
