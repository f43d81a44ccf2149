"""The CPU of whole commands in fresh processes, and what of a release is Prefect's, and whose else.

The server that a run starts, and whatever else it starts, counts with it. Prefect's database is
there, and byte code is compiled, before anything is counted.
"""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[2]
SPEC = ROOT / "deployments" / "releases" / "adult-capital-loss.yaml"
TABLE = ROOT / "deployments" / "data" / "adult.parquet"
QUERY = (
    'SELECT sex, AVG("capital-loss"), COUNT(*) FROM microdata '
    "WHERE age BETWEEN 30 AND 40 GROUP BY sex"
)
TIMES = 7
COMMAND = "from sfumato.flows.cli.main import main; main()"
QUIET = "from sfumato.flows.inputs.environment import lean, quiet; lean(); quiet(); "
PREFECT = "from prefect import flow, task; import prefect.artifacts, prefect.runtime"
GREAT_EXPECTATIONS = "import great_expectations"
ALL = "import sfumato.flows.release, sfumato.expectations.suites.gate"
SERVER = """
from prefect.client.orchestration import get_client
with get_client(sync_client=True) as client:
    client.hello()
"""
TASKS = 7  # of a release
EMPTY = f"""
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
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        environ = {**os.environ, **environment(place)}
        environ.pop("PYTHONDONTWRITEBYTECODE", None)
        version = place / "kept" / "adult-capital-loss" / "0001"
        run(release(place / "kept"), environ | {"SFUMATO_WORK": str(place / "kept-work")})
        of_commands(version, environ)
        of_release(place, environ)


def environment(place: Path) -> dict[str, str]:
    """Prefect's database, the cache and the work directory, none of them the user's."""
    names = {"PREFECT_HOME": "prefect", "XDG_CACHE_HOME": "cache", "SFUMATO_WORK": "work"}
    quiet = {"PREFECT_LOGGING_LEVEL": "ERROR", "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "true"}
    return {name: str(place / folder) for name, folder in names.items()} | quiet


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


def of_release(place: Path, environ: Mapping[str, str]) -> None:
    """A release of UCI Adult, and the parts that would be there without the release."""
    bare, imports = of_code("pass", environ), of_code(QUIET + ALL, environ)
    prefect = of_code(QUIET + PREFECT, environ) - bare
    suites = of_code(QUIET + GREAT_EXPECTATIONS, environ) - bare
    server = of_code(QUIET + PREFECT + SERVER, environ) - bare - prefect
    empty = of_code(QUIET + PREFECT + EMPTY, environ) - bare - prefect
    taken = []
    for number in range(TIMES):
        fresh = environ | {"SFUMATO_WORK": str(place / f"work-{number}")}
        taken.append(run(release(place / str(number)), fresh))
        shutil.rmtree(place / str(number))
    whole = median(taken)
    for title, part in {
        "imports of Prefect": prefect,
        "imports of Great Expectations": suites,
        "imports of all, ours among them": imports - bare,
        "a server, and what a client imports for it": server,
        f"that and an empty flow of {TASKS} tasks": empty,
        "the command": whole,
        "of it neither imports nor an empty flow": whole - imports - empty,
    }.items():
        print(f"start, release, {title}: {part:.2f} s CPU, {part / whole:.2f} of the command")


def release(into: Path) -> list[str]:
    """The command that releases UCI Adult's capital losses."""
    arguments = ["release", str(SPEC), "--set", f"publish.uri={into}"]
    return [sys.executable, "-c", COMMAND, *arguments]


def of_code(code: str, environ: Mapping[str, str], arguments: list[str] | None = None) -> float:
    """The median CPU seconds of a process that runs some code, which it ran before."""
    command = [sys.executable, "-c", code, *(arguments or [])]
    run(command, environ)
    return median(run(command, environ) for _ in range(TIMES))


def run(command: list[str], environ: Mapping[str, str]) -> float:
    """The CPU seconds of a process and of those that it waited for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=dict(environ), capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
