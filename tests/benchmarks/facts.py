"""Widths of questions about people and their stays, from stays alone and from facts of people.

    python -m tests.benchmarks.two_tables --facts

Both releases are of one made-up hospital and promise k people and l values of a diagnosis to who
knows no numbers of stays. Widths are (upper - lower) / truth: the median over 60 ranges of age
within sex. Each truth must lie within its bounds.
"""

import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from random import Random
from statistics import median

import pyarrow.parquet as pq

from sfumato.expectations.shared.errors import Fault, QueryError
from sfumato.tasks.query.ask import answers
from sfumato.tasks.terms.opened import open_release
from tests.facts.clinic import FACTS, originals, spec_of_clinic, tables
from tests.flow_here import release_here
from tests.related.drawn import HAS, JOIN, bounds_of_truths
from tests.related.hospital import Hospital

_RANGES = 60
_ONE, _OTHER = HAS.format("diagnosis = 'flu'"), HAS.format("diagnosis = 'gout'")
_OFTEN = "WITH n AS (SELECT patient, COUNT(*) AS many FROM stays GROUP BY patient) "
_FIRST = "SELECT COUNT(*) FROM patients WHERE {}"
QUESTIONS: Mapping[str, tuple[str | None, str | None]] = {
    "readmitted within 30 days": (None, f"{_FIRST} AND readmitted"),
    "both flu and gout": (f"{_FIRST} AND {_ONE} AND {_OTHER}", f"{_FIRST} AND flu_and_gout"),
    "two or more stays": (
        f"{_OFTEN}SELECT COUNT(*) FROM patients JOIN n USING (patient) WHERE many >= 2 AND {{}}",
        f"{_FIRST} AND times >= 2",
    ),
    "admitted at all": (
        f"SELECT COUNT(DISTINCT patient) {JOIN} WHERE {{}}",
        f"{_FIRST} AND admitted",
    ),
    "cost per patient": (None, "SELECT AVG(total_cost) FROM patients WHERE {}"),
    "cost of all stays": (
        f"SELECT SUM(cost) {JOIN} WHERE {{}}",
        "SELECT SUM(total_cost) FROM patients WHERE {}",
    ),
    "cost per admitted patient": (
        f"SELECT 1.0 * SUM(cost) / COUNT(DISTINCT patient) {JOIN} WHERE {{}}",
        "SELECT 1.0 * SUM(total_cost) / COUNT(*) FILTER (WHERE admitted) FROM patients WHERE {}",
    ),
    "days from first to last stay": (None, "SELECT AVG(days_between) FROM patients WHERE {}"),
    "stays of readmitted patients": (None, f"SELECT COUNT(*) {JOIN} WHERE readmitted AND {{}}"),
    "readmitted patients with flu": (None, f"{_FIRST} AND readmitted AND {_ONE}"),
}
"""Questions without facts, and with them; None where stays alone answer none."""


def print_with_facts(hospital: Hospital) -> None:
    """Print the widths of questions from a release without facts, and from one with all."""
    promises = [
        {"model": "people", "k": 5},
        {"model": "related-l-diversity", "l": 3, "sensitive": "diagnosis", "numbers": "hidden"},
        *(
            {"model": "l-diversity", "variant": "distinct", "l": 2, "sensitive": name}
            for name in ("times", "total_cost")
        ),
    ]
    without = tables("times")
    del without["patients"]["columns"]["times"]
    with_all = tables()
    for name in ("times", "total_cost"):
        del with_all["patients"]["columns"][name]["unprotected"]
    widths = []
    with tempfile.TemporaryDirectory() as folder:
        for place, both, promised in (
            ("without", without, promises[:2]),
            ("facts", with_all, promises),
        ):
            os.environ["SFUMATO_WORK"] = str(Path(folder, place, "work"))
            before = time.process_time()
            spec = spec_of_clinic(Path(folder, place), hospital, tables=both, promises=promised)
            release = release_here(spec)
            groups = pq.read_table(release / "data" / "group_counts.parquet").num_rows
            print(
                f"{place}: released in {time.process_time() - before:.1f} CPU s, "
                f"{hospital.patients.num_rows / groups:.1f} people in a group"
            )
            widths.append(_widths(release, hospital, place == "facts"))
    print("question | from stays | from facts")
    for words in QUESTIONS:
        print(f"{words} | {widths[0].get(words, 'refused')} | {widths[1][words]}")
    print(f"facts: {', '.join(FACTS)}")


def _widths(release: Path, hospital: Hospital, with_facts: bool) -> dict[str, str]:
    """Return the median width of each question, as text.

    Raises:
        Fault: if a truth lies outside its bounds.
    """
    random, widths = Random(1), {}
    ranges = [(random.choice("fm"), random.randint(20, 60) * 12) for _ in range(_RANGES)]
    people = [f"sex = '{sex}' AND age BETWEEN {low} AND {low + 240}" for sex, low in ranges]
    with originals(hospital) as connection:
        for words, pair in QUESTIONS.items():
            question = pair[with_facts]
            if question is None:
                continue
            queries = [question.format(condition) for condition in people]
            each = []
            for query, answer in zip(queries, answers(open_release(release), queries), strict=True):
                if isinstance(answer, QueryError | Fault):
                    raise answer
                truths = connection.execute(query).fetchall()
                ((bounds, holds),) = bounds_of_truths(answer, truths)
                if not holds:
                    raise Fault(f"{words}: a truth lies outside its bounds")
                if truths[0][-1]:
                    each.append(float(bounds.upper - bounds.lower) / float(truths[0][-1]))
            widths[words] = f"{median(each):.3f}"
    return widths
