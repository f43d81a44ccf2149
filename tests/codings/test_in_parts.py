"""Codings of a release in parts, whose rows pass by some at a time."""

import datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.parts import divide as reading
from sfumato.tasks.private.people.frozen import read_frozen, shift_key
from sfumato.tasks.private.people.source_rows import compare_rows
from sfumato.tasks.publication.check import check
from sfumato.tasks.stages.deidentify import identity
from tests.codings.test_offsets import days_of
from tests.codings.test_oracles import nearest
from tests.parts.divided import SPEC, Divided, visits

CODED = {
    **SPEC["columns"],
    "age": {"role": "quasi-identifier", "type": "integer", "top": 80, "round": {"to": 5}},
    "town": {"role": "quasi-identifier", "nulls": "category", "prefix": 2},
    "cost": {"role": "sensitive", "type": "decimal", "round": {"to": "0.5"}},
}


@pytest.fixture
def divided_line(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    monkeypatch.setattr(reading.read_chunks, "__defaults__", (100,))
    return Divided(tmp_path / "line")


def table_of(release):

    return pa.concat_tables(
        pq.read_table(path / "data" / "microdata.parquet")
        for path in sorted((release / "parts").iterdir())
    )


def test_every_part_is_coded(divided_line):
    rows = visits()
    release = divided_line.write(rows, columns=CODED).publish("one").directory
    released_table, read = table_of(release), rows.to_pylist()
    for name, code in (
        ("age", lambda row: nearest(min(row["age"], 80), 5, "even")),
        ("town", lambda row: None if row["town"] is None else row["town"][:2]),
        ("cost", lambda row: nearest(row["cost"], "0.5", "even")),
    ):
        expected = [code(row) for row in read]
        values = released_table[name].to_pylist()
        assert sorted(map(str, values)) == sorted(
            str(
                pa.scalar(v, released_table[name].type).as_py()
                if name != "cost"
                else f"{float(v):.2f}"
            )
            for v in expected
        )
    assert check(release).derived == "equal"
    page = (release / "index.html").read_text(encoding="utf-8")
    assert "What was coded before" in page
    assert divided_line.publish("again").existed


def test_dates_move_by_unit_in_every_part(divided_line, tmp_path):
    rows = visits()
    dates = pa.array(range(15_000, 15_600), pa.int32()).cast(pa.date32())
    rows = rows.append_column("came", dates)
    columns = {
        **SPEC["columns"],
        "person": {"role": "identifier", "unit": True},
        "came": {"role": "insensitive", "type": "date", "shift": {"days": 9}},
    }
    spec = {"unit": "person", "remember": "units", "form": {"method": "generalized"}}
    promises = [
        {"model": "k-anonymity", "k": 3},
        {"model": "l-diversity", "variant": "distinct", "l": 2, "sensitive": "cost"},
    ]
    divided_line.write(
        rows, columns=columns, promises=promises, partition={"method": "mondrian"}, **spec
    )
    release = divided_line.publish("one").directory
    private = divided_line.plan().line.private
    key, read = shift_key(private), rows.to_pylist()

    expected = sorted(
        row["came"] + datetime.timedelta(days=days_of(row["person"], 9, key)) for row in read
    )
    assert sorted(table_of(release)["came"].to_pylist()) == expected
    assert read_frozen(private).shift is not None
    assert divided_line.publish("again").existed


def test_free_text_is_refused_as_it_passes_by(divided_line):
    rows = visits()
    notes = pa.array([f"was seen on ward {n} by me" for n in range(rows.num_rows)])
    columns = {**SPEC["columns"], "note": {"role": "insensitive"}}
    divided_line.write(rows.append_column("note", notes), columns=columns)
    with pytest.raises(InputError, match=r"columns\.note: has free text"):
        divided_line.publish("one")


def test_rows_are_compared_with_other_lines_as_they_were_read(divided_line):
    seen = []
    for name, columns in (("coded", CODED), ("plain", SPEC["columns"])):
        _, stage = divided_line.write(visits(), columns=columns).divide(name)
        seen.append(identity(stage).normal)
    assert seen[0].num_rows == 600
    assert compare_rows(*seen).rows.equal == 600
