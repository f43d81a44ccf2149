"""Every registered privacy model keeps the laws of models, in Great Expectations as well."""

import numpy as np
import pytest

from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.models.promises import models
from sfumato.expectations.suites import gate
from tests.expectations.model_laws import STRUCTURE, TABLES, ModelLaws, release


@pytest.mark.parametrize("model", models(), ids=lambda model: model.name)
class TestRegisteredModels(ModelLaws):
    """Each of them."""


def test_names_of_models_and_their_titles_differ():
    assert len({model.name for model in models()}) == len(models())
    assert len({model.title for model in models()}) == len(models())


def test_the_suite_of_the_promises_has_the_name_of_the_release(tmp_path):
    groups = release(np.random.default_rng(1))
    gate.judge("line", TABLES, STRUCTURE, [(KAnonymity(k=1), groups)], tmp_path)
    names = {path.name for path in tmp_path.glob("*.json")}
    assert names == {"line.release.json", "line.release.microdata.json"}
    assert gate.GROUPS == "groups"
