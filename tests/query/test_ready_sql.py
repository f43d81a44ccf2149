from hashlib import sha256

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.tasks.forms.form_parameters import SplitParameters
from sfumato.tasks.query.ask import answer, answer_on
from sfumato.tasks.query.help_tables.rows import help_tables
from sfumato.tasks.query.ready_sql import duckdb_script
from sfumato.tasks.schema.formats import LAYOUT, software
from sfumato.tasks.terms.opened import Release
from tests.query.asked import FORMS
from tests.query.asked import declare as declare_all
from tests.query.releases import write
from tests.query.worlds import column, declare, with_help

LOSSES = declare(
    sex=column("quasi-identifier", "string", nulls=True),
    loss=column("sensitive", "integer"),
    day=column("sensitive", "date"),
)
TABLE = pa.table(
    {
        "sex": ["f", "f", "m", None],
        "loss": [1, 2, 3, 4],
        "day": pa.array([1, 2, 3, 4], pa.date32()),
        "group_id": [0, 1, 0, 1],
    }
)


def run(release, script, monkeypatch):
    """The script's results, as DuckDB gives them in the release's directory."""
    monkeypatch.chdir(release.directory)
    with duckdb.connect() as connection:
        results = [connection.execute(statement) for statement in duckdb.extract_statements(script)]
        return [result.fetchall() for result in results[-1:]], connection.execute(
            "SELECT count(*) FROM microdata JOIN help_loss USING (group_id)"
        ).fetchone()


def test_the_script_runs_in_the_directory_of_the_release(tmp_path, monkeypatch):
    release = write(tmp_path / "release", TABLE, LOSSES)
    (by_sex,), joined = run(release, duckdb_script(LOSSES), monkeypatch)
    query = "SELECT sex, COUNT(*), AVG(loss) FROM microdata GROUP BY sex"
    expected = {
        (
            row["sex"],
            *(float(side) for name in ("count(*)", "avg(loss)") for side in sides(row[name])),
        )
        for row in answer_on(with_help(TABLE, "loss"), LOSSES, query).rows
    }
    assert {tuple(row) for row in by_sex} == expected
    assert joined == (8,)


def sides(bounds):
    return bounds.lower, bounds.upper


def test_the_script_is_a_function_of_what_is_declared():
    script = duckdb_script(LOSSES)
    assert script == duckdb_script(LOSSES.model_copy(deep=True))
    assert script.count("CREATE OR REPLACE VIEW") == 3
    divided = script.replace(" // ", "").replace(" / ", "")
    assert "/" not in divided.replace("data/", "").replace("sql/", "")


def test_scripts_of_earlier_layouts_stay_as_they_were():
    """Means in them are rounded to the nearest float; a check makes the same bytes again."""
    earlier = LOSSES.model_copy(update={"software": {**software(), LAYOUT: "5"}})
    script, now = duckdb_script(earlier), duckdb_script(LOSSES)
    assert 'SUM(help_loss.l_sum) / SUM(selected.hits) AS "avg(loss)_lower"' in script
    assert "1.1102230246251568e-16" in now
    assert "e-16" not in script


@pytest.mark.parametrize("type_", ["date", "string", "timestamp", "boolean"])
def test_columns_without_sums_have_examples_too(type_):
    declared = declare(age=column("quasi-identifier", "integer"), s=column("sensitive", type_))
    assert "MAX(help_s.u_max)" in duckdb_script(declared)


def test_names_cannot_leave_their_comments():
    name = "a\nDROP VIEW microdata; --"
    declared = declare(s=column("sensitive", "integer"))
    columns = {name: column("quasi-identifier", "string"), **declared.columns}
    script = duckdb_script(declared.model_copy(update={"columns": columns, "title": "x\n; y"}))
    statements = duckdb.extract_statements(script)
    assert len(statements) == 4
    assert not any(str(each.query).lstrip().startswith("DROP") for each in statements)


QIT = TABLE.select(["sex", "group_id"])
APART = {
    "qit": QIT,
    "st_loss": pa.table({"group_id": [0, 1, 1], "loss": [1, 2, 4], "count": [2, 1, 1]}),
    "st_day": pa.table(
        {
            "group_id": [0, 0, 1, 1],
            "day": pa.array([1, 3, 2, 4], pa.date32()),
            "count": [1, 1, 1, 1],
        }
    ),
}
TOGETHER = {
    "qit": QIT,
    "st": pa.table(
        {
            "group_id": [0, 1, 1],
            "loss": [1, 2, 4],
            "day": pa.array([1, 2, 4], pa.date32()),
            "count": [2, 1, 1],
        }
    ),
}


@pytest.mark.parametrize(("sensitive", "tables"), [("independent", APART), ("together", TOGETHER)])
def test_the_script_of_a_split_release_runs(tmp_path, monkeypatch, sensitive, tables):
    form = SplitParameters(method="split", sensitive=sensitive)
    declared = LOSSES.model_copy(update={"form": form})
    helping = help_tables(tables, declared.names_with_roles("sensitive"))
    for place, folder_tables in (("data", tables), ("sql", helping)):
        (tmp_path / place).mkdir()
        for name, table in folder_tables.items():
            pq.write_table(table, tmp_path / place / f"{name}.parquet")
    script = duckdb_script(declared)
    monkeypatch.chdir(tmp_path)
    with duckdb.connect() as connection:
        *_, (whole,), by_sex = [
            connection.execute(statement).fetchall()
            for statement in duckdb.extract_statements(script)
        ]
        views = {name for (name,) in connection.execute("SHOW TABLES").fetchall()}
    assert views == {*tables, *helping}
    assert whole == (4, 4, 2, 2)
    query = "SELECT sex, COUNT(*), AVG(loss) FROM microdata GROUP BY sex"
    rows = answer_on(tables | helping, declared, query).rows
    expected = {
        (row["sex"], *(float(s) for name in ("count(*)", "avg(loss)") for s in sides(row[name])))
        for row in rows
    }
    assert {tuple(row) for row in by_sex} == expected
    comment = " ".join(script.split("CREATE")[0].replace("--", " ").split())
    assert f"stand in {' and '.join(name for name in tables if name != 'qit')}." in comment
    assert "microdata holds" not in comment
    opened = answer(Release(tmp_path, declared, {}), query)
    assert opened.rows == rows


def test_releases_of_earlier_layouts_keep_their_bytes():
    """The digest is of what software of layout 5 wrote for these declarations."""
    scripts = {}
    for form in FORMS:
        for missing in (False, True):
            declared = declare_all(*form, missing=missing).model_copy(
                update={"software": {LAYOUT: "5"}}
            )
            for name in declared.names_with_roles("sensitive"):
                columns = {
                    other: column
                    for other, column in declared.columns.items()
                    if column.role != "sensitive" or other == name
                }
                alone = declared.model_copy(update={"columns": columns})
                scripts[f"{form} {missing} {name}"] = duckdb_script(alone)
            scripts[f"{form} {missing} all"] = duckdb_script(declared)
    text = "\n".join(f"{name}\n{scripts[name]}" for name in sorted(scripts))
    assert sha256(text.encode()).hexdigest() == WRITTEN_BEFORE


WRITTEN_BEFORE = "8505a9e8fd2e95f95891e70016ae38c0eeb3d5429454365c06537754b87edf76"
