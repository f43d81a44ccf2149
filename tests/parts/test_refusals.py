"""Refusals of a release in parts: when the spec is read, and when the source is."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.expectations.shared.errors import InputError, PromiseError, SpecError
from sfumato.flows.cli.main import run
from sfumato.flows.inputs.spec import read_spec
from sfumato.tasks.parts.divided import read_parts
from tests.parts.divided import SPEC, visits
from tests.parts.test_versions import PEOPLE

COLUMNS = SPEC["columns"]
PERSON = {"person": {"role": "identifier", "unit": True}}
UNPROTECTED = {"role": "sensitive", "type": "decimal", "unprotected": "known"}
ALPHA = {"model": "alpha-beta", "alpha": 0.5, "beta": 0.5, "sensitive": "ward"}
WARD = {**COLUMNS, "cost": UNPROTECTED, "ward": {"role": "sensitive"}}
COMPOSED = {
    "columns": {**PERSON, **COLUMNS},
    "unit": None,
    "versions": "composed",
}
CHANGES = {
    "ambiguity": (
        {
            "columns": WARD,
            "promises": [ALPHA],
            "partition": {"method": "ambiguity"},
            "form": {"method": "ambiguous"},
        },
        "partition: ambiguity hides the rows of a group",
    ),
    "factors": (
        {
            "columns": {**COLUMNS, "cost": UNPROTECTED},
            "promises": [{"model": "k-anonymity", "k": 2}],
            "partition": {"method": "factors"},
            "form": {"method": "suppressed"},
        },
        "partition: factors needs all rows",
    ),
    "full-domain": (
        {
            "columns": {**COLUMNS, "cost": UNPROTECTED},
            "promises": [{"model": "k-anonymity", "k": 2}],
            "partition": {"method": "full-domain", "suppression": 0.1},
            "form": {"method": "generalized"},
        },
        "partition: full-domain chooses the rows to suppress",
    ),
    "full-domain and t": (
        {
            "promises": [
                {"model": "t-closeness", "t": 0.5, "distance": "equal", "sensitive": "cost"}
            ],
            "partition": {"method": "full-domain"},
            "form": {"method": "generalized"},
        },
        "promises.0: t-closeness compares groups with all rows",
    ),
    "targets of groups": (
        {
            "columns": {k: v for k, v in COLUMNS.items() if k != "ward"},
            "promises": [
                {"model": "p-privacy", "target": {"nearest": "own"}},
                {"model": "l-diversity", "variant": "distinct", "l": 2},
            ],
            "partition": {"method": "stratum"},
            "form": {"method": "redistributed"},
        },
        "promises.0.target: the nearest target of each group",
    ),
    "distances of targets": (
        {
            "columns": {k: v for k, v in COLUMNS.items() if k != "ward"},
            "promises": [
                {"model": "p-privacy", "target": "source"},
                {"model": "t-closeness", "t": 0.5, "distance": "ordered"},
            ],
            "partition": {"method": "stratum"},
            "form": {"method": "redistributed"},
        },
        "promises.1: t-closeness compares the declared",
    ),
    "composed by distributions": (
        {
            **COMPOSED,
            "columns": {k: v for k, v in {**PERSON, **COLUMNS}.items() if k != "ward"},
            "promises": [{"model": "p-privacy", "target": "source"}],
            "partition": {"method": "stratum"},
            "form": {"method": "redistributed"},
        },
        "versions: `composed` does not work in parts with form redistributed: what the groups",
    ),
    "composed covers": (
        {
            **COMPOSED,
            "columns": {**PERSON, **WARD},
            "promises": [ALPHA],
            "partition": {"method": "disjoint-cover"},
            "form": {"method": "ambiguous"},
        },
        "versions: `composed` does not work in parts with form ambiguous: what the groups",
    ),
    "composed by one node": (
        {
            **COMPOSED,
            "columns": {**PERSON, **COLUMNS, "cost": UNPROTECTED},
            "promises": [{"model": "k-anonymity", "k": 2}],
            "partition": {"method": "full-domain"},
            "form": {"method": "generalized"},
        },
        "versions: `composed` does not work in parts with partition full-domain: new people are",
    ),
    "composed and t": (
        {
            **COMPOSED,
            "promises": [
                {"model": "t-closeness", "t": 0.5, "distance": "equal", "sensitive": "cost"}
            ],
            "partition": {"method": "mondrian"},
            "form": {"method": "generalized"},
        },
        "promises.0: t-closeness compares groups with all rows",
    ),
    "composed across lines": (
        {**COMPOSED, "people": "visitors", "across-lines": "accepted-risk"},
        "across-lines: what several lines reveal together is not",
    ),
    "map": (
        {"columns": {**PERSON, **COLUMNS}, "unit": None},
        ("remember: a release in parts keeps who is in which group"),
    ),
    "intervals": (
        {"evaluate": {"intervals": 95}},
        ("evaluate.intervals: a release in parts cannot calibrate"),
    ),
    "csv": (
        {"source": {"uri": "visits.csv"}},
        ("source.format: a release in parts reads Parquet only"),
    ),
    "encrypted": ({"stages": "encrypted"}, "stages: `encrypted` does not work in parts"),
    "by a sensitive column": (
        {"parts": {"by": "cost", "at": [500]}},
        "parts.by: 'cost' is not a column with role",
    ),
    "by no order": (
        {"parts": {"by": "town", "at": ["Bee"]}},
        ("parts.by: the values of 'town' have no order"),
    ),
    "descending": (
        {"parts": {"by": "age", "at": [50, 30]}},
        ("parts.at: the values do not ascend"),
    ),
    "no number": (
        {"parts": {"by": "age", "at": ["x"]}},
        ("parts.at: has a value that is not of type integer, which parts.by has"),
    ),
    "half a cut": ({"parts": {"by": "age"}}, "by and at: need each other"),
    "no rows": ({"parts": {"rows": 0}}, "parts.rows"),
    "keep one": (
        {
            "columns": {
                "person": {**PERSON["person"], "repeat": "keep-one"},
                **COLUMNS,
            },
            "unit": None,
            "remember": "units",
        },
        "repeat: finding repeated rows needs all rows at once",
    ),
    "joint presence of some quasi-identifiers": (
        {
            "columns": WARD,
            "promises": [
                {**ALPHA, "quasi-identifiers": ["age", "town"]},
                {"model": "l-diversity", "variant": "distinct", "l": 2, "sensitive": "ward"},
            ],
            "partition": {"method": "disjoint-cover"},
            "form": {"method": "ambiguous"},
        },
        "is judged over all groups together",
    ),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_specs_are_refused_with_the_reason(divided_line, kind):
    changes, reason = CHANGES[kind]
    changes = {name: value for name, value in changes.items() if value is not None}
    divided_line.write(visits(), **changes)
    if "unit" in CHANGES[kind][0]:
        text = divided_line.spec.read_text(encoding="utf-8").replace("unit: row\n", "")
        divided_line.spec.write_text(text, encoding="utf-8")
    with pytest.raises(SpecError) as refused:
        read_spec(divided_line.spec)
    assert reason in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_value_that_is_none_is_named_by_its_place(divided_line, monkeypatch):
    monkeypatch.setattr("sfumato.tasks.parts.divide.AT_ONCE", 100)
    monkeypatch.setattr("sfumato.tasks.parts.divide.read_chunks.__defaults__", (100,))
    rows = visits()
    place = rows.column_names.index("age")
    ages = rows["age"].to_pylist()
    ages[250] = None
    divided_line.write(rows.set_column(place, "age", pa.array(ages)), files=1)
    with pytest.raises(InputError) as refused:
        divided_line.publish("one")
    assert str(refused.value).startswith(
        "visits (after the first 200 rows): row 51: column 'age': missing value (nulls: drop-row"
    )


def test_files_have_the_same_columns(divided_line):
    divided_line.write(visits())
    path = divided_line.folder / "visits" / "1.parquet"
    table = pq.read_table(path)
    pq.write_table(table.set_column(0, "age", table["age"].cast(pa.int32())), path)
    with pytest.raises(InputError, match="its files have different columns or types"):
        divided_line.publish("one")


def test_files_may_differ_in_which_columns_they_call_required(divided_line):
    divided_line.write(visits(), **PEOPLE)
    path = divided_line.folder / "visits" / "1.parquet"
    table = pq.read_table(path)
    required = pa.schema([field.with_nullable(field.name == "town") for field in table.schema])
    pq.write_table(table.cast(required), path)
    _, divided = divided_line.divide("one")
    assert sum(stratum.rows for part in read_parts(divided) for stratum in part.strata) == 600


def test_what_is_no_parquet_is_told(divided_line):
    divided_line.write(visits())
    (divided_line.folder / "visits" / "1.parquet").write_bytes(b"nothing")
    with pytest.raises(InputError, match="visits: file 2 of 3 cannot be read as Parquet"):
        divided_line.publish("one")
    for path in (divided_line.folder / "visits").iterdir():
        path.unlink()
    with pytest.raises(InputError, match=r"visits: contains no file \*.parquet"):
        divided_line.publish("two")


def test_dictionaries_of_damaged_files_lack_values(divided_line, monkeypatch):
    divided_line.write(visits())
    read = pq.ParquetFile.iter_batches

    def damaged_batches(file, **options):
        for batch in read(file, **options):
            place = batch.schema.get_field_index("town")
            town = batch.column(place)
            indices = pa.array([len(town.dictionary)] * len(town), pa.int32())
            beyond = pa.DictionaryArray.from_arrays(indices, town.dictionary, safe=False)
            yield batch.set_column(place, "town", beyond)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", damaged_batches)
    with pytest.raises(InputError, match="visits: file 1 of 3 cannot be read as Parquet"):
        divided_line.divide("one")


def test_links_that_are_not_followed_are_refused(divided_line):
    divided_line.write(visits())
    source = divided_line.folder / "visits"
    aside = divided_line.folder / "aside"
    aside.mkdir()
    (source / "1.parquet").rename(aside / "1.parquet")
    (source / "1.parquet").symlink_to(aside / "1.parquet")
    divided_line.divide("file")
    (source / "2.parquet").unlink()
    for name, target in {"more": aside, "again": source, "2.parquet": aside / "gone"}.items():
        (source / name).symlink_to(target)
        with pytest.raises(
            InputError, match="visits: contains a link to a directory, or to nothing"
        ):
            divided_line.divide(name)
        (source / name).unlink()


def test_what_is_noticed_is_no_advice_that_is_refused(divided_line):
    (notice,) = divided_line.write(visits(), **PEOPLE).plan().notices
    assert "remember: `units` does not keep who is in which group" in notice
    assert "remember: map" not in notice


def test_too_many_strata_are_refused_before_all_are_written(divided_line, monkeypatch):
    monkeypatch.setattr("sfumato.tasks.parts.strata._MOST", 10)
    divided_line.write(visits(), strata=["age"])
    with pytest.raises(InputError, match="strata: there are more than 10"):
        divided_line.publish("one")
    assert len(list((divided_line.folder / "one" / "deidentified" / "strata").iterdir())) == 10


def test_a_full_disk_is_told_before_anything_is_written(divided_line, monkeypatch):
    divided_line.write(visits())
    usage = type("Usage", (), {"free": 10})
    monkeypatch.setattr("sfumato.tasks.parts.divide.shutil.disk_usage", lambda _: usage)
    with pytest.raises(InputError, match=r"parts may need 0\.0 GB there, and 0\.0 GB are free"):
        divided_line.publish("one")
    assert not (divided_line.folder / "one" / "deidentified").exists()


def test_a_promise_that_a_part_cannot_keep_publishes_nothing(divided_line):
    hard = [{**SPEC["promises"][0], "k": 80}]
    divided_line.write(visits(), promises=hard)
    with pytest.raises(PromiseError):
        divided_line.publish("one")
    assert not list((divided_line.folder / "public").rglob("[0-9]*"))


def test_parts_too_unlike_the_whole_are_refused(divided_line):
    rows = visits()
    years = rows["year"].to_pylist()
    cost = pa.array([year * 10 for year in years]).cast(pa.decimal128(38, 0))
    rows = rows.set_column(rows.column_names.index("cost"), "cost", cost)
    promise = {"model": "t-closeness", "t": 0.1, "distance": "equal", "sensitive": "cost"}
    divided_line.write(
        rows, promises=[promise], partition={"method": "mondrian"}, parts={"rows": 300}
    )
    with pytest.raises(
        PromiseError,
        match=(
            r"t-closeness cannot be kept in parts\. Required is t=0\.1, and "
            r"even"
        ),
    ):
        divided_line.publish("one")


@pytest.mark.parametrize(
    "command", [["release", "--dry"], ["plan", "--sweep", "k=2,3"], ["compare"]]
)
def test_commands_that_need_the_whole_table_say_so(published_parts, monkeypatch, command, capsys):
    _, line = published_parts
    monkeypatch.setenv("SFUMATO_WORK", str(line.folder.parent / "work"))
    name, *options = command
    assert run([name, str(line.spec), *options]) == 2
    error = capsys.readouterr().err
    assert "parts:" in error
    assert error.count("\n") == 1
