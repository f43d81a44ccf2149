"""The beginning: the draft is that of the command line, and other commands load no web layer."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from sfumato.flows.choice.first_spec import write_first_spec
from sfumato.tasks.profile.dialect import read_options

LOADED = """
import atexit, json, sys
from sfumato.flows.cli.main import main
atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))
main()
"""


@pytest.mark.parametrize(
    "command", [["init", "--help"], ["policies", "list", "--json"], ["--help"]]
)
def test_other_commands_load_no_web_layer(command):
    done = subprocess.run([sys.executable, "-c", LOADED, *command], capture_output=True, text=True)
    modules = json.loads(done.stderr.splitlines()[-1])
    layer = ("starlette", "uvicorn", "sfumato.flows.workbench")
    assert [name for name in modules if name.startswith(layer)] == []


def test_a_draft_is_the_same_as_by_hand(visitor, workbench, folder, monkeypatch):
    fields = {"file": "patients.csv", "spec": "costs.yaml", "hide": "values", "about": "numbers"}
    fields["null"] = "none, 999"
    answer = visitor.post("/draft", fields)
    assert answer.status_code == 303
    path = answer.headers["location"].removeprefix(visitor.place)
    job = workbench.bench.jobs.job(path.rpartition("/")[2])
    deadline = time.monotonic() + 60
    while job.is_running and time.monotonic() < deadline:
        time.sleep(0.02)
    target = visitor.get(path).headers["location"]
    assert target == f"{visitor.place}/columns/costs.yaml"
    drafted = (folder / "costs.yaml").read_text(encoding="utf-8")
    (folder / "costs.yaml").unlink()
    monkeypatch.chdir(folder)
    options = read_options({}, {}, hide="values", about="numbers", nulls=("none", "999"))
    write_first_spec("patients.csv", Path("costs.yaml"), options, os.environ)
    assert (folder / "costs.yaml").read_text(encoding="utf-8") == drafted


def test_a_draft_overwrites_nothing(visitor, folder):
    before = (folder / "patients.yaml").read_bytes()
    for spec in ("../x.yaml", "x.txt", ""):
        assert visitor.post("/draft", {"file": "patients.csv", "spec": spec}).status_code == 422
    assert visitor.post("/draft", {"file": "../x.csv", "spec": "x.yaml"}).status_code == 422
    assert (folder / "patients.yaml").read_bytes() == before


def test_sixty_columns_have_their_page(visitor, folder):
    names = [f"c{number}" for number in range(60)]
    rows = [",".join(str((row * (n + 3)) % 17) for n in range(60)) for row in range(100)]
    (folder / "wide.csv").write_text("\n".join([",".join(names), *rows]) + "\n", encoding="utf-8")
    columns = {name: {"role": "insensitive", "type": "integer"} for name in names[2:]}
    spec = {
        "version": 2,
        "name": "wide",
        "title": "Wide",
        "source": {"uri": "wide.csv"},
        "unit": "row",
        "columns": {
            "c0": {"role": "quasi-identifier", "type": "integer"},
            "c1": {"role": "sensitive", "type": "integer"},
            **columns,
        },
        "promises": [{"model": "l-diversity", "variant": "distinct", "l": 2}],
        "partition": {"method": "anatomy"},
        "form": {"method": "permuted"},
        "publish": {"uri": "releases"},
    }
    (folder / "wide.yaml").write_text(yaml.safe_dump(spec, sort_keys=False), encoding="utf-8")
    page = visitor.get("/columns/wide.yaml").text
    assert page.count('class="entry column"') == 60
    fields = [("column", "c59"), ("role:c59", "drop"), ("type:c59", "integer"), ("nulls:c59", "")]
    assert visitor.act("columns", "wide.yaml", "roles", **dict(fields)).status_code == 303
    changed = yaml.safe_load((folder / "wide.yaml").read_text(encoding="utf-8"))
    assert changed["columns"]["c59"] == {"role": "drop", "type": "integer"}
