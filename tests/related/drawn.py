"""Queries about a hospital of the shapes that are answered, and whether bounds hold their truth."""

from fractions import Fraction
from random import Random
from typing import Any

from sfumato.tasks.query.inquiries.answer import Answer
from tests.related.hospital import DIAGNOSES

JOIN = "FROM patients JOIN stays USING (patient)"
HAS = "EXISTS (SELECT 1 FROM stays WHERE stays.patient = patients.patient AND {})"
_OF_ROWS = ("COUNT(*)", "COUNT(DISTINCT patient)", "SUM(cost)", "AVG(cost)")


def of_people(random: Random, year: int = 1) -> str:
    """A condition on a patient, whose age is told in parts of a year: so many are one."""
    low = random.randint(18, 70) * year
    return random.choice(
        [
            f"age >= {low}",
            f"age BETWEEN {low} AND {low + 15 * year}",
            "sex = 'f'",
            f"NOT age < {low}",
        ]
    )


def of_stays(random: Random) -> str:
    """A condition on a stay."""
    first, second = random.sample(DIAGNOSES, 2)
    return random.choice(
        [f"diagnosis = '{first}'", f"diagnosis IN ('{first}', '{second}')", "cost > 10"]
    )


def of_persons_stays(random: Random) -> str:
    """A condition on a patient that is about stays of theirs."""
    kind = of_stays(random)
    times = random.randint(1, 3)
    counted = f"SELECT patient FROM stays WHERE {kind} GROUP BY patient HAVING COUNT(*) >= {times}"
    has = random.choice([HAS.format(kind), f"patients.patient IN ({counted})"])
    return random.choice([has, f"NOT {has}"])


def drawn_query(random: Random, year: int = 1) -> str:
    """Return a query of one of the shapes that are answered."""
    grouped = random.random() < 0.3
    keys, group = ("sex, ", " GROUP BY sex") if grouped else ("", "")
    shape = random.choice(["rows", "rows", "people", "people", "counted", "stays", "parts"])
    if shape == "stays":
        return f"SELECT {random.choice(_OF_ROWS)} FROM stays WHERE {of_stays(random)}"
    if shape == "rows":
        where = " AND ".join(random.sample([of_people(random, year), of_stays(random)], 2))
        return f"SELECT {keys}{random.choice(_OF_ROWS)} {JOIN} WHERE {where}{group}"
    if shape == "counted":
        compared = random.choice([">= 2", "> 1", "= 1", "= 2", "< 3", "<= 1"])
        query = "SELECT patient, COUNT(*) AS times FROM stays GROUP BY patient"
        return (
            f"WITH n AS ({query}) SELECT {keys}COUNT(*) FROM patients JOIN n USING (patient) "
            f"WHERE times {compared} AND {of_people(random, year)}{group}"
        )
    if shape == "parts":
        some = f"COUNT(*) FILTER (WHERE {of_stays(random)})"
        return f"SELECT {keys}1.0 * {some} / COUNT(*) {JOIN} WHERE {of_people(random, year)}{group}"
    joined = random.choice([" AND ", " OR "])
    where = joined.join(
        random.sample(
            [of_people(random, year), of_persons_stays(random), of_persons_stays(random)], 2
        )
    )
    return f"SELECT {keys}COUNT(*) FROM patients WHERE {where}{group}"


def bounds_of_truths(answer: Answer, truth: list[tuple[Any, ...]]) -> list[tuple[Any, bool]]:
    """Return the bounds of each true value, and whether they hold it; each cell must be there."""
    compared = []
    for *key, value in truth:
        (cell,) = (row for row in answer.rows if list(row.values())[:-1] == key)
        bounds = list(cell.values())[-1]
        if isinstance(value, float):
            holds = float(bounds.lower) - 1e-9 <= value <= float(bounds.upper) + 1e-9
        else:
            holds = value in bounds or Fraction(value) in bounds
        compared.append((bounds, holds))
    return compared
