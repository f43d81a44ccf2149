"""Partitions whose groups cannot have targets of their own, and why."""

import copy

import pytest
import yaml

from sfumato.expectations.shared.errors import SpecError
from sfumato.flows.inputs.spec import read_spec
from tests.release.small import SPEC

OWN = {"model": "p-privacy", "target": {"nearest": "own"}}
DIVERSE = {"model": "l-diversity", "variant": "distinct", "l": 3}
KE = {"model": "ke-anonymity", "k": 3, "e": 10}
AB = {"model": "alpha-beta", "alpha": "0.5", "beta": "0.4"}


@pytest.mark.parametrize("rows", [{}, {"rows": 5}])
@pytest.mark.parametrize(
    ("method", "promise", "alone", "beside"),
    [
        ("ke", KE, "ke needs a ke-anonymity promise", "ke-anonymity cannot be measured in form"),
        (
            "disjoint-cover",
            AB,
            "needs an alpha-beta promise",
            "alpha-beta cannot be measured in form",
        ),
        ("ambiguity", AB, "needs an alpha-beta promise", "alpha-beta cannot be measured in form"),
    ],
)
def test_what_a_partition_aims_at_has_to_be_kept(tmp_path, method, promise, alone, beside, rows):
    for promises, words in (([OWN, DIVERSE], alone), ([OWN, DIVERSE, promise], beside)):
        form = {"method": "redistributed", "denominator": 16, **rows}
        changes = {"promises": promises, "partition": {"method": method}, "form": form}
        path = tmp_path / "wages.yaml"
        path.write_text(yaml.safe_dump({**copy.deepcopy(SPEC), **changes, "evaluate": {}}))
        with pytest.raises(SpecError, match=words):
            read_spec(path)
