"""The same verdicts in PostgreSQL and MariaDB, and a database administrator's own project."""

import json
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pandas as pd
import pytest
import sqlalchemy as sa

from sfumato.expectations.gallery import (
    ExpectDistinctLDiversity,
    ExpectKAnonymity,
    ExpectKeAnonymity,
)
from tests.gallery.batches import fill, message, of_frame, of_table, project, validate, verdicts
from tests.gallery.test_gallery import as_frame, as_measured, promises_of_kinds
from tests.query.databases import mariadb, postgres

pytestmark = pytest.mark.postgres
ROWS = [
    ("a", 0.0, 1),
    ("a", -0.0, 2),
    ("A", 1.5, 2),
    ("A", 1.5, 3),
    ("á", 1.0, 1),
    ("a\u0301", 1.0, 1),
    ("a ", 1.0, 2**53 + 1),
    (" a", float("nan"), 1),
    (None, float("nan"), 3),
    (None, float("nan"), 2),
    ("", 1.0, 1),
    ("\U0001f600", 1e300, 2),
]


def address(kind):
    if kind == "postgres":
        return postgres().replace("postgresql://", "postgresql+psycopg://")
    return mariadb().replace("mariadb://", "mysql+pymysql://")


@pytest.fixture(scope="module")
def context():
    with project() as made:
        yield made


@pytest.fixture(scope="module", autouse=True)
def any_case():
    """A collation of PostgreSQL's to which letters are alike, as MariaDB's own is."""
    engine = sa.create_engine(address("postgres"))
    with engine.begin() as connection:
        alike = "(provider = icu, locale = 'und-u-ks-level1', deterministic = false)"
        connection.exec_driver_sql(f"CREATE COLLATION IF NOT EXISTS any_case {alike}")
    engine.dispose()


COLLATED = {
    "postgres": {"text": sa.Text(collation="any_case")},
    "mariadb": {"text": sa.VARCHAR(9, collation="utf8mb4_general_ci"), "number": sa.Double()},
}


@pytest.mark.parametrize("kind", COLLATED)
def test_servers_say_what_we_measure(context, kind, tmp_path):
    df, promises = as_frame(ROWS), promises_of_kinds()
    fill(address(kind), df, "law", COLLATED[kind])
    batch = of_table(context, address(kind), "law", name=kind)
    verdicts_found = verdicts(batch, promises)
    assert verdicts_found == [as_measured(df, promise, tmp_path) for promise in promises]
    assert verdicts_found == verdicts(of_frame(context, df), promises)
    assert verdicts_found[0][1]["groups"] == 9
    query = "SELECT * FROM law WHERE number = 1.5"
    of_query = of_table(context, address(kind), "some", name=kind, query=query)
    assert verdicts(of_query, promises[:1]) == [(True, {"k": 2, "groups": 1, "failing": 0})]


HARD = {
    "postgres": [
        "CREATE TYPE mood AS ENUM ('low', 'high')",
        "CREATE DOMAIN place AS text COLLATE any_case",
        "CREATE TABLE hard (c char(4), n numeric, f float8, m mood, p place, d date, j jsonb)",
        "INSERT INTO hard VALUES ('x', 1.0, 'NaN', 'low', 'a', '2020-01-01', '[1]'), "
        "('x ', 1.00, 'NaN', 'low', 'A', '2020-01-03', '[1]'), "
        "('y', 'NaN', NULL, 'high', 'a', NULL, NULL), ('y', 'NaN', NULL, NULL, NULL, NULL, NULL)",
    ],
    "mariadb": [
        "CREATE TABLE hard (c char(4), n decimal(9, 3), f double, m enum('low', 'high'), "
        "p varchar(9) CHARACTER SET latin1 COLLATE latin1_swedish_ci, d date, j varbinary(9))",
        "INSERT INTO hard VALUES ('x', 0, 0e0, 'low', 'a', '2020-01-01', x'ff'), "
        "('x ', -0.0, -0e0, 'low', 'A', '2020-01-03', x'ff'), "
        "('y', 1, 1, 'high', 'a', NULL, x'fe'), ('y', 1, 1, NULL, NULL, NULL, NULL)",
    ],
}
GROUPS = {"c": (2, 2), "n": (2, 2), "f": (2, 2), "m": (1, 3), "p": (1, 3), "d": (1, 3)}


@pytest.mark.parametrize("kind", HARD)
def test_types_of_servers(context, kind):
    engine = sa.create_engine(address(kind))
    with engine.begin() as connection:
        for statement in HARD[kind]:
            connection.exec_driver_sql(statement)
    engine.dispose()
    batch = of_table(context, address(kind), "hard", name=f"hard-{kind}")
    expected = {**GROUPS, "j": (2, 2) if kind == "postgres" else (1, 3)}
    expectations = [ExpectKAnonymity(quasi_identifiers=[name], k=1) for name in expected]
    figures = [(seen["k"], seen["groups"]) for _, seen in verdicts(batch, expectations)]
    assert dict(zip(expected, figures, strict=True)) == expected
    scope = {"quasi_identifiers": ["c"]}
    ordered = [
        ExpectKeAnonymity(**scope, sensitive="d", k=2, e=2),
        ExpectDistinctLDiversity(**scope, sensitive="p", l=2),
    ]
    dates, texts = verdicts(batch, ordered)
    assert dates == (False, {"k": None, "e": None, "groups": 2, "failing": 2})
    assert texts == (True, {"l": 2, "groups": 2, "failing": 0})


def test_columns_of_other_types_are_nobodys_concern(context):
    """Great Expectations cannot name the type of a column that SQLAlchemy does not know."""
    engine = sa.create_engine(address("postgres"))
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE mixed (city text, born date, note xml, at point)")
        connection.exec_driver_sql("INSERT INTO mixed VALUES ('a', NULL, '<a/>', '(1,2)')")
        connection.exec_driver_sql("INSERT INTO mixed VALUES ('a', '2020-01-01', NULL, NULL)")
    engine.dispose()
    batch = of_table(context, address("postgres"), "mixed", name="mixed")
    expectations = [
        ExpectKAnonymity(quasi_identifiers=["city"], k=2),
        ExpectDistinctLDiversity(quasi_identifiers=["city"], sensitive="born", l=2),
        ExpectKAnonymity(quasi_identifiers=["note"], k=1),
        ExpectKAnonymity(quasi_identifiers=["nowhere"], k=1),
    ]
    (*results, nowhere), _ = validate(batch, expectations)
    assert [(result.success, message(result)) for result in results] == [(True, None)] * 3
    assert message(nowhere) == "column 'nowhere' is not in the table"


def test_a_negative_zero_of_mariadb_is_zero(context):
    """A rest may be a decimal that is shown as -0.0."""
    engine = sa.create_engine(address("mariadb"))
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE halves (x decimal(3, 1))")
        connection.exec_driver_sql("INSERT INTO halves VALUES (1.5), (-1.5)")
        connection.exec_driver_sql("CREATE VIEW rests AS SELECT MOD(x, 0.5) AS q FROM halves")
    engine.dispose()
    batch = of_table(context, address("mariadb"), "rests", name="rests")
    expectation = ExpectKAnonymity(quasi_identifiers=["q"], k=2)
    assert verdicts(batch, [expectation]) == [(True, {"k": 2, "groups": 1, "failing": 0})]


def test_texts_that_mariadb_would_compare_in_part_are_refused(context):
    long = "x" * 1100
    df = pd.DataFrame({"text": [f"{long}a", f"{long}b"]})
    fill(address("mariadb"), df, "longs", {"text": sa.Text()})
    batch = of_table(context, address("mariadb"), "longs", name="longs")
    (result,), _ = validate(batch, [ExpectKAnonymity(quasi_identifiers=["text"], k=1)])
    assert not result.success
    assert "column 'text' has texts of more than 1024 bytes" in message(result)


SECRET = "CANARY-9e07"
ADULTS = ["30-39"] * 6 + ["40-49"] * 6


@pytest.mark.parametrize("kind", ["postgres", "mariadb"])
@pytest.mark.parametrize("is_kept", [True, False])
def test_a_project_of_somebody_else(kind, is_kept, tmp_path):
    """Run where there is nothing of ours: what it writes and says has counts, and no value."""
    cities = [f"{SECRET}-city"] * 12 if is_kept else [f"{SECRET}-{n}" for n in range(12)]
    diagnoses = [f"{SECRET}-{n % 3}" for n in range(12)]
    df = pd.DataFrame({"age": ADULTS, "city": cities, "diagnosis": diagnoses})
    short = {name: sa.VARCHAR(40) for name in df}
    fill(address(kind), df, "patients", short)
    program = Path(__file__).with_name("outside.py").resolve()
    command = [sys.executable, "-W", "ignore", str(program), address(kind), "patients"]
    kept_environ = {k: v for k, v in os.environ.items() if not k.startswith("SFUMATO_")}
    done = subprocess.run(
        command, cwd=tmp_path, env=kept_environ, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr[-2000:]
    output = json.loads(done.stdout.splitlines()[-1])
    by_kwargs = {
        (type_, *kwargs["quasi_identifiers"]): rest for type_, kwargs, *rest in output["told"]
    }
    assert by_kwargs == {
        ("expect_k_anonymity", "age", "city"): [
            is_kept,
            {
                "observed_value": {
                    "k": 6 if is_kept else 1,
                    "groups": 2 if is_kept else 12,
                    "failing": 0 if is_kept else 12,
                }
            },
        ],
        ("expect_k_anonymity", "age"): [
            True,
            {"observed_value": {"k": 6, "groups": 2, "failing": 0}},
        ],
        ("expect_distinct_l_diversity", "age"): [
            True,
            {"observed_value": {"l": 3, "groups": 2, "failing": 0}},
        ],
        ("expect_k_anonymity", "nowhere"): [False, {}],
    }
    assert output["success"] is False  # as one column is nowhere
    assert output["statistics"]["evaluated_expectations"] == 4
    written = [path for path in (tmp_path / "gx").rglob("*") if path.is_file()]
    pages = "".join(
        path.read_text(encoding="utf-8", errors="replace")
        for path in written
        if path.suffix in (".html", ".json", ".yml")
    )
    assert "every combination of quasi-identifiers is shown by at least 5 rows" in pages
    assert "quasi-identifiers: age, city" in pages
    assert f"k = {6 if is_kept else 1}, failing = {0 if is_kept else 12}, groups = " in pages
    everything = pages + done.stdout + done.stderr + "".join(map(str, written))
    assert SECRET not in everything
    assert "30-39" not in everything
    assert urlsplit(address(kind)).scheme in pages  # what was read is what was written
