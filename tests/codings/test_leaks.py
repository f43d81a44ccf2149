"""Attacks that succeed on each coding all the same, and what the page says of them."""

from datetime import date, timedelta

import numpy as np
import pytest

from sfumato.tasks.private.people.frozen import shift_key
from tests.codings.stays import COLUMNS, EXACT, stays, table_of
from tests.codings.test_offsets import days_of
from tests.codings.test_release import text_of

DAYS = 30


@pytest.fixture
def exposed_dates(line):
    """Everybody's shown dates, as somebody sees them who recognises the rows."""
    columns = {**COLUMNS, "came": {**COLUMNS["came"], "role": "insensitive"}}
    rows = stays()
    release = line.write(rows, columns=columns).publish("one").directory
    key = shift_key(line.plan().line.private)
    moved = {row["person"]: timedelta(days=days_of(row["person"], DAYS, key)) for row in rows}
    return release, rows, moved


def test_one_known_date_tells_all_dates_of_a_person(exposed_dates):
    release, rows, moved = exposed_dates
    released_dates = {(row["came"], row["left"]) for row in table_of(release).to_pylist()}
    for row in rows:
        came, offset = date.fromisoformat(row["came"]), moved[row["person"]]
        if row["left"]:
            departure = date.fromisoformat(row["left"])
            seen = next(
                pair for pair in released_dates if pair == (came + offset, departure + offset)
            )
            assert seen[1] - (seen[0] - came) == departure
    assert "knows one of these dates knows all of them" in text_of(release / "index.html")


def test_without_one_every_day_of_the_range_is_left(exposed_dates):
    """The days of different people tell nothing of each other."""
    _, rows, moved = exposed_dates
    days_moved = np.array([moved[row["person"]].days for row in rows])
    assert days_moved.min() < -DAYS * 0.9
    assert days_moved.max() > DAYS * 0.9
    assert abs(np.corrcoef(days_moved[:-1], days_moved[1:])[0, 1]) < 5 / np.sqrt(len(days_moved))


def test_the_time_between_dates_is_as_it_was(exposed_dates):
    release, rows, _ = exposed_dates
    released_rows = table_of(release).to_pylist()
    lengths = sorted((row["left"] - row["came"]).days for row in released_rows if row["left"])
    assert lengths == sorted(
        (date.fromisoformat(row["left"]) - date.fromisoformat(row["came"])).days
        for row in rows
        if row["left"]
    )
    assert "The time between two moved dates of a person" in text_of(release / "index.html")


def test_a_computed_threshold_stands_in_the_data_and_the_page_says_so(line):
    """The largest published value is the threshold: somebody's own, where it is not rounded."""
    cost = {"role": "sensitive", "type": "decimal", "top": {"share": "0.02"}}
    columns = {**EXACT["columns"], "cost": cost}
    release = line.write(stays(), **{**EXACT, "columns": columns}).publish("one").directory
    largest = max(table_of(release)["cost"].to_pylist())
    assert str(largest) in {row["cost"] for row in stays()}
    at_top = sum(value == largest for value in table_of(release)["cost"].to_pylist())
    assert at_top >= 0.02 * len(stays())
    assert "the largest of them reveals the threshold" in text_of(release / "index.html")


def test_a_rounded_number_tells_itself_to_half_a_step(line):
    release = line.write(stays(), **EXACT).publish("one").directory
    ages = sorted(table_of(release)["age"].to_pylist())
    true = sorted(min(max(row["age"], 18), 90) for row in stays())
    assert max(abs(a - b) for a, b in zip(ages, true, strict=True)) <= 1
    assert "The number itself, up to 1 less or more." in text_of(release / "index.html")


def test_who_has_a_rare_value_is_among_the_others(line):
    rows = stays()
    release = line.publish("one").directory
    others = sum(job == "other" for job in table_of(release)["job"].to_pylist())
    rare = [row for row in rows if row["job"] not in ("nurse", "clerk", "smith")]
    assert (
        0
        < others
        == len(rare) + sum(row["job"] == "smith" for row in rows if _is_rare("smith", rows))
    )
    assert "All of them together may still be few" in text_of(release / "index.html")


def _is_rare(job, rows):
    return sum(row["job"] == job for row in rows) < COLUMNS["job"]["fold"]["below"]
