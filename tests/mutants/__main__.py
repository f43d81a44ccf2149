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
    options = parser.parse_args()
    if "SFUMATO_MUTANTS" not in os.environ:
        _go_inside(_snapshot(options.commit))
    _settle()
    covered, seconds, modules = _coverage(options.group)
    worker.import_packages(modules)
    cost = _cost(covered, seconds)
    results = KEPT / "results.jsonl"
    results_by_key = {result["key"]: result for result in _lines(results)}
    mutants_to_try = [
        mutant
        for mutant in _select_mutants(options.group)
        if any(fnmatch(mutant[0], g) for g in options.of)
    ]
    random.Random(SEED).shuffle(mutants_to_try)  # so that what time allows is a sample of all
    forks: dict[str, worker.Forks] = {}
    noticed = _count_noticed(results_by_key.values())
    end = time.monotonic() + 60 * options.minutes
    for file, mutant in mutants_to_try:
        key = hashlib.sha256(f"{file}\n{mutant.source}".encode()).hexdigest()[:16]
        if (results_by_key.get(key, {}).get("verdict") == "survived") != options.again:
            continue
        if key in results_by_key and not options.again:
            continue
        if time.monotonic() > end:
            break
        result = {"key": key, "file": file, "line": mutant.line, "what": mutant.what}
        first = noticed[file].most_common()
        tests = _tests(covered.get(file, {}), mutant.line, cost, first, all_=options.again)
        if tests:
            timeout = 30 + 5 * sum(seconds.get(test, 1.0) for test in tests)
            if file not in forks:
                forks[file] = worker.Forks(file)
            result["verdict"], result["by"] = forks[file].verdict(mutant.source, tests, timeout)
            noticed[file].update(_noticing_tests(result))
        else:
            result["verdict"], result["by"] = "not covered", ""
        results_by_key[key] = result
        with results.open("a", encoding="utf-8") as out:
            out.write(json.dumps(result) + "\n")
    _tell(mutants_to_try, results_by_key)


def _snapshot(revision: str) -> Path:
    commit = _git("rev-parse", revision).strip()
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
    coverage_file = Path(f"coverage-{group}.json")
    if not coverage_file.exists():
        coverage_file.write_text(json.dumps(_run_coverage(group)), encoding="utf-8")
    document = json.loads(coverage_file.read_text(encoding="utf-8"))
    lines = {
        file: {int(line): tests for line, tests in of_file.items()}
        for file, of_file in document["lines"].items()
    }
    return lines, document["seconds"], document["modules"]


def _run_coverage(group: str) -> dict[str, Any]:
    """Run the tests of a group, in as many processes as there are cores, and join what they say."""
    files, shards = _test_files(group), os.cpu_count() or 1
    Path("coverage.rc").write_text(_RC.format(files="\n    ".join(_mutated_files(group))))
    with ThreadPoolExecutor(shards) as pool:
        documents = list(pool.map(_shard, range(shards), [files[n::shards] for n in range(shards)]))
    lines: defaultdict[str, defaultdict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for document in documents:
        for file, of_file in document["lines"].items():
            for line, tests in of_file.items():
                lines[file][line].update(tests)
    return {
        "lines": {
            f: {n: sorted(t) for n, t in tests_of_line.items()}
            for f, tests_of_line in lines.items()
        },
        "seconds": {
            test: taken for document in documents for test, taken in document["seconds"].items()
        },
        "modules": sorted({name for document in documents for name in document["modules"]}),
    }


_RC = """[run]
include =
    {files}
"""


def _test_files(group: str) -> list[str]:
    """The files of tests of a group, those of one room far from each other."""
    files_found = [
        str(file)
        for place in map(Path, TESTS[group])
        for file in (sorted(place.rglob("test_*.py")) if place.is_dir() else [place])
    ]
    return [file for file in files_found if file not in APART]


def _mutated_files(group: str) -> list[str]:
    return [f"*/{file}" for file in _files(FIRST if group == "first" else SAMPLED)]


def _shard(number: int, files: Sequence[str]) -> dict[str, Any]:
    """Return what some files of tests run, from a process of their own."""
    document_file, log_file = Path(f"shard-{number}.json"), Path(f"shard-{number}.log")
    command = [sys.executable, "-m", "tests.mutants.shard", str(document_file), *files]
    environ = {**os.environ, "COVERAGE_FILE": f".coverage-{number}"}
    with log_file.open("wb") as out:
        code = subprocess.run(command, env=environ, stdout=out, stderr=out, check=False).returncode
    if code != 0:
        raise SystemExit(f"the tests fail without any mutant: see {log_file.absolute()}")
    document: dict[str, Any] = json.loads(document_file.read_text(encoding="utf-8"))
    return document


def _select_mutants(group: str) -> Iterator[tuple[str, Mutant]]:
    if group == "sample":
        yield from _sample()
    else:
        for file in _files(FIRST):
            yield from _mutants_of(file)


def _files(patterns: Sequence[str]) -> list[str]:
    """The modules that patterns name, in their order; a package says nothing by itself."""
    paths = [str(path) for pattern in patterns for path in sorted(Path().glob(pattern))]
    return [file for file in dict.fromkeys(paths) if not file.endswith("__init__.py")]


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


def _count_noticed(results: Iterable[Mapping[str, str]]) -> defaultdict[str, Counter[str]]:
    """Count the mutants of each file that each test has noticed."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for result in results:
        counts[result["file"]].update(_noticing_tests(result))
    return counts


def _noticing_tests(result: Mapping[str, str]) -> list[str]:
    words = result["by"].split(" - ")[0].partition(" ")
    return [words[2]] if words[0] in ("FAILED", "ERROR") else []


def _cost(
    covered: Mapping[str, Mapping[int, Sequence[str]]], seconds: Mapping[str, float]
) -> Mapping[str, tuple[float, float]]:
    """Return what each test takes for each file that it runs lines of, and in seconds.

    One that runs little else is likelier to notice what changed.
    """
    files: Counter[str] = Counter()
    for of_file in covered.values():
        files.update({test for tests_of_line in of_file.values() for test in tests_of_line})
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
    tests = covered.get(line) or sorted(
        {test for tests_of_line in covered.values() for test in tests_of_line}
    )
    chosen, room, times = [_WRITTEN_FOR_THEM] if all_ else [], _MOST_SECONDS, dict(first)
    for test in sorted(tests, key=lambda test: (-times.get(test, 0), cost[test])):
        room -= cost[test][1]
        if room < 0 and chosen and not all_:
            break
        chosen.append(test)
    return chosen


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)


def _tell(
    mutants_to_try: Sequence[tuple[str, Mutant]], results_by_key: Mapping[str, dict[str, Any]]
) -> None:
    keys = [hashlib.sha256(f"{f}\n{m.source}".encode()).hexdigest()[:16] for f, m in mutants_to_try]
    tried = [results_by_key[key] for key in dict.fromkeys(keys) if key in results_by_key]
    print(f"{len(tried)} of {len(set(keys))} mutants tried")
    for verdict in sorted({result["verdict"] for result in tried}):
        of_verdict = [result for result in tried if result["verdict"] == verdict]
        print(f"{len(of_verdict):6} {verdict}")
        if verdict != "killed":
            for result in of_verdict:
                print(f"       {result['file']}:{result['line']}: {result['what']}")


if __name__ == "__main__":
    main()
