"""A release that was decided in the workbench is the one that is decided by hand, byte for byte."""

import json
import os
import subprocess
import sys
import time

import pytest
import yaml

from sfumato.flows.workbench import jobs
from tests.workbench.conftest import TUTORIAL

pytestmark = pytest.mark.timeout(300)
SEEDED = """\
import os
import numpy as np
drawn = np.random.default_rng({seed})
os.urandom = drawn.bytes
from sfumato.flows.cli.main import main
main()
"""
NAME = "costs.yaml"
TABLE = "patients.csv"


def by_hand(folder, work, seed, *arguments):
    """Type a command of Sfumato in a terminal; its randomness has a seed."""
    environ = {**os.environ, "SFUMATO_WORK": str(work)}
    code = SEEDED.format(seed=seed)
    command = [sys.executable, "-P", "-c", code, *arguments]
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def in_workbench(visitor, answer):
    """Follow a form that started a command, until it is done."""
    assert answer.status_code == 303
    name = answer.headers["location"].rpartition("/")[2]
    job = visitor.workbench.bench.jobs.job(name)
    deadline = time.monotonic() + 120
    while job.is_running and time.monotonic() < deadline:
        time.sleep(0.02)
    assert job.state == "done", job.lines
    return job


def edit(text):
    """Edit a draft as in an editor: the same decisions as by the forms below."""
    begin = text.index("evaluate:")
    replaced = {
        "roles: proposed  # <- write `confirmed`; until then nothing runs": "roles: confirmed",
        "k: 5, e: 200": "k: 4, e: 100",
        "form: {method: permuted}": "form: {method: split}",
        "publish: {uri: releases}": 'publish: {uri: releases}\n"versions": composed',
    }
    text = text[:begin]
    for old, new in replaced.items():
        assert old in text
        text = text.replace(old, new, 1)
    return f"{text}evaluate: {{workloads: [], intervals: 95}}\n"


def decide(visitor):
    """Take every decision by the forms of the steps."""
    document = visitor.workbench.bench.desk.open(NAME).document
    columns = document["columns"]
    fields = {"column": list(columns)}
    for name, keys in columns.items():
        fields |= {f"role:{name}": keys["role"], f"type:{name}": keys.get("type", "string")}
        fields[f"nulls:{name}"] = keys.get("nulls", "")
    assert visitor.act("columns", NAME, "confirm", **fields).status_code == 303
    numbers = {"0.k": "4", "0.e": "100"}
    assert visitor.act("promise", NAME, "numbers", **numbers).status_code == 303
    method = document["partition"]["method"]
    visitor.act("partition", NAME, "choose", form="split", partition=method)
    for _ in document["evaluate"]["workloads"]:
        assert visitor.act("questions", NAME, "remove", place="0").status_code == 303
    assert visitor.act("lines", NAME, "rule", rule="composed").status_code == 303


def files_of(version):
    """The content of every file of a version by its place."""
    paths = [path for path in version.rglob("*") if path.is_file()]
    return {path.relative_to(version).as_posix(): path.read_bytes() for path in paths}


def test_a_spec_and_its_release_are_those_of_a_terminal(visitor, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(jobs, "_COMMAND", SEEDED.format(seed=8))
    draft = {"file": TABLE, "spec": NAME, "hide": "values", "about": "numbers"}
    in_workbench(visitor, visitor.post("/draft", draft))
    decide(visitor)
    released = in_workbench(visitor, visitor.act("release", NAME, "release"))

    other = tmp_path / "by-hand"
    other.mkdir()
    (other / TABLE).write_bytes((TUTORIAL / TABLE).read_bytes())
    work = tmp_path / "work-by-hand"
    by_hand(other, work, 8, "init", TABLE, f"--out={NAME}", "--hide=values", "--about=numbers")
    spec = other / NAME
    spec.write_text(edit(spec.read_text(encoding="utf-8")), encoding="utf-8")
    typed = json.loads(by_hand(other, work, 8, "release", "--json", NAME).splitlines()[-1])

    texts = [(place / NAME).read_text(encoding="utf-8") for place in (folder, other)]
    documents = [yaml.safe_load(text) for text in texts]
    assert documents[0] == documents[1]
    versions = [place / "releases" / "costs" / "0001" for place in (folder, other)]
    files = [files_of(version) for version in versions]
    assert files[0].keys() == files[1].keys()
    assert [name for name in files[0] if files[0][name] != files[1][name]] == []
    assert typed == {**released.document, "directory": typed["directory"], "page": typed["page"]}
