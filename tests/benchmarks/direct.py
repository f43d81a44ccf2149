"""Questions answered from codes and group ids, against the same answered by SQL.

Releases of UCI Adult without rows (`ambiguous`) and with subdomains (`redistributed`); CPU seconds
in which DuckDB's threads add up. Nothing is asserted.
"""

import random
import tempfile
import time
from pathlib import Path
from statistics import median

from sfumato.tasks.query.ask import ask, files_of_tables
from sfumato.tasks.query.engines.columns import open_columns
from sfumato.tasks.query.engines.direct_counts import open_direct_counts
from sfumato.tasks.query.engines.direct_subdomains import open_direct_subdomains
from sfumato.tasks.query.engines.engine import Engine
from sfumato.tasks.query.engines.subdomains import open_subdomains
from sfumato.tasks.query.question.question import Question
from sfumato.tasks.query.sql.single import read_question
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.terms import Declared
from tests.benchmarks.processes import ROOT, environment, release, run

NUMBER = 60
EXAMPLES = ROOT / "deployments" / "examples"
CASES = {
    "adult-occupation-greedy": (open_columns, open_direct_counts),
    "adult-capital-loss-bands": (open_subdomains, open_direct_subdomains),
}
ASKED = {
    "adult-occupation-greedy": (
        "SELECT COUNT(*) FROM microdata WHERE age BETWEEN {low} AND {high} AND sex = '{sex}' "
        "AND occupation <> 'Sales'"
    ),
    "adult-capital-loss-bands": (
        'SELECT SUM("capital-loss"), COUNT(*) FROM microdata WHERE age BETWEEN {low} AND {high} '
        "AND sex = '{sex}'"
    ),
}


def main() -> None:
    """Print a line for each release."""
    with tempfile.TemporaryDirectory() as folder:
        for name, openings in CASES.items():
            place = Path(folder) / name
            place.mkdir()
            environ = environment(place)
            run(release(place / "out", EXAMPLES / f"{name}.yaml"), environ)
            published = open_release(place / "out" / name / "0001")
            declared = published.declared
            questions = draw_questions(name, declared)
            files = files_of_tables(published, declared.names_with_roles("sensitive"))
            seconds = []
            for opening in openings:
                with opening(files, declared, "weighted") as engine:
                    seconds.append(
                        median(time_question(engine, declared, each) for each in questions)
                    )
            by_sql, direct = seconds
            print(
                f"direct, {name}: {1e3 * direct:.1f} ms a question, {1e3 * by_sql:.1f} ms by SQL, "
                f"{by_sql / direct:.1f} x",
                flush=True,
            )


def draw_questions(name: str, declared: Declared) -> list[Question]:
    """Questions with drawn ranges of ages, no two of them the same."""
    rng = random.Random(name)
    questions = []
    for _ in range(NUMBER):
        low = rng.randint(17, 60)
        high, sex = low + rng.randint(5, 25), rng.choice(["Male", "Female"])
        text = ASKED[name].format(low=low, high=high, sex=sex)
        questions.append(read_question(text, declared))
    return questions


def time_question(engine: Engine, declared: Declared, question: Question) -> float:
    """CPU seconds of an answer."""
    begun = time.process_time()
    ask(engine, declared, question)
    return time.process_time() - begun


if __name__ == "__main__":
    main()
