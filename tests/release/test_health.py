"""What a steward is told in the morning: of private places, lines and a server that is gone."""

import json
import shutil
from types import SimpleNamespace

import pytest

from sfumato.flows.cli.main import run
from tests.prefect_server import free_port
from tests.release.small import people


@pytest.fixture
def machine(small, tmp_path, monkeypatch):
    """A published line, and a private home of Prefect's."""
    small.write(people())
    small.publish("one")
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "prefect"))
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    return small


def told(capsys, *arguments):
    code = run(["health", "--json", *arguments])
    checks = json.loads(capsys.readouterr().out)["checks"]
    return code, {one["about"]: (one["well"], one["said"]) for one in checks}


def test_a_machine_that_is_well(machine, capsys):
    code, found = told(capsys)
    assert code == 0
    assert found["line wages"] == (True, "current 0001")
    assert set(found) == {"work directory", "disk", "Prefect's home", "line wages"}


def test_it_is_said_in_lines(machine, capsys):
    assert run(["health"]) == 0
    assert "ok   line wages: current 0001" in capsys.readouterr().out.splitlines()


def test_a_version_that_is_gone(machine, capsys):
    shutil.rmtree(machine.folder / "public" / "wages" / "0001")
    code, found = told(capsys)
    assert code == 1
    assert found["line wages"] == (False, "0001 gone")


def test_a_work_directory_that_others_can_read(machine, capsys):
    place = machine.plan().line.private.parent
    place.chmod(0o755)
    code, found = told(capsys)
    place.chmod(0o700)
    assert code == 1
    assert not found["work directory"][0]


def test_a_home_that_others_can_read(machine, capsys, tmp_path):
    (tmp_path / "prefect").mkdir(mode=0o755)
    code, found = told(capsys)
    assert code == 1
    assert "is open to others" in found["Prefect's home"][1]


def test_a_disk_that_is_full(machine, capsys, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=5))
    code, found = told(capsys)
    assert code == 1
    assert found["disk"] == (False, "0.0 GiB free (at least 1 is to be)")


def test_a_server_that_is_gone(machine, capsys, monkeypatch):
    monkeypatch.setenv("PREFECT_API_URL", f"http://127.0.0.1:{free_port()}/api")
    code, found = told(capsys)
    assert code == 1
    assert found["server"] == (False, "cannot be asked (ConnectError)")


def test_what_is_found_is_written_for_prometheus(machine, capsys, tmp_path):
    from prometheus_client.parser import text_string_to_metric_families

    file = tmp_path / "sfumato.prom"
    assert told(capsys, "--metrics", str(file))[0] == 0
    families = text_string_to_metric_families(file.read_text(encoding="utf-8"))
    samples = {(s.name, *sorted(s.labels.values())): s.value for f in families for s in f.samples}
    assert samples["sfumato_well", "line wages"] == 1
    assert samples["sfumato_versions", "current", "wages"] == 1
    assert samples["sfumato_last_published_timestamp_seconds", "wages"] > 0


def test_metrics_that_cannot_be_written(machine, capsys):
    assert run(["health", "--metrics", "no/such/place"]) == 2
    assert "no/such/place: cannot be written" in capsys.readouterr().err


def test_no_value_of_the_source_is_said(machine, capsys):
    told(capsys)
    run(["health"])
    said = capsys.readouterr()
    assert "IDENT" not in said.out + said.err
