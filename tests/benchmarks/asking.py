"""Answers with bounds against DuckDB's time for the same aggregates on the original columns.

CPU seconds, in which DuckDB's threads add up, and wall seconds, in which they do not.
And evaluations, which ask hundreds of questions of one release. Groups of about six rows are fine,
those of about two thousand coarse. Nothing is asserted.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from sfumato.tasks.microdata.table import Microdata, encode, seeded_keys
from sfumato.tasks.query.accuracy.evaluate import evaluate
from sfumato.tasks.query.accuracy.parameters import Evaluation
from sfumato.tasks.query.ask import ask, engine, files_of_tables
from sfumato.tasks.query.sql.single import read_question
from sfumato.tasks.terms.opened import Release
from tests.query.releases import write
from tests.query.worlds import column, declare

PEOPLE = declare(
    age=column("quasi-identifier", "integer"),
    sex=column("quasi-identifier", "string"),
    occupation=column("quasi-identifier", "string"),
    town=column("quasi-identifier", "integer"),
    loss=column("sensitive", "integer"),
)
QUESTIONS = {
    "ungrouped": "SELECT SUM(loss), AVG(loss) FROM microdata WHERE age BETWEEN 30 AND 49",
    "narrow": "SELECT AVG(loss) FROM microdata WHERE age = 40 AND sex = 'f' AND town < 100",
    "by sex": "SELECT sex, AVG(loss), COUNT(*) FROM microdata WHERE age > 50 GROUP BY sex",
    "all rows by occupation": (
        "SELECT occupation, SUM(loss), MAX(loss) FROM microdata GROUP BY occupation"
    ),
    "sensitive condition": (
        "SELECT COUNT(*), AVG(loss) FROM microdata WHERE age BETWEEN 30 AND 49 AND loss > 900"
    ),
}
SIZES = {"fine": 6, "coarse": 2000}
WORKLOADS = {
    "range": {"kind": "range", "over": "age", "aggregate": "avg", "spans": [1, 5, 10, 20]},
    "counts": {"kind": "counts", "of": "loss", "selectivity": [1, 5, 10]},
    "arbitrary": {"kind": "arbitrary", "aggregate": "sum", "selected": [100, 1000, 10_000]},
}


def main(arguments: Sequence[str] = ()) -> None:
    """Print medians of seconds, and their ratios to the original's of the same run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="*", default=[10**5, 10**6])
    parser.add_argument("--evaluated", type=int, default=10**5, help="most rows to evaluate on")
    parser.add_argument("--again", type=int, default=5, help="how often each question is asked")
    parser.add_argument("--queries", type=int, default=100, help="at each level of a workload")
    chosen = parser.parse_args(arguments)
    for rows in chosen.rows:
        for name, size in SIZES.items():
            with tempfile.TemporaryDirectory() as directory:
                original, published = _people(rows, size)
                release = write(Path(directory), published, PEOPLE)
                _questions(f"{rows:,} rows, {name} groups", original, release, chosen.again)
                if rows <= chosen.evaluated:
                    _evaluations(f"{rows:,} rows, {name} groups", original, release, chosen.queries)


def _people(rows: int, size: int) -> tuple[pa.Table, pa.Table]:
    """People in any order; in that of their values, with losses shuffled within random groups."""
    rng = np.random.default_rng(1)
    jobs = [f"occupation {number}" for number in range(14)]
    table = pa.table(
        {
            "age": rng.integers(17, 90, rows),
            "sex": pa.array(["f", "m"]).take(pa.array(rng.integers(0, 2, rows))),
            "occupation": pa.array(jobs).take(pa.array(rng.integers(0, len(jobs), rows))),
            "town": rng.integers(0, 1000, rows),
            "loss": rng.integers(0, 1000, rows),
        }
    )
    group = rng.permutation(rows) // size
    order, shuffled = np.argsort(group, kind="stable"), np.lexsort((rng.random(rows), group))
    losses = np.empty(rows, dtype=np.int64)
    losses[order] = table["loss"].to_numpy()[shuffled]
    position = table.column_names.index("loss")
    published = table.set_column(position, "loss", pa.array(losses))
    published = published.append_column("group_id", pa.array(group))
    by_value = pa.array(np.argsort(table["age"].to_numpy(), kind="stable"))
    return table, published.take(by_value)


def _questions(label: str, original: pa.Table, release: Release, again: int) -> None:
    """The first answer reads the files; the others are given by the engine that did."""
    with duckdb.connect() as plain:
        plain.register("shown", original)
        plain.execute("CREATE TABLE microdata AS SELECT * FROM shown")
        for name, sql in QUESTIONS.items():
            question = read_question(sql, PEOPLE)
            files = files_of_tables(release, question.helped_by)
            began = _now()
            with engine(files, PEOPLE) as asking:
                ask(asking, PEOPLE, question)
                first = _now() - began
                then = _time_medians(lambda q=question, e=asking: ask(e, PEOPLE, q), again)
            exact = _time_medians(lambda sql=sql: plain.execute(sql).fetchall(), again)
            times = [
                f"{what} {1e3 * exact[kind]:.1f} ms on the original; first answer "
                f"{1e3 * first[kind]:.0f} ms, {first[kind] / exact[kind]:.1f} x; then "
                f"{1e3 * then[kind]:.1f} ms, {then[kind] / exact[kind]:.1f} x"
                for kind, what in enumerate(("DuckDB's CPU", "its wall"))
            ]
            print(f"{label}, {name}: {'. '.join(times)}", flush=True)


def _evaluations(label: str, original: pa.Table, release: Release, queries: int) -> None:
    columns = tuple(
        encode(name, definition.role, original[name]) for name, definition in PEOPLE.columns.items()
    )
    microdata = Microdata(columns, original.num_rows)
    for name, workload in WORKLOADS.items():
        evaluation = Evaluation.model_validate({"workloads": [{**workload, "queries": queries}]})
        start = time.perf_counter()
        measured = evaluate(
            release, microdata, evaluation.workloads, seeded_keys(1), lambda _done, _total: None
        )
        taken = time.perf_counter() - start
        print(
            f"{label}, {len(measured)} {name} queries evaluated: {taken:.1f} s, "
            f"{1e3 * taken / len(measured):.1f} ms each",
            flush=True,
        )


def _time_medians(run: Callable[[], object], times: int) -> np.ndarray:
    """The medians of CPU and of wall seconds."""
    taken = []
    for _ in range(times):
        began = _now()
        run()
        taken.append(_now() - began)
    return np.median(taken, axis=0)


def _now() -> np.ndarray:
    return np.array([time.process_time(), time.perf_counter()])


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
