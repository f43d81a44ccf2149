"""One table from every kind of source becomes the same draft, as far as the kind tells types."""

import sqlite3
from datetime import date, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xlsxwriter

from sfumato.flows.choice.first_spec import write_first_spec
from sfumato.tasks.profile.dialect import DraftOptions
from tests.profile.drafts import confirm_draft, document, roles
from tests.profile.tables import write_csv

NAMES = ["pnr", "born", "plz", "sex", "income"]
ROWS = [
    [1000 + n, date(1950, 1, 1) + timedelta(days=97 * n), f"{n % 3}1{n % 4}03", "mf"[n % 2], n % 40]
    for n in range(120)
]


def csv_file(place):
    (place / "t.csv").write_bytes(write_csv(NAMES, ROWS))
    return "t.csv", {}


def folder(place):
    for number, half in enumerate((ROWS[:70], ROWS[70:])):
        (place / "t").mkdir(exist_ok=True)
        (place / "t" / f"{number}.csv").write_bytes(write_csv(NAMES, half, "\t"))
    return "t", {}


def parquet(place):
    columns = zip(*ROWS, strict=True)
    pq.write_table(pa.table(dict(zip(NAMES, columns, strict=True))), place / "t.parquet")
    return "t.parquet", {}


def excel(place):
    with xlsxwriter.Workbook(place / "t.xlsx", {"default_date_format": "yyyy-mm-dd"}) as book:
        sheet = book.add_worksheet("people")
        for number, row in enumerate([NAMES, *ROWS]):
            sheet.write_row(number, 0, row)
    return "t.xlsx", {}


def database(place):
    with sqlite3.connect(place / "t.db") as made:
        made.execute("CREATE TABLE t (pnr INTEGER, born TEXT, plz TEXT, sex TEXT, income INTEGER)")
        made.executemany(
            "INSERT INTO t VALUES (?, ?, ?, ?, ?)", [[*map(_plain, row)] for row in ROWS]
        )
    made.close()
    return f"sqlite:///{place / 't.db'}", {"query": "SELECT * FROM t"}


def _plain(value):
    return value.isoformat() if isinstance(value, date) else value


@pytest.mark.parametrize("kind", [csv_file, folder, parquet, excel, database])
def test_one_table_from_every_kind_of_source(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    address, known_roles = kind(tmp_path)
    private = {"SFUMATO_WORK": str(tmp_path / "work")}
    made = write_first_spec(
        address, tmp_path / "drafted.yaml", DraftOptions(**known_roles), private
    )
    known_roles = dict.fromkeys(["born", "plz", "sex"], "quasi-identifier")
    assert roles(made) == {"pnr": "identifier"} | known_roles | {"income": "sensitive"}
    columns = document(made)["columns"]
    assert [columns[name].get("type", "string") for name in NAMES] == [
        *("integer", "date", "string", "string", "integer"),
    ]
    assert columns["plz"]["hierarchy"] == {"prefixes": [3, 2, 1]}
    assert confirm_draft(made).source.seen == tuple(NAMES)
