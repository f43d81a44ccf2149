"""Tables as offices hand them over: generated, in the shapes of well-known ones, written badly."""

import csv
import io
import random

JOBS = ("Schülerin", "Bürokraft", "Lehrkraft, Pflege", "Geschäftsführung", "freier Beruf")


def write_csv(names, rows, delimiter=";", decimal=",", encoding="cp1252", header=True):
    """A CSV file of rows, floats with a decimal of the wished kind."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\r\n")
    writer.writerows([names] * header)
    writer.writerows([[_text(value, decimal) for value in row] for row in rows])
    return text.getvalue().encode(encoding)


def _text(value, decimal):
    return str(value).replace(".", decimal) if isinstance(value, float) else str(value)


def marriages(rows=400, seed=1):
    """Codes that are floats, texts with umlauts, hours a week as decimals; nobody has a number."""
    draw = random.Random(seed)
    names = ["rate", "age", "yrs_married", "religiös", "occupation", "affairs"]
    return names, [
        [
            float(draw.randint(1, 5)),
            draw.choice([17.5, 22.0, 27.0, 32.0, 37.0, 42.0]),
            draw.choice([0.5, 2.5, 6.0, 9.0, 13.0, 16.5, 23.0]),
            float(draw.randint(1, 4)),
            draw.choice(JOBS),
            round(draw.random() * 20, 7) if draw.random() < 0.3 else 0.0,
        ]
        for _ in range(rows)
    ]


def votes(rows=300, seed=2):
    """A column that tells what another tells, in other words: its logarithm."""
    draw = random.Random(seed)
    names = ["popul", "TVnews", "age", "educ", "income (€)", "vote", "logpopul"]
    towns = {float(size): round(size**0.5, 9) - 2.0 for size in range(0, 90, 3)}
    vote_rows = []
    for _ in range(rows):
        town = draw.choice(list(towns))
        person = [float(draw.randint(0, 7)), float(draw.randint(19, 91)), float(draw.randint(1, 7))]
        answers_of_person = [float(draw.randint(1, 24)), float(draw.randint(0, 1))]
        vote_rows.append([town, *person, *answers_of_person, towns[town]])
    return names, vote_rows


def journeys(people=80, seed=3):
    """Four rows for each person, one for each way of travelling."""
    draw = random.Random(seed)
    names = ["individual", "mode", "choice", "ttme", "hinc", "psize"]
    rows = []
    for person in range(1, people + 1):
        income, size, chosen = (
            float(draw.randint(2, 72)),
            float(draw.randint(1, 6)),
            draw.choice("abcd"),
        )
        rows += [
            [float(person), mode, float(mode == chosen), float(draw.randint(1, 99)), income, size]
            for mode in "abcd"
        ]
    return names, rows


def admissions(people=150, seed=4):
    """Patients with one to four admissions each, by date and not by patient, with names, notes."""
    draw = random.Random(seed)
    names = ["Patienten-Nr", "Name", "Alter", "PLZ", "Diagnose", "Kosten", "Bemerkung"]
    called = [f"{first}, {last}" for first in ("Käthe", "Björn", "Zoë") for last in "ABCDEFGHIJK"]
    rows = []
    for person in range(people):
        person_values = [
            draw.choice(called),
            draw.randint(1, 95),
            draw.choice(["01067", "04103", "20095"]),
        ]
        for _ in range(draw.choice([1, 1, 2, 4])):
            diagnosis = [draw.choice(["I10.0", "E11.9", "J44.1", "K35.8", "C50.9"])]
            cost = round(draw.random() * 5000, 2)
            note = f"siehe Haus {draw.randint(1, 30)}"
            rows.append([f"PX{7 * person + 1000:05}", *person_values, *diagnosis, cost, note])
    draw.shuffle(rows)
    return names, rows


def members(households=60, seed=5):
    """One to four people of a household each; some have no diagnosis, and all stand for several."""
    draw = random.Random(seed)
    names = ["pid", "HHID", "age", "town", "diagnosis", "sample_weight"]
    rows = []
    for household in range(households):
        town = draw.choice(["Aa", "Bee", "Cee"])
        for _ in range(draw.randint(1, 4)):
            ill = draw.choice(["flu", "cold", "gout", "none", ""])
            weight = draw.choice([31.5, 40.25, 58.0])
            person = [len(rows) + 1, 7000 + household, draw.randint(18, 90)]
            rows.append([*person, town, ill, weight])
    return names, rows
