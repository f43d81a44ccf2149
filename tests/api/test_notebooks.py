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
    assert [path.stem for path in NOTEBOOKS] == ["analyst", "one-liners", "steward"]


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
    """Return what the cells of each notebook show; the steward's publishes what others ask."""
    folder = tmp_path_factory.mktemp("notebooks")
    environ = {
        **os.environ,
        "MPLBACKEND": "Agg",
        "PREFECT_API_URL": prefect_api,
        "SFUMATO_WORK": str(folder / "work"),
    }
    outputs = {}
    for name in ("steward", "analyst", "one-liners"):
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


def code_of(name):
    cells = read(PLACE / f"{name}.ipynb")["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def test_twenty_five_things_are_one_line_each():
    imports, *things = code_of("one-liners")
    assert len(things) == 25
    assert [thing for thing in things if "\n" in thing] == []
    assert "import sfumato" in imports


def test_every_one_of_them_gives_what_it_says(outputs):
    _, *cells = outputs["one-liners"]
    by_code = dict(zip(code_of("one-liners")[1:], cells, strict=True))
    assert by_code["release.check()[0]"].startswith("'ke-anonymity is kept in all")
    assert "<td>quasi-identifier</td><td>integer</td><td>17 to 90</td>" in cells[2]
    assert "'Black', 'Other', 'White'" in by_code['release.columns["race"].values']
    assert cells[4] == "['sex']"
    assert "<td>e 500, k 5, quasi-identifiers age education-num sex race" in cells[5]
    assert "<td>avg(capital-loss) by range of age</td>" in by_code["release.accuracy"]
    assert "<td>1,519</td>" in by_code["release.count()"]
    assert 1_700 < float(by_code['float(release.mean("capital-loss"))']) < 2_000
    assert by_code["1_900 in bounds, 2_500 in bounds"] == "(True, False)"
    assert by_code['release.mean("capital-loss", group_by="sex")'].count("<svg") == 2
    assert by_code['answer.row({"race": "Black"})'].startswith("race: Black, loss: 1,")
    assert by_code['answer.where({"race": ["Black", "White"]})'].count("<tr>") == 3
    assert by_code["answer.plot().figure"].startswith("<Figure size")
    assert by_code["pa.table(answer)"].count("loss_") >= 3
    assert by_code["release.line.versions"].count("<td>current</td>") == 1
    assert "Public microdata, capital-losses version 0001" in by_code["release.citation"]
    silent = [code for code, output in by_code.items() if not output]
    assert all(" = " in code for code in silent)
