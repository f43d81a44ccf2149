"""Lines of logs as JSON: each parses, says what lines for people say, and no more."""

import json
import logging
import sys
from datetime import datetime
from pathlib import Path

import prefect.logging
import pytest
import yaml

from sfumato.flows.operation.log_lines import JsonLines
from tests.flow_here import release_here
from tests.fork_server import ROOT
from tests.release.small import Small, people

pytestmark = pytest.mark.filterwarnings("default")
CANARIES = ("IDENT-", "NOTE-", "Cé, the long")


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def in_json(monkeypatch):
    monkeypatch.setenv("SFUMATO_LOG", "json")


def test_a_release_says_every_line_as_json(start, in_json, tmp_path):
    line = Small(tmp_path / "line").write(people())
    released = start("release", str(line.spec))
    out, err = released.communicate(timeout=300)
    assert released.returncode == 0, err
    entries = lines(err)
    assert Path(out.strip()).name == "0001"  # answers are answers still
    assert all(datetime.fromisoformat(entry["time"]).tzinfo for entry in entries)
    assert {entry["level"] for entry in entries} == {"info"}
    of_run = [entry for entry in entries if "run" in entry]
    assert {entry["line"] for entry in of_run} == {"wages"}
    assert len({entry["id"] for entry in of_run}) == 1
    assert {entry["stage"] for entry in of_run if "seconds" in entry} >= {"ingest", "publish"}
    counts = [entry["counts"] for entry in of_run if "counts" in entry]
    assert {"read": 62, "to-be-represented": 60} in counts
    assert not [canary for canary in CANARIES if canary in err]


def test_a_refusal_is_one_line_of_json(small, in_json, capsys, call):
    code, out, err = call("check", small.folder / "nowhere")
    assert (code, out) == (2, "")
    (entry,) = lines(err)
    assert entry["level"] == "error"
    assert "nowhere" in entry["message"]


def test_a_run_that_fails_says_so_on_a_terminal_too(small, in_json, capsys, monkeypatch):
    from importlib import import_module

    from sfumato.flows.cli import show
    from sfumato.tasks.private.failure import listening

    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    broken = import_module("sfumato.tasks.validate")

    def fail(*_, **__):
        raise KeyError(CANARIES[0])

    monkeypatch.setattr(broken, "assess_candidate", fail)
    with show.stages() as listener, listening(listener), pytest.raises(Exception, match="KeyError"):
        release_here(small.spec)
    entries = lines(capsys.readouterr().err)
    failed = [entry for entry in entries if entry["level"] == "error"]
    assert [entry["stage"] for entry in failed] == ["validate"]
    assert CANARIES[0] not in json.dumps(entries)


def test_text_is_what_it_was(small, monkeypatch, call):
    monkeypatch.setenv("SFUMATO_LOG", "text")
    _, _, err = call("check", small.folder / "nowhere")
    assert err.startswith("sfumato: ")


def test_another_way_is_refused(small, monkeypatch, call):
    monkeypatch.setenv("SFUMATO_LOG", "yaml")
    code, _, err = call("schema")
    assert (code, err) == (2, "sfumato: SFUMATO_LOG: is neither text nor json\n")


def test_of_an_exception_a_line_has_the_type_alone():
    try:
        raise ValueError(CANARIES[0])
    except ValueError:
        record = logging.LogRecord("l", 40, __file__, 1, "a\nb", None, sys.exc_info())
    (entry,) = lines(JsonLines().format(record))
    assert (entry["exception"], entry["message"]) == ("ValueError", "a\nb")
    assert CANARIES[0] not in json.dumps(entry)


def test_a_worker_logs_where_prefect_would():
    """Only how lines are written, and by which handler, is other than in Prefect's own file."""
    own = Path(prefect.logging.__file__).with_name("logging.yml")
    theirs = yaml.safe_load(own.read_text(encoding="utf-8"))
    ours = yaml.safe_load((ROOT / "deployments" / "logging.yaml").read_text(encoding="utf-8"))
    for key in ("version", "disable_existing_loggers", "loggers", "root"):
        assert ours[key] == theirs[key]
    assert ours["handlers"].keys() == theirs["handlers"].keys()
    for key in ("api", "worker_api"):
        assert ours["handlers"][key] == theirs["handlers"][key]
    (formatter,) = ours["formatters"].values()
    assert formatter["()"] == f"{JsonLines.__module__}.{JsonLines.__name__}"
