"""Two related tables: what bounds hold, how wide they are, what attackers know, what it costs.

    python -m tests.benchmarks.two_tables                          2,000 patients, three releases
    python -m tests.benchmarks.two_tables --patients 100000        a larger hospital
    python -m tests.benchmarks.two_tables --per-patient 3          with three stays of each patient
    python -m tests.benchmarks.two_tables --joined                 beside one joined table, in turns
    python -m tests.benchmarks.two_tables --facts                  with and without facts of people
    python -m tests.benchmarks.two_tables --numbers                by shown numbers of stays

The hospital is made up: most patients have few stays, some have ten, and one in four has none. Each
promise is a release of its own. Widths are (upper - lower) / truth: the median over 60 ranges of
age within sex. Attackers know all that the columns name, and everybody's age and sex; what they
know for sure is counted here from the original tables, by no code of the product. Nothing is
asserted.
"""

import argparse
import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

from sfumato.expectations.shared.errors import Fault, QueryError
from sfumato.tasks.query.ask import answers
from sfumato.tasks.terms.opened import open_release
from tests.benchmarks.facts import print_with_facts
from tests.benchmarks.processes import describe_machine, with_spread
from tests.facts.clinic import with_days
from tests.flow_here import release_here
from tests.related.drawn import HAS, JOIN, bounds_of_truths, drawn_query
from tests.related.hospital import DIAGNOSES, Hospital, patients, spec_with, stays

_WITH_ANY = 0.75  # of the patients
_PER_PATIENT = _WITH_ANY / 0.55
_SHARES = (0.1, 0.2, 0.4, 0.3)  # of the diagnoses
_DIVERSE: Mapping[str, Any] = {"model": "related-l-diversity", "l": 3, "sensitive": "diagnosis"}
_PROMISES: Mapping[str, list[Mapping[str, Any]]] = {
    "people, k = 5": [{"model": "people", "k": 5}],
    "and l = 3, numbers known": [{"model": "people", "k": 5}, _DIVERSE],
    "and insiders": [{"model": "people", "k": 5}, {**_DIVERSE, "insiders": 1}],
}
_ONE = HAS.format("diagnosis = 'cancer'")
_OTHER = HAS.format("diagnosis = 'flu'")
_OFTEN = "WITH n AS (SELECT patient, COUNT(*) AS times FROM stays GROUP BY patient) "
_QUESTIONS = {
    "patients with a stay with cancer": f"SELECT COUNT(*) FROM patients WHERE {{}} AND {_ONE}",
    "patients with two stays or more": (
        f"{_OFTEN}SELECT COUNT(*) FROM patients JOIN n USING (patient) WHERE times >= 2 AND {{}}"
    ),
    "patients with both cancer and flu": (
        f"SELECT COUNT(*) FROM patients WHERE {{}} AND {_ONE} AND {_OTHER}"
    ),
    "stays": f"SELECT COUNT(*) {JOIN} WHERE {{}}",
    "stays with cancer": f"SELECT COUNT(*) {JOIN} WHERE diagnosis = 'cancer' AND {{}}",
    "costs": f"SELECT SUM(cost) {JOIN} WHERE {{}}",
    "cost of a stay": f"SELECT AVG(cost) {JOIN} WHERE {{}}",
}


def main() -> None:
    """Print, for each promise, its groups, its bounds, and what attackers know for sure."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--patients", type=int, default=2_000)
    parser.add_argument("--per-patient", type=float, default=_PER_PATIENT, help="stays, about")
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--joined", action="store_true", help="compare with one joined table")
    parser.add_argument("--turns", type=int, default=3, help="of --joined")
    parser.add_argument("--facts", action="store_true", help="questions with and without facts")
    parser.add_argument("--numbers", action="store_true", help="by numbers of stays")
    options = parser.parse_args()
    print(describe_machine())
    hospital = made_up_with_ten(options.patients, per_patient=options.per_patient)
    print(f"{hospital.patients.num_rows:,} patients with {hospital.stays.num_rows:,} stays")
    if options.joined:
        _print_joined(hospital, options.turns)
        return
    if options.facts:
        print_with_facts(with_days(hospital, days=365))
        return
    if options.numbers:
        _print_by_numbers(hospital, options.queries)
        return
    with tempfile.TemporaryDirectory() as folder, _originals(hospital) as originals:
        for number, (words, promises) in enumerate(_PROMISES.items()):
            before = time.process_time()
            place = Path(folder, str(number))
            os.environ["SFUMATO_WORK"] = str(place / "work")  # releases that know of no other
            spec = spec_with(place, hospital, promises=promises, tables=_tables(promises))
            release = release_here(spec)
            print(f"\n{words}: released in {time.process_time() - before:.1f} CPU s")
            group = _groups(release, hospital)
            print(f"  {options.patients / len(set(group)):.1f} people in a group, on average")
            _print_known(hospital, group)
            _print_widths(release, originals)
        _print_truths(release, originals, options.queries)


def _print_by_numbers(hospital: Hospital, queries: int) -> None:
    """Print widths and truths of releases that hide, shuffle or publish numbers of stays."""
    promises = _PROMISES["and l = 3, numbers known"]
    with tempfile.TemporaryDirectory() as folder, _originals(hospital) as originals:
        for numbers in ("hidden", "shuffled", "published"):
            place = Path(folder, numbers)
            os.environ["SFUMATO_WORK"] = str(place / "work")
            both = {"patients": patients(), "stays": stays(numbers=numbers)}
            release = release_here(spec_with(place, hospital, promises=promises, tables=both))
            print(f"\nnumbers {numbers}")
            _print_widths(release, originals)
            _print_truths(release, originals, queries)


def _print_joined(hospital: Hospital, turns: int) -> None:
    """Print what a release of two tables takes beside one of a row for each stay, in turns."""
    taken: dict[str, list[float]] = {"two tables": [], "one joined table": []}
    promises = _PROMISES["and l = 3, numbers known"]
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(turns):
            for words, times in taken.items():
                place = Path(folder, f"{turn}", words.replace(" ", "-"))
                os.environ["SFUMATO_WORK"] = str(place / "work")
                two = words == "two tables"
                changes = {"promises": promises} if two else _spec_of_joined(place, hospital)
                spec = spec_with(place, hospital, **changes)
                before = time.process_time()
                release_here(spec)
                times.append(time.process_time() - before)
    for words, times in taken.items():
        print(f"{words}: {with_spread(times)} CPU s")
    of_two, of_joined = (median(times) for times in taken.values())
    print(f"{of_two / of_joined:.2f} times the joined table's")


def _spec_of_joined(place: Path, hospital: Hospital) -> Mapping[str, Any]:
    """Write the joined table; return the changes of a spec that release it."""
    place.mkdir(parents=True)
    pc.write_csv(hospital.stays.join(hospital.patients, "patient"), place / "joined.csv")
    columns = {**patients()["columns"], **stays()["columns"]}
    columns["patient"] = {"role": "identifier", "unit": True, "repeat": "all"}
    return {
        "tables": None,
        "source": {"uri": "joined.csv"},
        "columns": columns,
        "promises": [{**_DIVERSE, "model": "l-diversity", "variant": "distinct"}],
        "form": {"method": "permuted"},
        "evaluate": {"workloads": []},
    }


def _tables(promises: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the tables of a spec; a diagnosis without a promise needs a reason."""
    columns = stays()["columns"]
    if len(promises) == 1:
        columns["diagnosis"] = {**columns["diagnosis"], "unprotected": "to compare"}
    return {"patients": patients(), "stays": stays(columns=columns)}


def made_up_with_ten(many: int, seed: int = 7, per_patient: float = _PER_PATIENT) -> Hospital:
    """A hospital whose patients have up to ten stays, most of them few; ages are in months."""
    rng = np.random.default_rng(seed)
    numbers = np.minimum(rng.geometric(_WITH_ANY / per_patient, many), 10)
    numbers *= rng.random(many) < _WITH_ANY
    owners = np.repeat(np.arange(many), numbers)
    people = pa.table(
        {
            "patient": [f"p{number}" for number in range(many)],
            "age": np.clip(rng.normal(52 * 12, 19 * 12, many), 0, 99 * 12).astype(int),
            "sex": np.array(["f", "m"])[rng.integers(2, size=many)],
        }
    )
    order = rng.permutation(len(owners))
    rows = pa.table(
        {
            "patient": [f"p{number}" for number in owners[order]],
            "diagnosis": np.array(DIAGNOSES)[rng.choice(4, size=len(owners), p=_SHARES)],
            "cost": np.round(rng.lognormal(7, 1, len(owners))).astype(int),
        }
    )
    return Hospital(people, rows)


def _originals(hospital: Hospital) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.register("patients", hospital.patients)
    connection.register("stays", hospital.stays)
    return connection


def _groups(release: Path, hospital: Hospital) -> list[int]:
    """Return the group of each patient, whom everybody finds by age and sex."""
    published = pq.read_table(release / "data" / "patients.parquet")
    of_kind: dict[tuple[Any, Any], set[int]] = {}
    for age, sex, group in zip(*published.select(["age", "sex", "group_id"]).columns, strict=True):
        of_kind.setdefault((age.as_py(), sex.as_py()), set()).add(group.as_py())
    kinds = zip(*hospital.patients.select(["age", "sex"]).to_pydict().values(), strict=True)
    return [next(iter(of_kind[kind])) for kind in kinds]


def _print_known(hospital: Hospital, group: list[int]) -> None:
    """Print of how many patients with stays some diagnosis is certain."""
    names = hospital.patients["patient"].to_pylist()
    of_patient = dict(zip(names, group, strict=True))
    own: dict[str, Counter[str]] = {}
    whole: dict[int, Counter[str]] = {}
    people = Counter(group)
    for patient, diagnosis in zip(
        hospital.stays["patient"].to_pylist(), hospital.stays["diagnosis"].to_pylist(), strict=True
    ):
        own.setdefault(patient, Counter())[diagnosis] += 1
        whole.setdefault(of_patient[patient], Counter())[diagnosis] += 1
    members: dict[int, list[str]] = {}
    for patient in own:
        members.setdefault(of_patient[patient], []).append(patient)
    knows = Counter[str]()
    for patient, mine in own.items():
        place = of_patient[patient]
        others = [own[name] for name in members[place] if name != patient]
        knows["everybody's group"] += _is_certain(
            whole[place], 0 if people[place] > 1 else mine.total()
        )
        knows["and all numbers of stays"] += _is_certain(whole[place], mine.total())
        knows["and the own stays, in that group"] += any(
            _is_certain(whole[place] - other, mine.total()) for other in others
        )
    for words, many in knows.items():
        print(f"  who knows {words}: certain of {many / len(own):.1%} of patients with stays")


def _is_certain(stays: Counter[str], number: int) -> bool:
    """Return whether somebody with so many of these stays surely has one of the diagnoses."""
    return any(number > stays.total() - of_one for of_one in stays.values())


def _print_widths(release: Path, originals: duckdb.DuckDBPyConnection) -> None:
    random = Random(1)
    ranges = [(random.choice("fm"), random.randint(20, 60) * 12) for _ in range(60)]
    of_people = [f"sex = '{sex}' AND age BETWEEN {low} AND {low + 240}" for sex, low in ranges]
    for words, question in _QUESTIONS.items():
        queries = [question.format(condition) for condition in of_people]
        widths = [
            float(bounds.upper - bounds.lower) / float(truth)
            for bounds, truth, _ in _compare(release, originals, queries)
            if truth
        ]
        print(f"  {words}: width {median(widths):.3f} of the truth")


def _print_truths(release: Path, originals: duckdb.DuckDBPyConnection, many: int) -> None:
    random = Random(2)
    queries = [drawn_query(random, year=12) for _ in range(many)]
    before = time.process_time()
    for query in queries:
        originals.execute(query).fetchall()
    original = time.process_time() - before
    compared = [(bounds, holds) for bounds, _, holds in _compare(release, originals, queries)]
    taken = time.process_time() - before - 2 * original
    exact = sum(bounds.lower == bounds.upper for bounds, _ in compared)
    outside = sum(not holds for _, holds in compared)
    print(
        f"\n{many:,} queries, {len(compared):,} answers: {outside} outside their bounds, {exact:,} "
        f"exact; CPU {taken / original:.1f} of DuckDB's on the original tables"
    )


def _compare(
    release: Path, originals: duckdb.DuckDBPyConnection, queries: list[str]
) -> Iterator[tuple[Any, Any, bool]]:
    """Yield the bounds and the truth of each answer, and whether they hold it."""
    for query, answer in zip(queries, answers(open_release(release), queries), strict=True):
        if isinstance(answer, QueryError | Fault):
            raise answer
        truths = originals.execute(query).fetchall()
        for truth, (bounds, holds) in zip(truths, bounds_of_truths(answer, truths), strict=True):
            yield bounds, truth[-1], holds


if __name__ == "__main__":
    main()
