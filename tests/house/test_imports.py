"""Imports of reading a spec, querying, checking and measuring: never an algorithm's machinery.

Whole commands are started, too: none imports a dependency that it does not use.
"""

import json
import os
import re
import subprocess
import sys
import tomllib

import pytest

from tests.corpus.lines import CORPUS
from tests.house.survey import ROOT, entries
from tests.release.small import Small, people

MACHINERY = {
    "cryptography",
    "great_expectations",
    "matplotlib",
    "numba",
    "pandas",
    "prefect",
    "scipy",
}
DECLARING = ["sfumato.tasks.terms.terms", "sfumato.flows.inputs.spec"]
ANSWERING = [
    "sfumato.tasks.query.ask",
    "sfumato.tasks.query.rewrite",
    "sfumato.tasks.publication.check",
    "sfumato.tasks.verification.way_in",
    "sfumato.tasks.stages.measure",
]


def imported_modules(module):
    """The names of all modules that are there once this one is imported."""
    code = f"import json, sys, {module}; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def modules_inside(modules, *rooms):
    """The modules among these that stand in one of the rooms of `tasks` or of `expectations`."""
    return [name for name in modules if name.removeprefix("sfumato.").startswith(rooms)]


def machinery(modules):
    """The dependencies among modules that no reader of a release needs."""
    return {name.partition(".")[0] for name in modules} & MACHINERY


@pytest.mark.parametrize("module", [*DECLARING, *ANSWERING])
def test_no_partition_and_no_machinery(module):
    modules = imported_modules(module)
    assert machinery(modules) == set()
    parameters = re.compile(r"tasks\.partitions\.(\w+|\w+\.parameters|targets\.\w+)$")
    partitions = modules_inside(modules, "tasks.partitions.")
    assert [name for name in partitions if not parameters.search(name)] == []


def test_terms_are_declared_without_any_entry_of_a_registry():
    """Each promise, partition and form is imported when a spec or a manifest names it."""
    modules = imported_modules("sfumato.tasks.terms.terms")
    rooms = ("tasks.forms.", "tasks.partitions.", "expectations.models.")
    registered = {entry.module for entry in entries()} - {"sfumato.expectations.models.promises"}
    assert "sfumato.expectations.models.promises" in modules
    assert set(modules_inside(modules, *rooms)) & registered == set()


RELEASE = str(CORPUS / "format-2" / "public" / "corpus-permuted" / "0002")
EARLIER = str(CORPUS / "format-2" / "public" / "corpus-permuted" / "0001")
LABELS = str(CORPUS / "format-2" / "public" / "corpus-generalized" / "0001")
LINE = str(CORPUS / "format-2" / "public" / "corpus-permuted")
COUNT = "SELECT COUNT(*) FROM microdata"
TABLE = str(ROOT / "deployments" / "data" / "adult.parquet")
SPEC = str(ROOT / "deployments" / "releases" / "adult-occupation-mondrian.yaml")
MEASURED = ("measure", TABLE, "--qi", "age,sex", "--sensitive", "occupation")
PUBLISHED = {"click", "numpy", "pyarrow", "pydantic", "rfc8785"}
COMMANDS = {
    ("--help",): {"click"},
    ("query", "--help"): {"click", "numpy", "pyarrow", "pydantic", "sqlglot"},
    ("sweep",): {"click"},
    ("schema",): PUBLISHED | {"sqlglot", "yaml"},
    MEASURED: {"click", "numpy", "pyarrow", "pydantic"},
    (*MEASURED, "--model", "{model: k-anonymity, k: 1}"): PUBLISHED | {"sqlglot", "yaml"},
    ("query", RELEASE, COUNT, "--format", "json"): PUBLISHED | {"duckdb", "sqlglot"},
    ("query", LABELS, COUNT, "--format", "csv"): PUBLISHED | {"duckdb", "sqlglot"},
    ("query", RELEASE, COUNT): PUBLISHED | {"duckdb", "rich", "sqlglot"},
    ("query", RELEASE, COUNT, "--rewrite", "postgres"): PUBLISHED | {"duckdb", "sqlglot"},
    ("check", RELEASE): PUBLISHED | {"jinja2", "sqlglot"},
    ("check", LABELS): PUBLISHED | {"jinja2", "sqlglot"},
    ("diff", EARLIER, RELEASE): PUBLISHED,
    ("metadata", RELEASE, "--as", "croissant"): PUBLISHED,
    ("metadata", LABELS, "--as", "ddi"): PUBLISHED,
    ("releases", LINE, "--json"): PUBLISHED | {"jinja2", "sqlglot"},
    ("hierarchy", SPEC, "--column", "education"): PUBLISHED | {"scipy", "sqlglot", "yaml"},
}
IMPORTED_AS = {"great-expectations": "great_expectations", "pyyaml": "yaml"}
STARTED = """
import atexit, json, sys
from sfumato.flows.cli.main import main
atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))
main()
"""


def dependencies():
    """The names under which the declared dependencies are imported."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        declared = tomllib.load(file)["project"]["dependencies"]
    names = [re.match(r"[a-z0-9-]+", requirement)[0] for requirement in declared]
    return {IMPORTED_AS.get(name, name) for name in names}


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command)[:40])
def test_a_command_imports_no_dependency_that_it_does_not_use(command, tmp_path):
    """Nothing was published from the work directory, so that nothing has to be mended there."""
    started = [sys.executable, "-c", STARTED, *command]
    environ = {**os.environ, "SFUMATO_WORK": str(tmp_path)}
    done = subprocess.run(started, capture_output=True, text=True, env=environ)
    assert done.returncode == 0, done.stderr[:-1][-200:]
    modules = json.loads(done.stderr.splitlines()[-1])
    used = {name.partition(".")[0] for name in modules} & dependencies()
    assert used - COMMANDS[command] == set()
    assert "pyarrow.dataset" not in modules


LOADED = """
import atexit, sys
from sfumato.flows.cli.main import main

def tell():
    ours = {name: module for name, module in sys.modules.items() if name.startswith("sfumato.")}
    heads = [name for name, module in ours.items() if hasattr(module, "__path__")]
    print(len(ours) - len(heads), file=sys.stderr)

atexit.register(tell)
main()
"""


class TestLoadedModules:
    """A command loads what it runs: how many modules of ours a fresh process has at its end."""

    @staticmethod
    def number(*command, **environ):
        started = [sys.executable, "-W", "ignore", "-c", LOADED, *command]
        environ = {**os.environ, **environ}
        done = subprocess.run(started, capture_output=True, text=True, env=environ)
        assert done.returncode == 0, done.stderr[-500:]
        return int(done.stderr.splitlines()[-1])

    def test_a_query(self):
        assert self.number("query", RELEASE, COUNT) <= 180

    def test_a_check(self):
        assert self.number("check", RELEASE) <= 250
        assert self.number("check", LABELS) <= 260

    def test_a_measurement(self):
        assert self.number(*MEASURED) <= 72

    def test_help(self):
        assert self.number("check", "--help") <= 22

    def test_a_plain_release(self, tmp_path):
        small = Small(tmp_path / "line").write(people())
        environ = {"HOME": str(tmp_path), "SFUMATO_WORK": str(tmp_path / "work")}
        assert self.number("release", str(small.spec), **environ) <= 450
