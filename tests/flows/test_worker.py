"""What a worker and the server behind it may know of a run that fails."""

import pytest

CANARY = "CANARYforeign"
pytestmark = [
    pytest.mark.filterwarnings("default"),
    pytest.mark.xdist_group("prefect"),  # one server for all of them
]


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
