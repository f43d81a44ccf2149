"""The notebooks: stored without what they showed, and everything in them runs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.survey import ROOT

PLACE = ROOT / "deployments" / "notebooks"
NOTEBOOKS = sorted(PLACE.glob("*.ipynb"))
CELLS = Path(__file__).with_name("cells.py")


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def test_there_is_one_for_each_who_reads_them():
    assert [path.stem for path in NOTEBOOKS] == ["analyst", "steward"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_stored_without_outputs(path):
    notebook = read(path)
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert code
    assert [cell for cell in code if cell["outputs"] or cell["execution_count"] is not None] == []
    assert all(cell["metadata"] == {} for cell in notebook["cells"])
    assert set(notebook["metadata"]) == {"kernelspec", "language_info"}
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_lines_of_notebooks_are_short(path):
    lines = ["".join(cell["source"]).splitlines() for cell in read(path)["cells"]]
    assert [line for cell in lines for line in cell if len(line) > 110] == []


@pytest.fixture(scope="module")
def outputs(tmp_path_factory, prefect_api):
    """Return the output of the cells of both notebooks: the steward's, then the analyst's."""
    folder = tmp_path_factory.mktemp("notebooks")
    environ = {
        **os.environ,
        "MPLBACKEND": "Agg",
        "PREFECT_API_URL": prefect_api,
        "SFUMATO_WORK": str(folder / "work"),
    }
    outputs = {}
    for name in ("steward", "analyst"):
        done = subprocess.run(
            [sys.executable, str(CELLS), str(PLACE / f"{name}.ipynb")],
            cwd=folder,
            env=environ,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        outputs[name] = json.loads(done.stdout.splitlines()[-1])
    return outputs


def test_the_steward_sees_totals_under_a_mark(outputs):
    marked = [output for output in outputs["steward"] if "PRIVATE" in output]
    assert len(marked) == 3
    assert "rows</td><td>1,519" in marked[0]
    assert "k-anonymity</td><td>not kept" in marked[0]
    assert "accuracy" in marked[1]
    assert "capital-losses/0001" in marked[2]
    assert "yes; not signed" in outputs["steward"][-1]


def test_the_analyst_sees_guaranteed_bounds(outputs):
    cells = outputs["analyst"]
    assert "yes; not signed" in cells[0]  # the steward checked it here
    assert "every file agrees with the published tables" in cells[1]
    assert all("guaranteed bounds for the rows in the release" in output for output in cells[2:4])
    assert cells[3].count("<svg") == 4
    assert "loss_lower" in cells[5]
    assert "<Figure size" in cells[6]
    assert "capital-loss: int64" in cells[7]
    assert "loss_lower" in cells[8]
