"""What a worker and the server behind it may know of a run that fails."""

import pytest
import yaml

from sfumato.tasks.publication.check import check
from tests.fork_server import ROOT
from tests.release.small import Small, people

CANARY = "CANARYforeign"
FOREIGN, OLD = "tests.faults.foreign.release", "flows.release:release"
pytestmark = pytest.mark.filterwarnings("default")


def deployment():
    content = yaml.safe_load((ROOT / "deployments" / "prefect.yaml").read_text(encoding="utf-8"))
    (found,) = content["deployments"]
    return found


@pytest.fixture(scope="module")
def ran(prefect_api, tmp_path_factory):
    """Where one worker ran what, the last state of each run, and what the worker said."""
    from tests.prefect_server import run_on_worker

    folder = tmp_path_factory.mktemp("worker")
    lines = {
        entrypoint: Small(folder / name).write(people())
        for name, entrypoint in (
            ("foreign", FOREIGN),
            ("old", OLD),
            ("deployed", deployment()["entrypoint"]),
        )
    }
    specs = {entrypoint: line.spec for entrypoint, line in lines.items()}
    return folder, lines, *run_on_worker(prefect_api, folder, specs)


def test_a_foreign_exception_leaves_no_trace(ran):
    from tests.prefect_server import database

    folder, _, states, said = ran
    assert states[FOREIGN] == "FAILED", said
    assert "deidentify: ValueError at tasks/deidentify.py:" in said
    kept = [path for path in (folder / "home").rglob("*") if path.is_file()]
    kept += list(database().parent.iterdir())
    assert database() in kept
    assert CANARY not in said
    assert [path for path in kept if CANARY.encode() in path.read_bytes()] == []


def test_a_deployment_of_an_old_entrypoint_says_what_to_do(ran):
    _, lines, states, said = ran
    assert states[OLD] == "CRASHED", said
    assert "this package is sfumato.flows: import it by that name, and deploy flows again" in said
    assert not (lines[OLD].folder / "public").exists()


def test_the_entrypoint_that_is_deployed_publishes(ran):
    _, lines, states, said = ran
    assert (ROOT / deployment()["parameters"]["spec"]).is_file()
    entrypoint = deployment()["entrypoint"]
    assert states[entrypoint] == "COMPLETED", said
    assert check(lines[entrypoint].folder / "public" / "wages" / "0001")
