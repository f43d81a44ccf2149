"""Files made by other software may be laid out differently, but have to say the same."""

import json

import pyarrow.parquet as pq
import pytest

from sfumato.expectations.shared.errors import PromiseError
from sfumato.flows.cli.main import run
from sfumato.tasks.publication.check import check
from tests.release.forge import made_with, reseal
from tests.release.small import people


def relaid_parquet(path):
    pq.write_table(pq.read_table(path), path, compression="none", store_schema=False)


def relaid_csv(path):
    path.write_text(path.read_text(encoding="utf-8").replace('"', ""), encoding="utf-8")


def relaid_text(path):
    path.write_text("\n" + path.read_text(encoding="utf-8") + "\n\n", encoding="utf-8")


def reword_page(path):
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("What is promised", "Promises"), encoding="utf-8")


RELAID = {
    "data/microdata.parquet": relaid_parquet,
    "sql/help_wage.parquet": relaid_parquet,
    "sql/duckdb.sql": relaid_text,
    "index.html": reword_page,
}


@pytest.fixture
def release(small):
    """A release whose texts need no quotes in CSV."""
    rows = [{**row, "town": row["town"][:2]} for row in people()]
    return small.write(rows).publish("one").directory


def test_the_same_software_made_the_same_bytes(release):
    report = check(release)
    assert (report.derived, report.made_with, report.unlike) == ("equal", (), ())


@pytest.mark.parametrize("name", RELAID)
def test_another_layout_by_other_software_is_equivalent(writable, name):
    made_with(writable, pyarrow="0.0.1", sqlglot="0.0.2", sfumato="0.0.3")
    before = (writable / name).read_bytes()
    RELAID[name](writable / name)
    assert (writable / name).read_bytes() != before
    announced = reseal(writable)
    report = check(writable)
    assert (report.derived, report.unlike) == ("equivalent", ())
    assert set(report.made_with) == {"pyarrow 0.0.1", "sqlglot 0.0.2", "sfumato 0.0.3"}
    assert check(writable, announced) == report


@pytest.mark.parametrize("name", RELAID)
def test_the_same_software_lays_out_the_same_bytes(writable, name):
    RELAID[name](writable / name)
    reseal(writable)
    with pytest.raises(PromiseError, match=f"{name}: differs from the published tables$"):
        check(writable)


@pytest.mark.parametrize(
    ("name", "relay"), [("data/microdata.csv", relaid_csv), ("validation.json", relaid_text)]
)
def test_files_that_the_format_writes_in_one_way_have_the_same_bytes(writable, name, relay):
    made_with(writable, pyarrow="0.0.1", sqlglot="0.0.2", sfumato="0.0.3")
    relay(writable / name)
    reseal(writable)
    with pytest.raises(PromiseError, match=f"{name}: differs from the published tables; it"):
        check(writable)


@pytest.mark.parametrize("name", ["data/microdata.parquet", "sql/help_wage.parquet"])
def test_tables_are_the_same_bytes_under_the_same_pyarrow(writable, name):
    made_with(writable, sfumato="0.0.3")
    relaid_parquet(writable / name)
    reseal(writable)
    with pytest.raises(PromiseError, match=f"{name}: differs from the published tables; it"):
        check(writable)


def forged_parquet(path):
    table = pq.read_table(path)
    relaid_parquet(path)
    pq.write_table(table.slice(1), path, store_schema=False)


def with_other_number(path):
    text = path.read_text(encoding="utf-8")
    assert ">60<" in text
    path.write_text(text.replace(">60<", ">6000<"), encoding="utf-8")


def with_other_bound(path):
    text = path.read_text(encoding="utf-8")
    assert ".hits) AS" in text
    path.write_text(text.replace(".hits) AS", ".group_id) AS"), encoding="utf-8")


def with_other_observation(path):
    document = json.loads(path.read_bytes())
    document[-1]["observed"] = {"k": 99, "e": 99}
    path.write_text(json.dumps(document), encoding="utf-8")


def with_other_cell(path):
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join([lines[0], *reversed(lines[1:])]), encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "forge"),
    [
        ("sql/help_wage.parquet", forged_parquet),
        ("index.html", with_other_number),
        ("sql/duckdb.sql", with_other_bound),
        ("validation.json", with_other_observation),
        ("data/microdata.csv", with_other_cell),
    ],
)
def test_what_says_something_else_is_refused_but_under_its_announced_digest(
    writable, name, forge, capsys
):
    made_with(writable, pyarrow="0.0.1", sqlglot="0.0.2", sfumato="0.0.3")
    forge(writable / name)
    announced = reseal(writable)
    with pytest.raises(PromiseError, match=f"{name}: differs from the published tables; it"):
        check(writable)
    assert check(writable, announced).unlike == (name,)
    assert run(["check", str(writable), "--digest", announced]) == 0
    assert f"{name}: differs from the published tables" in capsys.readouterr().out
