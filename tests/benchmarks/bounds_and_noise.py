"""Answers that a reader gets from one table under different promises, by size of selection.

The promises are not equal: Sfumato's models limit what groups disclose, ε-differential privacy
limits what any answer discloses about anybody. So this compares accuracy alone: guaranteed bounds
and estimates of three releases by Sfumato, two readings of the labels without software, and answers
with noise by OpenDP. All are asked COUNT, COUNT with a condition on the sensitive column, SUM and
AVG about the same random selections of the same people of UCI Adult.

The measure is the error within which 95 % of the answers lie, as a share of the true answer; for
bounds it is half of their width. Bounds that the true answer lies outside of are counted.

    python -m tests.benchmarks.bounds_and_noise [--queries N] [--releases N] [--draws N]
"""

import argparse
import csv
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from sfumato.tasks.microdata.table import seeded_keys
from sfumato.tasks.query.ask import Conversation
from sfumato.tasks.terms.opened import Release, open_release
from tests.adult import HIERARCHIES
from tests.benchmarks.disclosure import disclosure, read_values
from tests.benchmarks.label_readings import READINGS, read_labels
from tests.benchmarks.noise import ask_with_noise
from tests.benchmarks.rereleased import work_directory
from tests.benchmarks.selections import (
    MEASURES,
    Limits,
    People,
    Selection,
    adult_table,
    draw_selections,
    people_of,
    true_answers,
)
from tests.lines import prepare, publish_prepared

KNOWN = ("age", "education-num", "sex", "workclass", "marital-status", "race", "native-country")
NUMBERS = ("age", "education-num")
WITHIN = 0.95
TOGETHER = 100
OUTPUT = Path("build/bench/bounds-and-noise.csv")
WORDS = {"rows": "COUNT", "above": "COUNT above", "total": "SUM", "mean": "AVG"}


@dataclass(frozen=True)
class Table:
    """A sensitive column of UCI Adult and the people who are in the table.

    Attributes:
        title: of the printed tables.
        sensitive: name of the column.
        least: people with a smaller value are not in the table.
        limits: public facts about the column.
        e: least differences of each group's values, of two (k,e)-anonymous releases.
        apart: partition of the release that shows values apart from the rows; `anatomy` needs a
            column in which no value is frequent.
        sizes: of selections, least and greatest number of people.
    """

    title: str
    sensitive: str
    least: int
    limits: Limits
    e: tuple[int, int]
    apart: str
    sizes: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Method:
    """Promises, a partition and a form, as a spec writes them."""

    words: str
    promises: tuple[Mapping[str, Any], ...]
    partition: str
    form: str


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers of one way of asking, by measure: a row for each selection, a column for each draw.

    Attributes:
        way: in words.
        error: distance from the truth, or half of the width of bounds (float64).
        outside: bounds that the truth lies outside of; None for estimates.
    """

    way: str
    error: Mapping[str, np.ndarray]
    outside: Mapping[str, np.ndarray] | None = None


@dataclass(frozen=True)
class Score:
    """Accuracy of one way on one measure and size: a line of the CSV file."""

    table: str
    way: str
    measure: str
    least: int
    most: int
    answers: int
    percent: float
    error: float
    outside: int | None


TABLES = (
    Table(
        "hours a week of 30,162 people",
        "hours-per-week",
        1,
        Limits(1, 99, 45),
        (10, 30),
        "mondrian",
        ((20, 99), (100, 999), (1_000, 9_999), (10_000, 30_162)),
    ),
    Table(
        "capital losses of 1,427 people",
        "capital-loss",
        1,
        Limits(0, 5_000, 1_900),
        (500, 1_500),
        "anatomy",
        ((20, 99), (100, 399), (400, 1_427)),
    ),
)


def methods_of(table: Table) -> tuple[Method, ...]:
    """Return the releases of a table that are compared."""
    k = {"model": "k-anonymity", "k": 5}
    three, four = (
        {"model": "l-diversity", "variant": "distinct", "l": values} for values in (3, 4)
    )
    permuted = (
        Method(
            f"permuted, (k,e) = (5, {e:,})",
            ({"model": "ke-anonymity", "k": 5, "e": e},),
            "ke",
            "permuted",
        )
        for e in table.e
    )
    return (
        *permuted,
        Method(f"split, l = 4 ({table.apart})", (four,), table.apart, "split"),
        Method("labels, k = 5 and l = 3", (k, three), "mondrian", "generalized"),
    )


def spec_of(table: Table, method: Method) -> dict[str, Any]:
    """Return the spec of a release."""
    columns: dict[str, dict[str, Any]] = {}
    for name in KNOWN:
        columns[name] = {"role": "quasi-identifier"}
        columns[name] |= {"type": "integer"} if name in NUMBERS else {}
        if method.form == "generalized" and name not in NUMBERS:
            columns[name]["hierarchy"] = str(HIERARCHIES / f"{name}.csv")
    columns[table.sensitive] = {"role": "sensitive", "type": "integer"}
    return {
        "version": 2,
        "name": "compared",
        "title": "Compared with answers that have noise",
        "source": {"uri": "people.parquet", "format": "parquet"},
        "columns": columns,
        "nulls": "refuse",
        "promises": [dict(promise) for promise in method.promises],
        "partition": {"method": method.partition},
        "form": {"method": method.form},
        "publish": {"uri": "public"},
        "unit": "row",
        "versions": "disjoint",
    }


def publish_release(
    rows: pa.Table, table: Table, method: Method, seed: int, place: Path
) -> Release:
    """Publish a release of all rows, grouped by seeded randomness."""
    place.mkdir()
    pq.write_table(rows, place / "people.parquet")
    spec = place / "spec.yaml"
    spec.write_text(yaml.safe_dump(spec_of(table, method), sort_keys=False), encoding="utf-8")
    with work_directory(place / "work"):
        resolved = prepare(spec, place / "run", seeded_keys(seed))
        release = open_release(publish_prepared(resolved, place / "run").directory)
    assert release.declared.rows.published == rows.num_rows, "rows were left out"
    return release


def queries_about(selection: Selection, table: Table) -> tuple[str, str]:
    """Return SQL for the measures: one query of all rows selected, one of those above the limit."""
    name = f'"{table.sensitive}"'
    start = "SELECT COUNT(*) AS {}{} FROM microdata WHERE " + selection.condition
    others = f", SUM({name}) AS total, AVG({name}) AS mean"
    return (
        start.format("rows", others),
        start.format("above", "") + f" AND {name} > {table.limits.above}",
    )


@dataclass(frozen=True)
class Questions:
    """Selections of people, size by size, and their true answers by measure."""

    sizes: tuple[tuple[int, int], ...]
    selections: tuple[Selection, ...]
    truths: Mapping[str, Sequence[Fraction]]

    def errors_of(self, way: str, answers: Mapping[str, np.ndarray]) -> Answers:
        """Compare answers with the truth: a row for each selection, a column for each draw."""
        errors = {
            name: np.abs(numbers - self.true_numbers(name)) for name, numbers in answers.items()
        }
        return Answers(way, errors)

    def true_numbers(self, measure: str) -> np.ndarray:
        """Return the true answers in a column (float64)."""
        return np.array(self.truths[measure], dtype=np.float64)[:, np.newaxis]


def draw_questions(people: People, table: Table, number: int) -> Questions:
    """Draw so many selections of each size."""
    by_size = draw_selections(people, table.sizes, number, np.random.default_rng(1))
    selections = tuple(selection for group in by_size for selection in group)
    answers = [true_answers(people, selection) for selection in selections]
    truths = {name: [answer[name] for answer in answers] for name in MEASURES}
    return Questions(table.sizes, selections, truths)


def bounds_and_estimates(
    way: str, releases: Sequence[Release], table: Table, questions: Questions
) -> Iterator[Answers]:
    """Yield the bounds and the estimates of releases that differ by their randomness alone."""
    published = [_ask_release(release, table, questions.selections) for release in releases]
    half, outside, estimates = {}, {}, {}
    for name, truths in questions.truths.items():
        draws = [answers[name] for answers in published]
        half[name] = _by_selection([[(high - low) / 2 for low, high, _ in d] for d in draws])
        outside[name] = _by_selection(
            [
                [not low <= truth <= high for truth, (low, high, _) in zip(truths, d, strict=True)]
                for d in draws
            ]
        )
        estimates[name] = _by_selection([[estimate for _, _, estimate in d] for d in draws])
    yield Answers(f"{way}: bounds", half, outside)
    yield questions.errors_of(f"{way}: estimates", estimates)


def _ask_release(
    release: Release, table: Table, selections: Sequence[Selection]
) -> dict[str, list[tuple[Fraction, Fraction, Fraction]]]:
    """Return lower and upper bounds and estimates of each measure, exactly."""
    answers: dict[str, list[tuple[Fraction, Fraction, Fraction]]] = {name: [] for name in MEASURES}
    with Conversation(release) as conversation:
        for selection in selections:
            for sql in queries_about(selection, table):
                (row,) = conversation.answer(sql).rows
                for name, bounds in row.items():
                    low, high, estimate = bounds.lower, bounds.upper, bounds.estimate
                    answers[name].append((Fraction(low), Fraction(high), Fraction(estimate)))
    return answers


def _by_selection(draws: Sequence[Sequence[Any]]) -> np.ndarray:
    """Return a row for each selection and a column for each draw (float64)."""
    return np.array(draws, dtype=np.float64).T


def scores_of(table: Table, questions: Questions, answers: Answers) -> Iterator[Score]:
    """Yield the accuracy of each measure and size."""
    per_size = len(questions.selections) // len(questions.sizes)
    for name, errors in answers.error.items():
        shares = errors / questions.true_numbers(name)
        for number, (least, most) in enumerate(questions.sizes):
            rows = slice(number * per_size, (number + 1) * per_size)
            missed = None if answers.outside is None else int(answers.outside[name][rows].sum())
            yield Score(
                table.title,
                answers.way,
                WORDS[name],
                least,
                most,
                errors[rows].size,
                100 * quantile(shares[rows]),
                quantile(errors[rows]),
                missed,
            )


def quantile(errors: np.ndarray) -> float:
    """Return the least error such that 95 % of the errors are not larger.

    >>> quantile(np.arange(1, 21))
    19.0
    """
    ordered = np.sort(errors, axis=None)
    return float(ordered[int(np.ceil(WITHIN * ordered.size)) - 1])


def compare(table: Table, number: int, releases: int, draws: int) -> Iterator[Score]:
    """Ask all ways the same questions about a table."""
    rows = adult_table(table.sensitive, KNOWN, table.least)
    people = people_of(rows, table.sensitive, table.limits)
    most = np.bincount(people.value).max() / len(people.value)
    print(f"{table.title}: the most frequent value is that of {100 * most:.1f} % of the people")
    questions = draw_questions(people, table, number)
    with tempfile.TemporaryDirectory() as folder:
        for answers in (
            *_answers_of_releases(rows, table, questions, releases, Path(folder)),
            *_answers_with_noise(people, questions, draws, Path(folder)),
        ):
            yield from scores_of(table, questions, answers)


def _answers_of_releases(
    rows: pa.Table, table: Table, questions: Questions, number: int, folder: Path
) -> Iterator[Answers]:
    for method in methods_of(table):
        published = [
            publish_release(rows, table, method, seed, folder / f"{method.words}-{seed}")
            for seed in range(number)
        ]
        _print_disclosure(method, table, published[0])
        yield from bounds_and_estimates(method.words, published, table, questions)
        if method.form == "generalized":
            yield from _readings(published, table, questions)


def _print_disclosure(method: Method, table: Table, release: Release) -> None:
    """Print a line about the groups of a release."""
    facts = disclosure(read_values(release.directory), table.sensitive, KNOWN)
    print(
        f"{table.title}, {method.words}: {facts.groups:,} groups; the values of the median "
        f"person's group span {facts.span:,.0f}; the group's most frequent value is the own value "
        f"of {100 * facts.guessed:.1f} % of the people",
        flush=True,
    )


def _readings(releases: Sequence[Release], table: Table, questions: Questions) -> Iterator[Answers]:
    """Yield estimates that are made of the published labels by hand."""
    tables = [
        pq.read_table(release.directory / "data" / "microdata.parquet") for release in releases
    ]
    for words, reading in READINGS.items():
        readings = [
            read_labels(labels, table.sensitive, questions.selections, table.limits, reading)
            for labels in tables
        ]
        answers = {
            name: np.stack([estimates[name] for estimates in readings], axis=1) for name in MEASURES
        }
        yield questions.errors_of(f"labels read by hand, by {words}", answers)


def _answers_with_noise(
    people: People, questions: Questions, draws: int, folder: Path
) -> Iterator[Answers]:
    noisy = ask_with_noise(people, questions.selections, TOGETHER, draws, folder)
    if noisy.reason:
        print(noisy.reason, flush=True)
    for way, answers in noisy.by_way.items():
        yield questions.errors_of(NOISY[way], answers)


NOISY = {
    "alone": "noise, ε = 1 for each question",
    "together": f"noise, ε = 1 for {TOGETHER} questions",
    "gaussian": f"noise, ε = 1 and δ = 10⁻⁶ for {TOGETHER} questions",
    "planned": "noise, ε = 1 for one planned histogram",
}


def main(arguments: Sequence[str] = ()) -> None:
    """Print a table in Markdown for each measure, and write all figures as CSV."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--queries", type=int, default=100, help="selections of each size")
    parser.add_argument("--releases", type=int, default=3, help="of each method")
    parser.add_argument("--draws", type=int, default=10, help="of the noise of each answer")
    chosen = parser.parse_args(arguments)
    scores: list[Score] = []
    for table in TABLES:
        scores_of_table = list(compare(table, chosen.queries, chosen.releases, chosen.draws))
        print_tables(table, scores_of_table)
        scores += scores_of_table
    write_csv(scores, OUTPUT)


def print_tables(table: Table, scores: Sequence[Score]) -> None:
    """Print a table for each measure: a line for each way, a column for each size."""
    sizes = [f"{least:,} to {most:,} people" for least, most in table.sizes]
    for words in WORDS.values():
        limit = f" {table.limits.above:,}" if words == WORDS["above"] else ""
        print(f"\n{table.title}: {words}{limit}\n")
        print("| promise and answer |", " | ".join(sizes), "|")
        print("|---|" + "---|" * len(sizes))
        cells: dict[str, list[str]] = {}
        for score in scores:
            if score.measure == words:
                cells.setdefault(score.way, []).append(cell_of(score.percent))
        for way, line in cells.items():
            print(f"| {way} |", " | ".join(line), "|")
    bounds = [score for score in scores if score.outside is not None]
    missed, answers = (sum(numbers) for numbers in zip(*map(_count_outside, bounds), strict=True))
    print(f"\n{table.title}: the truth lies outside {missed:,} of {answers:,} bounds", flush=True)


def _count_outside(score: Score) -> tuple[int, int]:
    return score.outside or 0, score.answers


def cell_of(percent: float) -> str:
    """Return an accuracy in words.

    >>> [cell_of(percent) for percent in (0, 0.01, 12.34, 480)]
    ['exact', 'below ±0.1 %', '±12.3 %', 'over ±100 %']
    """
    if percent == 0:
        return "exact"
    if percent < 0.05:
        return "below ±0.1 %"
    return "over ±100 %" if percent > 100 else f"±{percent:.1f} %"


def write_csv(scores: Sequence[Score], place: Path) -> None:
    """Write a line for each score."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(Score.__dataclass_fields__)
        writer.writerows(vars(score).values() for score in scores)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
