"""The CPU of commands that publish nothing, and of what a release imports, in fresh processes.

Prefect's database is there, and byte code is compiled, before anything is counted.
"""

import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.benchmarks.processes import (
    COMMAND,
    ROOT,
    describe_machine,
    environment,
    of_code,
    release,
    run,
)

SPEC = ROOT / "deployments" / "releases" / "adult-capital-loss.yaml"
TABLE = ROOT / "deployments" / "data" / "adult.parquet"
QUERY = (
    'SELECT sex, AVG("capital-loss"), COUNT(*) FROM microdata '
    "WHERE age BETWEEN 30 AND 40 GROUP BY sex"
)
QUIET = "from sfumato.flows.inputs.environment import lean, quiet; lean(); quiet(); "
PREFECT = "from prefect import flow, task; import prefect.artifacts, prefect.runtime"
GREAT_EXPECTATIONS = "import great_expectations"
ENGINE = "import sfumato.expectations.suites.engine"
ALL = "import sfumato.flows.runs.releasing, sfumato.expectations.suites.gate"
TASKS = 7  # of a release
EMPTY = f"""
{PREFECT}
@task
def nothing():
    pass

@flow
def idle():
    for _ in range({TASKS}):
        nothing()

idle()
"""


def main() -> None:
    """Print a line for each command, and for each part of a release."""
    print(describe_machine())
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        environ = environment(place)
        version = place / "kept" / "adult-capital-loss" / "0001"
        run(release(place / "kept", SPEC), environ | {"SFUMATO_WORK": str(place / "kept-work")})
        of_commands(version, environ)
        of_imports(environ)


def of_commands(version: Path, environ: Mapping[str, str]) -> None:
    """Commands that start no server, beside the bare interpreter."""
    bare = of_code("pass", environ)
    print(f"start, bare interpreter: {bare:.3f} s CPU")
    measured = ["measure", str(TABLE), "--qi", "age,sex,race", "--sensitive", "occupation"]
    for title, arguments in {
        "--help": ["--help"],
        "query": ["query", str(version), QUERY],
        "query --format json": ["query", str(version), QUERY, "--format", "json"],
        "check": ["check", str(version)],
        "measure": measured,
        "schema": ["schema"],
    }.items():
        taken = of_code(COMMAND, environ, arguments)
        print(f"start, sfumato {title}: {taken:.3f} s CPU, {taken / bare:.1f} x bare")


def of_imports(environ: Mapping[str, str]) -> None:
    """The parts of a release that would be there without it."""
    bare = of_code("pass", environ)
    suites = of_code(QUIET + GREAT_EXPECTATIONS, environ) - bare
    spared = of_code(QUIET + ENGINE, environ) - bare
    prefect = of_code(QUIET + PREFECT, environ) - bare
    for title, taken in {
        "imports of Great Expectations": suites,
        "imports of Great Expectations, as a release has them": spared,
        "imports of a release, ours among them": of_code(QUIET + ALL, environ) - bare,
        "imports of Prefect, with --prefect": prefect,
        f"its server and an empty flow of {TASKS} tasks": of_code(QUIET + EMPTY, environ)
        - bare
        - prefect,
    }.items():
        print(f"start, {title}: {taken:.2f} s CPU")


if __name__ == "__main__":
    main()
