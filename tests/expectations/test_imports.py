"""The modules that measuring, checking and querying may import."""

import json
import subprocess
import sys

import pytest


def modules_loaded(*modules: str) -> set[str]:
    code = f"import json, sys, {', '.join(modules)}; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in json.loads(done.stdout)}


@pytest.mark.parametrize(
    "module",
    [
        "sfumato.expectations.models.promises",
        "sfumato.expectations.groups.groups",
        "sfumato.expectations.rules.structure",
        "sfumato.expectations.rules.verdicts",
    ],
)
def test_models_and_rules_import_no_machinery(module):
    assert modules_loaded(module) & {"great_expectations", "prefect", "pandas"} == set()
