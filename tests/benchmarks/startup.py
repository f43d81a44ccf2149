"""The CPU of whole commands in fresh processes, and of releases with and without Prefect.

The server that a run starts, and whatever else it starts, counts with it. Prefect's database is
there, and byte code is compiled, before anything is counted.
"""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter

ROOT = Path(__file__).parents[2]
SPEC = ROOT / "deployments" / "releases" / "adult-capital-loss.yaml"
TABLE = ROOT / "deployments" / "data" / "adult.parquet"
QUERY = (
    'SELECT sex, AVG("capital-loss"), COUNT(*) FROM microdata '
    "WHERE age BETWEEN 30 AND 40 GROUP BY sex"
)
TIMES, REPETITIONS = 7, 5
RELEASES = {
    "ke, 1,427 of 32,561 rows": SPEC,
    "anatomy, 30,162 rows": ROOT / "deployments" / "examples" / "adult-occupation-anatomy.yaml",
    "full-domain, 30,162 rows": ROOT / "deployments" / "examples" / "adult-occupation.yaml",
}
COMMAND = "from sfumato.flows.cli.main import main; main()"
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
    """Print a line for each command, each part of a release, and each release."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        environ = {**os.environ, **environment(place)}
        environ.pop("PYTHONDONTWRITEBYTECODE", None)
        version = place / "kept" / "adult-capital-loss" / "0001"
        run(release(place / "kept"), environ | {"SFUMATO_WORK": str(place / "kept-work")})
        of_commands(version, environ)
        of_imports(environ)
        of_releases(place, environ)


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


def of_releases(place: Path, environ: Mapping[str, str]) -> None:
    """Releases of UCI Adult from the shell to their end, without a server and with one of its own.

    Everything is on that a spec turns on by default: attacks, evaluation, pages.
    """
    for title, spec in RELEASES.items():
        seconds = {}
        for way in ((), ("--prefect",)):
            taken = [
                time_release(spec, way, place / f"{spec.stem}-{len(way)}-{number}", environ)
                for number in range(REPETITIONS)
            ]
            seconds[way] = [median(figures) for figures in zip(*taken, strict=True)]
            cpu, wall = seconds[way]
            spread = f"{min(cpu for cpu, _ in taken):.1f} to {max(cpu for cpu, _ in taken):.1f}"
            name = " ".join([title, *way])
            print(f"start, release, {name}: {cpu:.1f} s CPU ({spread}), {wall:.1f} s wall")
        share = seconds[()][0] / seconds[("--prefect",)][0]
        print(f"start, release, {title}: {share:.2f} of the CPU with --prefect")


def time_release(
    spec: Path, way: Sequence[str], place: Path, environ: Mapping[str, str]
) -> tuple[float, float]:
    """CPU and wall seconds of a release in a place of its own, which is deleted."""
    begun = perf_counter()
    cpu = run(
        [*release(place / "out", spec), *way], environ | {"SFUMATO_WORK": str(place / "work")}
    )
    wall = perf_counter() - begun
    shutil.rmtree(place)
    return cpu, wall


def release(into: Path, spec: Path = SPEC) -> list[str]:
    """The command that releases a spec, by default UCI Adult's capital losses."""
    arguments = ["release", str(spec), "--set", f"publish.uri={into}"]
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
