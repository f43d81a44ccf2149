"""The image and its composition are well formed, and say what tests and the guide run."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.fork_server import ROOT

DEPLOYMENTS = ROOT / "deployments"


def run_tool(name, *arguments):
    tool = shutil.which(name, path=str(Path(sys.executable).parent))
    assert tool is not None
    return subprocess.run([tool, *arguments], capture_output=True, text=True)


def compose():
    return yaml.safe_load((DEPLOYMENTS / "compose.yaml").read_text(encoding="utf-8"))


def test_the_dockerfile_has_no_fault():
    done = run_tool("hadolint", str(DEPLOYMENTS / "Dockerfile"))
    assert done.returncode == 0, done.stdout


def test_the_linter_sees_faults(tmp_path):
    (tmp_path / "Dockerfile").write_text("FROM python\nRUN cd / && pip install x\n")
    assert run_tool("hadolint", str(tmp_path / "Dockerfile")).returncode != 0


def test_the_composition_is_one():
    schema = ["--builtin-schema", "vendor.compose-spec"]
    done = run_tool("check-jsonschema", *schema, str(DEPLOYMENTS / "compose.yaml"))
    assert done.returncode == 0, done.stdout


def test_nothing_listens_beyond_the_machine():
    ports = [
        port for service in compose()["services"].values() for port in service.get("ports", [])
    ]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_no_password_is_written_down():
    (line,) = {
        value
        for service in compose()["services"].values()
        for name, value in service.get("environment", {}).items()
        if name.endswith("PASSWORD")
    }
    assert line.startswith("${PREFECT_DATABASE_PASSWORD:?")


@pytest.mark.parametrize(("service", "target"), [("server", "server"), ("worker", "worker")])
def test_services_run_what_make_runs(service, target):
    """The harness of operation runs the same commands on a server and a worker of its own."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    command = compose()["services"][service]["command"]
    assert f"prefect {command[1]} start" in makefile
    assert command[:3] == ["prefect", target, "start"]


def test_the_image_has_every_package():
    copied = {
        line.split()[1]
        for line in (DEPLOYMENTS / "Dockerfile").read_text(encoding="utf-8").splitlines()
        if line.startswith("COPY") and len(line.split()) == 3
    }
    assert {"sfumato", "flows", "tasks", "expectations", "deployments"} <= copied
