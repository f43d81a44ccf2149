"""`make mutants`: put small faults into a commit, one at a time, and run its tests.

The tests that run the mutated line are known from one run with coverage. Results are kept in
`build/mutants`: a run that was cut short goes on where it stopped, and a mutant of a module that
did not change is not tried again.
"""

import argparse
import hashlib
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from tests.mutants import worker
from tests.mutants.operators import Mutant, mutants
from tests.mutants.targets import APART, FIRST, SAMPLE, SAMPLED, SEED, TESTS

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "build" / "mutants"
_THREADLESS = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
_WRITTEN_FOR_THEM = "tests/mutants/test_survivors.py"
_MOST_SECONDS = 15.0  # of tests for one mutant, the shortest first


def main() -> None:
    """Take a snapshot of the commit, then go on inside it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("group", choices=list(TESTS))
    parser.add_argument("--minutes", type=float, default=120.0)
    parser.add_argument("--again", action="store_true", help="survivors alone, by all tests")
    parser.add_argument("--commit", default="HEAD")
    parser.add_argument("--of", nargs="*", default=["*"], metavar="GLOB", help="of these files")
    asked = parser.parse_args()
    if "SFUMATO_MUTANTS" not in os.environ:
        _go_inside(_snapshot(asked.commit))
    _settle()
    covered, seconds, modules = _coverage(asked.group)
    worker.import_packages(modules)
    cost = _cost(covered, seconds)
    results = KEPT / "results.jsonl"
    known = {one["key"]: one for one in _lines(results)}
    wanted = [one for one in _wanted(asked.group) if any(fnmatch(one[0], g) for g in asked.of)]
    random.Random(SEED).shuffle(wanted)  # so that what time allows is a sample of all
    forks: dict[str, worker.Forks] = {}
    noticed = _noticed(known.values())
    end = time.monotonic() + 60 * asked.minutes
    for file, mutant in wanted:
        key = hashlib.sha256(f"{file}\n{mutant.source}".encode()).hexdigest()[:16]
        if (known.get(key, {}).get("verdict") == "survived") != asked.again:
            continue
        if key in known and not asked.again:
            continue
        if time.monotonic() > end:
            break
        found = {"key": key, "file": file, "line": mutant.line, "what": mutant.what}
        first = noticed[file].most_common()
        tests = _tests(covered.get(file, {}), mutant.line, cost, first, all_=asked.again)
        if tests:
            timeout = 30 + 5 * sum(seconds.get(test, 1.0) for test in tests)
            if file not in forks:
                forks[file] = worker.Forks(file)
            found["verdict"], found["by"] = forks[file].verdict(mutant.source, tests, timeout)
            noticed[file].update(_by(found))
        else:
            found["verdict"], found["by"] = "not covered", ""
        known[key] = found
        with results.open("a", encoding="utf-8") as out:
            out.write(json.dumps(found) + "\n")
    _tell(wanted, known)


def _snapshot(of: str) -> Path:
    commit = _git("rev-parse", of).strip()
    place = KEPT / commit
    if not place.exists():
        fresh = KEPT / f"{commit}.new"
        fresh.mkdir(parents=True)
        archive = subprocess.run(
            ["git", "archive", commit], cwd=ROOT, check=True, capture_output=True
        )
        subprocess.run(["tar", "x"], cwd=fresh, input=archive.stdout, check=True)
        fresh.rename(place)
    return place


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout


def _go_inside(place: Path) -> None:
    path = os.pathsep.join([str(place), str(ROOT)])
    environ = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")},
        **_THREADLESS,
        "HYPOTHESIS_PROFILE": "ci",
        "PYTHONPATH": path,
        "SFUMATO_MUTANTS": str(ROOT),
    }
    os.chdir(place)
    os.execve(sys.executable, [sys.executable, __file__, *sys.argv[1:]], environ)


def _settle() -> None:
    os.environ["PREFECT_LOGGING_LEVEL"] = "ERROR"
    worker.import_packages()


_Covered = tuple[Mapping[str, Mapping[int, Sequence[str]]], Mapping[str, float], Sequence[str]]


def _coverage(group: str) -> _Covered:
    """The tests that run each line of each file, the seconds of each test, and what all import."""
    kept = Path(f"coverage-{group}.json")
    if not kept.exists():
        kept.write_text(json.dumps(_covered(group)), encoding="utf-8")
    document = json.loads(kept.read_text(encoding="utf-8"))
    lines = {
        file: {int(line): tests for line, tests in of_file.items()}
        for file, of_file in document["lines"].items()
    }
    return lines, document["seconds"], document["modules"]


def _covered(group: str) -> dict[str, Any]:
    """Run the tests of a group, in as many processes as there are cores, and join what they say."""
    files, shards = _test_files(group), os.cpu_count() or 1
    Path("coverage.rc").write_text(_RC.format(files="\n    ".join(_mutated_files(group))))
    with ThreadPoolExecutor(shards) as pool:
        told = list(pool.map(_shard, range(shards), [files[n::shards] for n in range(shards)]))
    lines: defaultdict[str, defaultdict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for one in told:
        for file, of_file in one["lines"].items():
            for line, tests in of_file.items():
                lines[file][line].update(tests)
    return {
        "lines": {f: {n: sorted(t) for n, t in found.items()} for f, found in lines.items()},
        "seconds": {test: taken for one in told for test, taken in one["seconds"].items()},
        "modules": sorted({name for one in told for name in one["modules"]}),
    }


_RC = """[run]
include =
    {files}
"""


def _test_files(group: str) -> list[str]:
    """The files of tests of a group, those of one room far from each other."""
    found = [
        str(file)
        for place in map(Path, TESTS[group])
        for file in (sorted(place.rglob("test_*.py")) if place.is_dir() else [place])
    ]
    return [file for file in found if file not in APART]


def _mutated_files(group: str) -> list[str]:
    return [f"*/{file}" for file in _files(FIRST if group == "first" else SAMPLED)]


def _shard(number: int, files: Sequence[str]) -> dict[str, Any]:
    """What some files of tests run, from a process of their own."""
    told, said = Path(f"shard-{number}.json"), Path(f"shard-{number}.log")
    command = [sys.executable, "-m", "tests.mutants.shard", str(told), *files]
    environ = {**os.environ, "COVERAGE_FILE": f".coverage-{number}"}
    with said.open("wb") as out:
        code = subprocess.run(command, env=environ, stdout=out, stderr=out, check=False).returncode
    if code != 0:
        raise SystemExit(f"the tests fail without any mutant: see {said.absolute()}")
    found: dict[str, Any] = json.loads(told.read_text(encoding="utf-8"))
    return found


def _wanted(group: str) -> Iterator[tuple[str, Mutant]]:
    if group == "sample":
        yield from _sample()
    else:
        for file in _files(FIRST):
            yield from _mutants_of(file)


def _files(patterns: Sequence[str]) -> list[str]:
    """The modules that patterns name, in their order; a package says nothing by itself."""
    found = [str(path) for pattern in patterns for path in sorted(Path().glob(pattern))]
    return [file for file in dict.fromkeys(found) if not file.endswith("__init__.py")]


def _mutants_of(file: str) -> Iterator[tuple[str, Mutant]]:
    for mutant in mutants(Path(file).read_text(encoding="utf-8")):
        yield file, mutant


def _sample() -> Iterator[tuple[str, Mutant]]:
    """As many mutants of each module as its share of all, always the same ones."""
    first = set(_files(FIRST))
    files = sorted(file for file in _files(SAMPLED) if file not in first)
    of_file = {file: list(_mutants_of(file)) for file in files}
    total = sum(map(len, of_file.values()))
    for file, all_ in of_file.items():
        chance = random.Random(f"{SEED} {file}")
        yield from chance.sample(all_, min(len(all_), -(-SAMPLE * len(all_) // total)))


def _noticed(known: Iterable[Mapping[str, str]]) -> defaultdict[str, Counter[str]]:
    """How many mutants of each file each test has noticed."""
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for one in known:
        found[one["file"]].update(_by(one))
    return found


def _by(found: Mapping[str, str]) -> list[str]:
    said = found["by"].split(" - ")[0].partition(" ")
    return [said[2]] if said[0] in ("FAILED", "ERROR") else []


def _cost(
    covered: Mapping[str, Mapping[int, Sequence[str]]], seconds: Mapping[str, float]
) -> Mapping[str, tuple[float, float]]:
    """What each test takes for each file that it runs lines of, and in seconds.

    One that runs little else is likelier to notice what changed.
    """
    files: Counter[str] = Counter()
    for of_file in covered.values():
        files.update({test for found in of_file.values() for test in found})
    return {test: (seconds.get(test, 1.0) * n, seconds.get(test, 1.0)) for test, n in files.items()}


def _tests(
    covered: Mapping[int, Sequence[str]],
    line: int,
    cost: Mapping[str, tuple[float, float]],
    first: Sequence[tuple[str, int]] = (),
    *,
    all_: bool,
) -> list[str]:
    """The tests that run a line; for one that runs at import, those of its module.

    Begins with those that noticed the most mutants of its file, then the cheapest.
    """
    tests = covered.get(line) or sorted({test for found in covered.values() for test in found})
    chosen, room, times = [_WRITTEN_FOR_THEM] if all_ else [], _MOST_SECONDS, dict(first)
    for test in sorted(tests, key=lambda one: (-times.get(one, 0), cost[one])):
        room -= cost[test][1]
        if room < 0 and chosen and not all_:
            break
        chosen.append(test)
    return chosen


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)


def _tell(wanted: Sequence[tuple[str, Mutant]], known: Mapping[str, dict[str, Any]]) -> None:
    keys = [hashlib.sha256(f"{f}\n{m.source}".encode()).hexdigest()[:16] for f, m in wanted]
    tried = [known[key] for key in dict.fromkeys(keys) if key in known]
    print(f"{len(tried)} of {len(set(keys))} mutants tried")
    for verdict in sorted({one["verdict"] for one in tried}):
        of_verdict = [one for one in tried if one["verdict"] == verdict]
        print(f"{len(of_verdict):6} {verdict}")
        if verdict != "killed":
            for one in of_verdict:
                print(f"       {one['file']}:{one['line']}: {one['what']}")


if __name__ == "__main__":
    main()
