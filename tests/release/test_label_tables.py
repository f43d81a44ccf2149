"""Label tables of published releases: made of labels alone, made anew by a check, and loaded."""

import json
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.expectations.shared.errors import PromiseError, SpecError
from sfumato.tasks.forms.labels import admits
from sfumato.tasks.forms.optional import reader_for
from sfumato.tasks.forms.registry import FORMS
from sfumato.tasks.publication.check import check
from sfumato.tasks.query.ask import answer
from sfumato.tasks.query.load import load
from sfumato.tasks.query.rewrite import rewrite
from sfumato.tasks.sql.target import target
from sfumato.tasks.terms.opened import MANIFEST, open_release
from tests.release.small import people
from tests.release.test_recoded import TOWNS, changes

NAMES = ["label_age", "value_age", "label_town", "value_town"]
QUERY = "SELECT COUNT(*) AS n, AVG(wage) AS w FROM microdata WHERE age >= 40 OR town = 'Aa'"


@pytest.fixture
def publish(small):
    def publish_labels(partition, method, **more):
        small.write(people(), **changes(partition, {"method": method, **more}))
        (small.folder / "towns.csv").write_text(TOWNS, encoding="utf-8")
        return small.publish("one").directory

    return publish_labels


CASES = [("mondrian", "generalized"), ("full-domain", "generalized"), ("forest", "suppressed")]


@pytest.mark.parametrize(("partition", "method"), CASES)
def test_they_are_published_where_a_spec_says_so(publish, partition, method):
    release = publish(partition, method, **{"label-tables": True})
    assert json.loads((release / MANIFEST).read_text(encoding="utf-8"))["sfumato"]["format"] == 6
    assert sorted(path.stem for path in (release / "sql").glob("*.parquet")) == sorted(NAMES)
    check(release)
    opened = open_release(release)
    microdata = pq.read_table(release / "data" / "microdata.parquet")
    for name in ("age", "town"):
        read = reader_for(FORMS[method])(name, opened.declared.columns[name])
        rows = pq.read_table(release / "sql" / f"label_{name}.parquet").to_pylist()
        assert {row["label"] for row in rows} == set(microdata[name].drop_null().to_pylist())
        for row in rows:
            ends = [row[key] for key in ("value", "low", "high") if row.get(key) is not None]
            assert all(admits(read(row["label"]), value) for value in ends)
            assert admits(read(row["label"]), None) == row["admits_null"]


def test_ready_sql_shows_them(publish, monkeypatch):
    release = publish("mondrian", "generalized", **{"label-tables": True})
    monkeypatch.chdir(release)
    with duckdb.connect() as connection:
        connection.execute(Path("sql/duckdb.sql").read_text(encoding="utf-8"))
        labels = connection.execute("SELECT DISTINCT label FROM label_age").fetchall()
        assert len(labels) == pq.read_table("sql/label_age.parquet").num_rows
        opened = open_release(release)
        (row,) = connection.execute(rewrite(QUERY, opened.declared).sql()).fetchall()
        (answer_row,) = answer(opened, QUERY).rows
    assert list(row[:2]) == [answer_row["n"].lower, answer_row["n"].upper]
    assert row[2:] == pytest.approx([float(answer_row["w"].lower), float(answer_row["w"].upper)])


def test_forged_ones_are_found(publish):
    release = publish("mondrian", "generalized", **{"label-tables": True})
    place = release / "sql" / "label_age.parquet"
    table = pq.read_table(place)
    pq.write_table(table.set_column(1, "low", pa.array([0] * table.num_rows)), place)
    with pytest.raises(PromiseError, match="label_age"):
        check(release)


@pytest.mark.parametrize("options", [{}, {"label-tables": True}])
def test_releases_are_loaded_with_and_without_them(publish, options, tmp_path):
    opened = open_release(publish("full-domain", "generalized", **options))
    url = f"sqlite:///{tmp_path}/wages.sqlite"
    assert load(opened, url) == ["microdata", *NAMES]
    (row,) = answer(opened, QUERY).rows
    with target(url) as database:
        ((least, most, low, high),) = database.execute(
            rewrite(QUERY, opened.declared).sql("sqlite")
        )
    assert (least, most) == (row["n"].lower, row["n"].upper)
    assert low == pytest.approx(float(row["w"].lower))
    assert high == pytest.approx(float(row["w"].upper))


def test_without_the_key_nothing_is_published_but_what_was(publish):
    release = publish("mondrian", "generalized")
    assert not list((release / "sql").glob("*.parquet"))
    assert "label_" not in (release / "sql" / "duckdb.sql").read_text(encoding="utf-8")
    assert (
        json.loads((release / MANIFEST).read_text(encoding="utf-8"))["sfumato"].get("format", 0) < 6
    )


def test_parts_publish_none(publish, small):
    more = {"parts": {"rows": 30}, "remember": "units"}
    form = {"method": "generalized", "label-tables": True}
    small.write(people(), **changes("mondrian", form, **more))
    with pytest.raises(SpecError, match=r"form\.label-tables"):
        small.publish("one")
