"""`pip install sfumato` installs little, enough to read, and has words for what is missing."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.corpus.lines import CORPUS
from tests.reader.environment import ROOT, closure_of, installed_bytes, make

pytestmark = pytest.mark.packaging
MOST_DIRECT, MOST_BYTES = 11, 400_000_000
PUBLISHING = {
    "fastapi",
    "great-expectations",
    "matplotlib",
    "numba",
    "pandas",
    "prefect",
    "scipy",
    "sqlalchemy",
}
AMBIGUOUS = CORPUS / "format-11" / "public" / "corpus-ambiguous" / "0001"
PERMUTED = CORPUS / "format-9" / "public" / "corpus-permuted" / "0001"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An environment with a reader alone, without what runs tests."""
    place = tmp_path_factory.mktemp("reader")
    make(place / "environment", "sfumato")
    return place


@pytest.fixture(scope="module")
def run(folder):
    """Run a program of the environment."""
    variables = {
        name: value for name, value in os.environ.items() if not name.startswith("SFUMATO_")
    }
    environ = {**variables, "HOME": str(folder), "PYTHONWARNINGS": "error"}

    def finish(name, *arguments):
        command = [str(folder / "environment" / "bin" / name), *arguments]
        return subprocess.run(
            command, env=environ, cwd=folder, capture_output=True, text=True, timeout=240
        )

    return finish


def test_a_reader_needs_few_packages():
    content = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert len(content["project"]["dependencies"]) <= MOST_DIRECT
    installed = closure_of("sfumato").keys()
    assert installed & PUBLISHING == set()
    assert closure_of("sfumato[publish]").keys() >= PUBLISHING - {"matplotlib"}
    assert installed_bytes("sfumato") <= MOST_BYTES


@pytest.mark.parametrize("release", [AMBIGUOUS, PERMUTED], ids=["ambiguous", "permuted"])
def test_a_reader_checks_and_asks(run, release):
    checked = run("sfumato", "check", str(release))
    assert (checked.returncode, checked.stderr) == (0, "")
    answer = run("sfumato", "query", str(release), "SELECT COUNT(*) FROM microdata", "--json")
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout)["verified"] is True


def test_python_asks_and_says_what_draws_and_converts(run):
    program = f"""
import sfumato

answer = sfumato.open({str(PERMUTED)!r}).query("SELECT COUNT(*) AS n FROM microdata")
print(int(answer.value.lower), answer.to_arrow().num_rows)
for method in (answer.to_pandas, answer.to_polars, answer.plot):
    try:
        method()
    except Exception as error:
        print(type(error).__name__, error)
"""
    done = run("python", "-c", program)
    assert done.returncode == 0, done.stderr
    first, *others = done.stdout.splitlines()
    assert first.endswith(" 1")
    needs = "needs a package that is not installed. Run pip install"
    assert others == [
        f"MissingPackageError {method}: {needs} 'sfumato[{extra}]'"
        for method, extra in (("to_pandas", "pandas"), ("to_polars", "polars"), ("plot", "plots"))
    ]


def test_a_reader_fills_files_and_says_what_servers_need(run, folder):
    for url in (f"duckdb:///{folder}/filled.db", f"sqlite:///{folder}/filled.sqlite"):
        filled = run("sfumato", "load", str(PERMUTED), url)
        assert filled.returncode == 0, filled.stderr
    for scheme, package, extra in (
        ("postgresql", "psycopg", "postgres"),
        ("mariadb", "pymysql", "mariadb"),
    ):
        refused = run("sfumato", "load", str(PERMUTED), f"{scheme}://nowhere/releases")
        assert (refused.returncode, refused.stdout) == (2, "")
        assert refused.stderr == _missing(package, extra)


@pytest.mark.parametrize(
    ("arguments", "package"),
    [
        (["demo"], "scipy"),
        (["release", "spec.yaml"], "scipy"),
        (["init", "people.csv"], "charset-normalizer"),
    ],
)
def test_what_publishes_names_its_extra(run, folder, arguments, package):
    (folder / "people.csv").write_text("age,sex\n1,f\n2,m\n", encoding="utf-8")
    shutil.copy(ROOT / "deployments" / "releases" / "adult-capital-loss.yaml", folder / "spec.yaml")
    done = run("sfumato", *arguments)
    assert done.returncode == 2
    assert done.stderr.endswith(_missing(package, "publish"))


def _missing(package, extra):
    reason = f"this needs the package {package}, which is not installed"
    whole = f"'sfumato[{extra}]'" if extra else "sfumato"
    return f"sfumato: {reason}\n  - pip install {whole}\n"


@pytest.mark.parametrize("package", ["sqlglot", "jinja2", "rfc8785"])
def test_a_missing_package_is_no_broken_promise(run, folder, package):
    """A reader without one of its own packages: the release is not blamed for it."""
    (place,) = Path(folder / "environment" / "lib").glob("*/site-packages")
    hiding = place / "hiding.pth"
    hiding.write_text(f"import sys; sys.modules[{package!r}] = None\n", encoding="utf-8")
    try:
        done = run("sfumato", "check", str(PERMUTED))
    finally:
        hiding.unlink()
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == _missing(package, "")


def test_nothing_of_the_publishing_half_is_importable(run):
    names = sorted(name.replace("-", "_") for name in PUBLISHING)
    program = f"from importlib.util import find_spec; print([n for n in {names} if find_spec(n)])"
    assert run("python", "-c", program).stdout == "[]\n"
    assert all(name in sys.modules or __import__(name) for name in ("numba", "scipy"))  # are here
