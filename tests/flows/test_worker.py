"""What a worker and the server behind it may know of a run that fails."""

import pytest
import yaml

from sfumato.tasks.publication.check import check
from tests.fork_server import ROOT

CANARY = "CANARYforeign"
pytestmark = pytest.mark.filterwarnings("default")


def test_a_foreign_exception_leaves_no_trace(small, prefect_api, tmp_path):
    from tests.prefect_server import database, run_on_worker

    state, said = run_on_worker(
        prefect_api, tmp_path, "tests.faults.foreign.release", spec=str(small.spec)
    )
    assert state == "FAILED", said
    assert "deidentify: ValueError at tasks/deidentify.py:" in said
    kept = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
    kept += list(database().parent.iterdir())
    assert database() in kept
    assert CANARY not in said
    assert [path for path in kept if CANARY.encode() in path.read_bytes()] == []


def test_a_deployment_of_an_old_entrypoint_says_what_to_do(small, prefect_api, tmp_path):
    from tests.prefect_server import run_on_worker

    state, said = run_on_worker(
        prefect_api, tmp_path, "flows.release:release", spec=str(small.spec)
    )
    assert state == "CRASHED", said
    assert "this package is sfumato.flows: import it by that name, and deploy flows again" in said
    assert not (small.folder / "public").exists()


def test_the_entrypoint_that_is_deployed_publishes(small, prefect_api, tmp_path):
    from tests.prefect_server import run_on_worker

    content = yaml.safe_load((ROOT / "deployments" / "prefect.yaml").read_text(encoding="utf-8"))
    (deployment,) = content["deployments"]
    assert (ROOT / deployment["parameters"]["spec"]).is_file()
    state, said = run_on_worker(
        prefect_api, tmp_path, deployment["entrypoint"], spec=str(small.spec)
    )
    assert state == "COMPLETED", said
    assert check(small.folder / "public" / "wages" / "0001")
