"""What reading a spec, querying, checking and measuring import: never an algorithm's machinery."""

import json
import subprocess
import sys

import pytest

MACHINERY = {
    "cryptography",
    "great_expectations",
    "matplotlib",
    "numba",
    "pandas",
    "prefect",
    "scipy",
}
DECLARING = ["sfumato.tasks.declaration.terms", "sfumato.flows.spec"]
ANSWERING = [
    "sfumato.tasks.query.ask",
    "sfumato.tasks.query.sql.rewrite",
    "sfumato.tasks.publication.check",
    "sfumato.tasks.verification.way_in",
    "sfumato.tasks.stages.measure",
]


def imported(module):
    """The names of all modules that are there once this one is imported."""
    code = f"import json, sys, {module}; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def algorithms(modules, room):
    """Modules of a room's families, without their packages and parameters."""
    inside = [name.split(".")[3:] for name in modules if name.startswith(f"sfumato.tasks.{room}.")]
    return [".".join(of) for of in inside if len(of) > 1 and of[-1] != "parameters"]


@pytest.mark.parametrize("module", [*DECLARING, *ANSWERING])
def test_no_partition_and_no_machinery(module):
    found = imported(module)
    assert {name.partition(".")[0] for name in found} & MACHINERY == set()
    assert algorithms(found, "partitions") == []


@pytest.mark.parametrize("module", DECLARING)
def test_declarations_import_parameters_alone(module):
    found = imported(module)
    assert algorithms(found, "forms") == []
    for room in ("partitions", "forms"):
        assert f"sfumato.tasks.{room}.parameters" in found
        assert f"sfumato.tasks.{room}.registry" not in found
