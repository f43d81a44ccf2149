"""The rows that a release represents: filter, null policies, units; each drop is counted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.shared.errors import InputError, SpecError
from tests.microdata.sources import CANARY, FILE, column, ingest_csv, refusal, values

PEOPLE = "id,age,city\n7,30,Rome\n8,,Oslo\n9,41,\n10,50,Bonn\n"


def people(**keys):
    return {
        "id": column("integer", role="identifier", **keys.get("id", {})),
        "age": column("integer", **keys.get("age", {})),
        "city": column(**keys.get("city", {})),
    }


@pytest.mark.parametrize(
    ("where", "ids"),
    [
        ("age > 30", [9, 10]),
        ("age IS NULL OR city = 'Rome'", [7, 8]),
        ("id BETWEEN 8 AND 9", [8, 9]),
        ("age > 99", []),
        ("NOT age > 30", [7]),
    ],
)
def test_where_keeps_rows_in_order(tmp_path, where, ids):
    ingested = ingest_csv(tmp_path, PEOPLE, people(), where=where)
    assert values(ingested, "id") == ids
    assert (ingested.read, ingested.dropped_by_filter) == (4, 4 - len(ids))
    assert len(ingested.microdata["id"].values) == len(ids)


def test_where_sees_exact_typed_values(tmp_path):
    content = 'd,"t s",f\n0.10,2020-01-02,1\n0.1000001,2020-01-01,2\n'
    columns = {"d": column("decimal"), "t s": column("date"), "f": column("integer")}
    result = ingest_csv(tmp_path, content, columns, where="d = 0.1 AND \"t s\" > DATE '2020-01-01'")
    assert values(result, "f") == [1]


@pytest.mark.parametrize("where", ["age >", "nowhere > 1", "(SELECT true)"])
def test_where_that_is_not_allowed(tmp_path, where):
    message = refusal(lambda: ingest_csv(tmp_path, PEOPLE, people(), where=where), SpecError)
    assert message.startswith("source.where: ")


def test_where_that_fails_on_the_values(tmp_path):
    content = PEOPLE + f"11,{CANARY},Bonn\n"
    where = "age % 0 = 1"
    message = refusal(lambda: ingest_csv(tmp_path, content, people(), where=where), SpecError)
    assert message.startswith("source.where: ")


def test_null_policies(tmp_path):
    result = ingest_csv(tmp_path, PEOPLE, people(), "category")
    assert values(result, "age") == [30, None, 41, 50]
    assert result.microdata["age"].codes.tolist() == [0, -1, 1, 2]
    dropped = ingest_csv(tmp_path, PEOPLE, people(), "drop-row")
    assert values(dropped, "id") == [7, 10]
    assert dropped.dropped_for_nulls == 2
    mixed = ingest_csv(tmp_path, PEOPLE, people(age={"nulls": "category"}), "drop-row")
    assert values(mixed, "id") == [7, 8, 10]
    message = refusal(lambda: ingest_csv(tmp_path, PEOPLE, people(), "refuse"), InputError)
    nulls = "; ".join(MISSING.format(row, name) for row, name in ((2, "age"), (3, "city")))
    assert message == f"{FILE}: 2 faults: {nulls}"


def test_nulls_of_a_dropped_column_matter_only_where_it_says_so(tmp_path):
    ignored = people(age={"role": "drop"}, city={"role": "drop"})
    assert ingest_csv(tmp_path, PEOPLE, ignored, "refuse").microdata.rows == 4
    named = people(age={"role": "drop", "nulls": "drop-row"}, city={"role": "drop"})
    assert values(ingest_csv(tmp_path, PEOPLE, named, "refuse"), "id") == [7, 9, 10]


def test_rows_that_the_filter_drops_may_have_nulls_but_not_errors(tmp_path):
    result = ingest_csv(tmp_path, PEOPLE, people(), "refuse", where="age <> 41")
    assert (result.read, result.dropped_by_filter, result.dropped_for_nulls) == (4, 2, 0)
    message = refusal(
        lambda: ingest_csv(tmp_path, PEOPLE, people(), "refuse", where="id >= 9"), InputError
    )
    assert message == f"{FILE}: {MISSING.format(3, 'city')}"
    wrong = PEOPLE + "11,x,Rome\n"
    message = refusal(lambda: ingest_csv(tmp_path, wrong, people(), where="id < 11"), InputError)
    assert message.startswith(f"{FILE}: row 5: column 'age': ")


UNITS = f"id,age,city\n1,30,Rome\n{CANARY},,Oslo\n\n2,41,Oslo\n{CANARY},50,Bonn\n{CANARY},60,Pisa\n"

KEEP = "Write `repeat: keep-one` to keep the first row of each, or `repeat: all` to keep every row"


def test_a_repeated_unit_is_refused_with_both_rows(tmp_path):
    message = refusal(lambda: ingest_csv(tmp_path, UNITS, people(id={"unit": True})), InputError)
    assert message == f"{FILE}: row 4: column 'id': the same unit as in row 2. {KEEP}"
    columns = people(id={"unit": True}, age={"nulls": "drop-row"})
    message = refusal(lambda: ingest_csv(tmp_path, UNITS, columns), InputError)
    assert message == f"{FILE}: row 5: column 'id': the same unit as in row 4. {KEEP}"


def test_the_first_of_the_rows_that_are_left_is_kept(tmp_path):
    unit = {"unit": True, "repeat": "keep-one"}
    result = ingest_csv(tmp_path, UNITS, people(id=unit))
    assert values(result, "city") == ["Rome", "Oslo", "Oslo"]
    assert result.dropped_as_repeats == 2
    result = ingest_csv(
        tmp_path, UNITS, people(id=unit, age={"nulls": "drop-row"}), where="age <> 50"
    )
    assert values(result, "age") == [30, 41, 60]
    assert (result.dropped_by_filter, result.dropped_for_nulls, result.dropped_as_repeats) == (
        2,
        0,
        0,
    )


MISSING = (
    "row {}: column '{}': missing value (nulls: drop-row leaves such rows out, category makes "
    "it a value)"
)
NOBODYS = "missing value in the unit (nulls: drop-row leaves such rows out)"


@pytest.mark.parametrize("repeat", ["refuse", "keep-one", "all"])
def test_rows_without_a_unit_are_left_out_where_it_says_so(tmp_path, repeat):
    columns = people(id={"unit": True, "repeat": repeat, "nulls": "drop-row"})
    result = ingest_csv(tmp_path, PEOPLE + ",1,x\n,2,y\n", columns, "category")
    assert values(result, "id") == [7, 8, 9, 10]
    assert (result.dropped_for_nulls, result.dropped_as_repeats) == (2, 0)


@pytest.mark.parametrize("policy", [{"nulls": "category"}, {}, {"nulls": "refuse"}])
def test_a_unit_is_never_null(tmp_path, policy):
    columns = people(id={"unit": True, "repeat": "keep-one", **policy})
    message = refusal(
        lambda: ingest_csv(tmp_path, PEOPLE + ",1,x\n", columns, "drop-row"), InputError
    )
    assert message == f"{FILE}: row 5: column 'id': {NOBODYS}"


@pytest.mark.parametrize("repeat", ["refuse", "keep-one"])
@pytest.mark.parametrize("unit", ["", "1"])
def test_rows_whose_unit_is_missing_are_nobodys(tmp_path, unit, repeat):
    columns = people(id={"unit": True, "repeat": repeat, "type": "string"})
    content = f"id,age,city\n{unit},1,x\n,2,x\n,3,x\n"
    message = refusal(lambda: ingest_csv(tmp_path, content, columns), InputError)
    assert message == f"{FILE}: row {2 if unit else 1}: column 'id': {NOBODYS}"


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.none() | st.integers(0, 2), st.none() | st.integers(0, 2)),
        min_size=1,
    )
)
def test_rows_against_brute_force(tmp_path_factory, rows):
    content = "u,a,b\n" + "".join(
        ",".join("" if value is None else str(value) for value in row) + "\n" for row in rows
    )
    columns = {
        "u": column("integer", role="identifier", unit=True, repeat="keep-one"),
        "a": column("integer", nulls="drop-row"),
        "b": column("integer"),
    }
    ingested = ingest_csv(tmp_path_factory.getbasetemp(), content, columns, where="u <> 3")
    filtered = [row for row in rows if row[0] != 3]
    complete = [row for row in filtered if row[1] is not None]
    expected = [
        row for i, row in enumerate(complete) if row[0] not in [early[0] for early in complete[:i]]
    ]
    table = ingested.microdata.table().to_pydict()
    assert list(zip(table["u"], table["a"], table["b"], strict=True)) == expected
    assert ingested.read == len(rows)
    assert ingested.dropped_by_filter == len(rows) - len(filtered)
    assert ingested.dropped_for_nulls == len(filtered) - len(complete)
    assert ingested.dropped_as_repeats == len(complete) - len(expected)
