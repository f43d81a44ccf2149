"""Every registered form keeps the laws of forms."""

from decimal import Decimal

import pytest

from sfumato.tasks.forms.parameters import FORM_PARAMETERS, OF_ONE_TABLE
from sfumato.tasks.forms.registry import FORMS
from tests.laws.form_laws import FormCase, FormLaws
from tests.laws.test_partition_laws import CASES as PARTITIONS
from tests.laws.test_partition_laws import case_of

CASES = {
    "generalized": [({}, "full-domain"), ({}, "mondrian")],
    "suppressed": [({}, "forest"), ({"linked": [["age", "born"]]}, "factors")],
    "permuted": [({}, "ke"), ({"sensitive": "together"}, "anatomy")],
    "split": [({}, "anatomy"), ({"sensitive": "together"}, "ke")],
    "ambiguous": [({}, "disjoint-cover")],
    "redistributed": [
        ({}, "exact-qi"),
        ({"tree": "median", "arity": 3, "fakes": Decimal("0.4")}, "stratum"),
    ],
}


def test_every_form_has_a_case_and_parameters():
    """Two related tables have laws of their own (tests/related)."""
    assert set(FORMS) == set(FORM_PARAMETERS)
    assert set(CASES) == set(OF_ONE_TABLE)


@pytest.mark.parametrize(
    "case",
    [
        FormCase(
            FORM_PARAMETERS[method](method=method, **keys),
            case_of(partition, *PARTITIONS[partition][0]),
        )
        for method, ways in CASES.items()
        for keys, partition in ways
    ],
    ids=lambda case: str(case.parameters),
)
class TestForms(FormLaws):
    """All of them."""
