"""Hierarchies: what nests is read, what does not is refused with its row."""

import datetime as dt
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.microdata.hierarchies import hierarchies, read_hierarchy
from sfumato.tasks.schema.hierarchy import (
    PERIODS,
    Hierarchy,
    from_dates,
    from_intervals,
    from_order,
    from_prefixes,
)
from tests.microdata.sources import CANARY, FILE, column, ingest_csv, refusal, values

QI = "quasi-identifier"


def read(directory, content):
    data = content if isinstance(content, bytes) else content.encode()
    (directory / "h.csv").write_bytes(data)
    return read_hierarchy(directory / "h.csv", "lists/h.csv")


@pytest.mark.parametrize(
    "content",
    [
        "a;x;*\nb;x;*\nc;y;*\n",
        "a,x,*\r\nb,x,*\r\nc,y,*",
        "\ufeffa;x;*\nb;x;*\nc;y;*\n\n\n",
        '"a";"x";"*"\n"b";x;*\nc;y;*\n',
    ],
)
def test_reading(tmp_path, content):
    hierarchy = read(tmp_path, content)
    assert hierarchy.leaves == ("a", "b", "c")
    assert hierarchy.level(1) == ("x", "x", "y")
    assert hierarchy.height == 2
    assert [hierarchy.generalize("b", level) for level in range(3)] == ["b", "x", "*"]
    assert "b" in hierarchy
    assert "x" not in hierarchy


def test_labels_may_hold_the_other_delimiter(tmp_path):
    assert read(tmp_path, "a,b;*\n").leaves == ("a,b",)
    assert read(tmp_path, '"a,b",*\n').leaves == ("a,b",)


@pytest.mark.parametrize(
    ("content", "row", "rule"),
    [
        (f"a;x;*\n{CANARY};*\n", 2, "2 labels, 3 in row 1"),
        (f"a;x;*\n\n{CANARY};x;*\n", 2, "the row has only a leaf. Write the root behind it also"),
        (f"{CANARY}\n", 1, "the row has only a leaf. Write the root behind it also"),
        (f"a;*\n{CANARY};*\n{CANARY};*\n", 3, "the leaf is in an earlier row already"),
        (f"a;*\nb;{CANARY}\n", 2, "the last label is not the root '*', which all rows need"),
        (f"a;x;*\n{CANARY};;*\n", 2, "an empty label"),
        (f"a;*\n;{CANARY}\n", 2, "the last label is not the root '*', which all rows need"),
        (
            f"a;x;u;*\nb;y;u;*\n{CANARY};x;v;*\n",
            3,
            "the label of level 1 has other labels behind it in an earlier row",
        ),
        (f'a;*\n"{CANARY};*\n', 2, "cannot be parsed as CSV"),
    ],
)
def test_what_is_no_hierarchy(tmp_path, content, row, rule):
    message = refusal(lambda: read(tmp_path, content), InputError)
    assert message == f"lists/h.csv: row {row}: {rule}"


def test_files_that_cannot_be_read(tmp_path):
    absent = refusal(lambda: read_hierarchy(tmp_path / "no", "no"), InputError)
    assert absent == "no: cannot be read (No such file or directory)"
    directory = refusal(lambda: read_hierarchy(tmp_path, "here"), InputError)
    assert directory == "here: cannot be read (Is a directory)"
    text = refusal(lambda: read(tmp_path, b"\xff;*\n"), InputError)
    assert text == "lists/h.csv: not UTF-8"
    for content in ("", "\n\n"):
        empty = refusal(lambda content=content: read(tmp_path, content), InputError)
        assert (
            empty == "lists/h.csv: has no leaf. Write at least one row with a value and its labels"
        )


@given(st.lists(st.lists(st.sampled_from("abc"), min_size=2, max_size=2), min_size=1, max_size=5))
def test_nesting_against_brute_force(uppers):
    rows = tuple((str(i), *upper, "*") for i, upper in enumerate(uppers))
    nests = all(row[1] != two[1] or row[2] == two[2] for row in rows for two in rows)
    if nests:
        assert Hierarchy("h", rows).level(2) == tuple(row[2] for row in rows)
    else:
        refusal(lambda: Hierarchy("h", rows), InputError)


def test_edges_of_intervals():
    hierarchy = from_intervals("x", [5, 10], [-11, -10, -6, -5, -1, 0, 4, 5, 9, 10])
    assert hierarchy.level(1) == (
        *("-15 to -11", "-10 to -6", "-10 to -6", "-5 to -1", "-5 to -1"),
        *("0-4", "0-4", "5-9", "5-9", "10-14"),
    )
    assert hierarchy.level(2)[1:5] == ("-10 to -1",) * 4
    assert hierarchy.level(3) == ("*",) * 10


@given(
    st.sets(st.integers(-(10**6), 10**6), min_size=1, max_size=30),
    st.integers(1, 50),
    st.lists(st.integers(2, 5), max_size=2),
)
def test_intervals_hold_their_values(numbers, width, factors):
    widths = [width]
    for factor in factors:
        widths.append(widths[-1] * factor)
    hierarchy = from_intervals("x", widths, sorted(numbers))
    assert hierarchy.height == len(widths) + 1
    for level, size in enumerate(widths, start=1):
        for value in numbers:
            label = hierarchy.generalize(str(value), level)
            low, high = (
                (int(end) for end in label.split(" to "))
                if " to " in label
                else (int(end) for end in label.split("-"))
            )
            assert low <= value <= high
            assert high - low + 1 == size
            assert low % size == 0


def test_a_value_absent_from_its_hierarchy(tmp_path):
    (tmp_path / "h.csv").write_text("Rome;*\nOslo;*\n", encoding="utf-8")
    columns = {"id": column(), "city": column(role="quasi-identifier", hierarchy="h.csv")}
    content = f"id,city\n1,Rome\n2,Bonn\n\n3,{CANARY}\n4,Oslo\n5,{CANARY}\n"
    message = refusal(
        lambda: ingest_csv(tmp_path, content, columns, where="city <> 'Bonn'"), InputError
    )
    assert message == (f"{FILE}: row 3: column 'city': a value is not in the hierarchy h.csv")
    result = ingest_csv(tmp_path, content, columns, where="id IN ('1', '4')")
    assert values(result, "city") == ["Rome", "Oslo"]


def test_nulls_need_no_leaf(tmp_path):
    (tmp_path / "h.csv").write_text("Rome;*\n", encoding="utf-8")
    columns = {"a": column(), "city": column(role="quasi-identifier", hierarchy="h.csv")}
    result = ingest_csv(tmp_path, "a,city\n1,\n2,Rome\n", columns)
    assert values(result, "city") == [None, "Rome"]


def test_leaves_are_compared_as_text(tmp_path):
    (tmp_path / "i.csv").write_text("-1;neg;*\n20;pos;*\n", encoding="utf-8")
    (tmp_path / "d.csv").write_text("2020-02-29;leap;*\n", encoding="utf-8")
    columns = {
        "i": column("integer", role="quasi-identifier", hierarchy="i.csv"),
        "d": column("date", role="quasi-identifier", hierarchy="d.csv"),
        "n": column("integer", role="quasi-identifier", hierarchy={"intervals": [10]}),
    }
    result = ingest_csv(tmp_path, "i,d,n\n-1,2020-02-29,7\n+20,2020-02-29,-3\n", columns)
    read = hierarchies(columns, result.microdata, tmp_path)
    assert list(read) == ["i", "d", "n"]
    assert read["n"].rows == (("-3", "-10 to -1", "*"), ("7", "0-9", "*"))
    message = refusal(lambda: ingest_csv(tmp_path, "i,d,n\n1,2020-02-29,7\n", columns), InputError)
    assert message.endswith("row 1: column 'i': a value is not in the hierarchy i.csv")


def test_intervals_of_a_column_without_values(tmp_path):
    columns = {"n": column("integer", role="quasi-identifier", hierarchy={"intervals": [10]})}
    result = ingest_csv(tmp_path, "n\n1\n", columns, where="n > 1")
    assert result.microdata.rows == 0


def test_dates_generalize_to_periods():
    days = [dt.date(1999, 12, 31), dt.date(2000, 1, 1), dt.date(2000, 3, 31), dt.date(2000, 4, 1)]
    hierarchy = from_dates("x", ["month", "quarter", "year", "decade", "century"], days)
    assert hierarchy.level(1) == ("1999-12", "2000-01", "2000-03", "2000-04")
    assert hierarchy.level(2) == ("1999-Q4", "2000-Q1", "2000-Q1", "2000-Q2")
    assert hierarchy.level(3) == ("1999", "2000", "2000", "2000")
    assert hierarchy.level(4) == ("1990s", "2000s", "2000s", "2000s")
    assert hierarchy.level(5) == ("19xx", "20xx", "20xx", "20xx")


@given(
    st.sets(st.dates(), min_size=1, max_size=30),
    st.sets(st.sampled_from(list(PERIODS)), min_size=1),
)
def test_periods_nest(days, chosen):
    steps = [period for period in PERIODS if period in chosen]
    hierarchy = from_dates("x", steps, sorted(days))
    for day in days:
        for level, step in enumerate(steps, start=1):
            same = {d for d in days if PERIODS[step](d) == PERIODS[step](day)}
            label = hierarchy.generalize(day.isoformat(), level)
            assert {d for d in days if hierarchy.generalize(d.isoformat(), level) == label} == same


@given(
    st.sets(st.text("0123", min_size=1, max_size=5), min_size=1, max_size=20),
    st.sets(st.integers(1, 5), min_size=1),
)
def test_prefixes_hide_what_they_do_not_keep(codes, lengths):
    steps = sorted(lengths, reverse=True)
    hierarchy = from_prefixes("x", steps, sorted(codes))
    for code in codes:
        for level, length in enumerate(steps, start=1):
            label = hierarchy.generalize(code, level)
            assert len(label) == len(code)
            assert label.rstrip("*") == code[:length]


def test_built_hierarchies_of_a_source(tmp_path):
    columns = {
        "born": column("date", role=QI, hierarchy={"dates": ["month", "year"]}),
        "zip": column("string", role=QI, hierarchy={"prefixes": [4, 3]}),
    }
    ingested = ingest_csv(tmp_path, "born,zip\n1987-03-09,13053\n1990-01-01,13068\n", columns)
    trees = hierarchies(columns, ingested.microdata, tmp_path)
    assert trees["born"].generalize("1987-03-09", 2) == "1987"
    assert trees["zip"].level(2) == ("130**", "130**")


@pytest.mark.parametrize(
    ("type_", "hierarchy", "reason"),
    [
        ("string", {"dates": ["year"]}, "dates need type date"),
        ("integer", {"prefixes": [2]}, "prefixes need type string"),
        ("date", {"dates": ["year", "month"]}, "from the shortest to the longest"),
        ("date", {"dates": ["year", "year"]}, "each once"),
        ("string", {"prefixes": [2, 3]}, "prefix 3 is not shorter than 2"),
        ("string", {"prefixes": [2, 2]}, "prefix 2 is not shorter than 2"),
        ("string", {"ordered": ["a", "b", "a"], "runs": [2]}, "a value occurs twice"),
        (
            "string",
            {"ordered": ["a", "b"], "runs": [2, 3]},
            ("run 3 must be larger than 2, and a multiple of"),
        ),
        ("string", {"ordered": ["a"], "runs": [2]}, "at least 2 items"),
    ],
)
def test_hierarchies_that_cannot_be_built(type_, hierarchy, reason):
    with pytest.raises(ValidationError, match=reason):
        column(type_, role=QI, hierarchy=hierarchy)


@given(st.integers(2, 20), st.sampled_from([[2], [3, 6], [2, 4, 8]]))
def test_runs_of_an_order_join_neighbours(number, runs):
    values = [f"v{place}" for place in range(number)]
    hierarchy = from_order("x", runs, values)
    for level, length in enumerate(runs, start=1):
        labels = hierarchy.level(level)
        for place, other in combinations(range(number), 2):
            assert (labels[place] == labels[other]) == (place // length == other // length)
    assert hierarchy.leaves == tuple(values)


def test_an_order_is_a_hierarchy_of_a_source(tmp_path):
    hierarchy = {"ordered": [1, 2, 3], "runs": [2]}
    columns = {"n": column("integer", role=QI, hierarchy=hierarchy)}
    ingested = ingest_csv(tmp_path, "n\n3\n1\n", columns)
    tree = hierarchies(columns, ingested.microdata, tmp_path)["n"]
    assert tree.rows == (("1", "1 to 2", "*"), ("2", "1 to 2", "*"), ("3", "3", "*"))
    message = refusal(lambda: ingest_csv(tmp_path, "n\n4\n", columns), InputError)
    assert message.endswith("row 1: column 'n': a value is not in the hierarchy n")
