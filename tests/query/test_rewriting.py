"""SQL that is printed at a release runs in databases, or is refused with what to do instead."""

import pytest

import sfumato
from sfumato.expectations.shared.errors import QueryError
from sfumato.flows.cli.main import run
from tests.corpus.lines import CORPUS

PUBLIC = CORPUS / "format-2" / "public"
HIDDEN = "SELECT workclass, COUNT(*) FROM microdata GROUP BY workclass"
REFUSED = {
    "corpus-suppressed": [HIDDEN],
    "corpus-permuted": [
        "SELECT COUNT(*) FROM microdata WHERE age % 0 = 1",
        f"SELECT COUNT(*) FROM microdata WHERE age > {10**45}",
        f"SELECT COUNT(*) FROM microdata WHERE age * {2**63 - 1} > 1",
    ],
}
ASKED = {
    "corpus-suppressed": "SELECT COUNT(*) FROM microdata WHERE workclass = 'Private'",
    "corpus-generalized": "SELECT workclass, COUNT(*) FROM microdata GROUP BY workclass",
    "corpus-permuted": "SELECT AVG(fnlwgt) FROM microdata WHERE age > 30",
}
DIALECTS = ["duckdb", "postgres", "sqlite", "mariadb"]


@pytest.mark.parametrize("line", ASKED)
def test_every_table_that_is_read_is_there(line):
    release = sfumato.open(PUBLIC / line / "0001")
    with release.connect() as connection:
        rows = connection.sql(release.rewrite(ASKED[line])).fetchall()
    answer = [list(row.values()) for row in release.query(ASKED[line])]
    rows_by_key = {tuple(row[:-2]): row[-2:] for row in rows}
    assert set(rows_by_key) == {tuple(row[:-1]) for row in answer}
    for *key, bounds in answer:
        ends = rows_by_key[tuple(key)]
        assert ends[0] <= bounds.lower <= bounds.upper <= ends[1]
        assert ends == pytest.approx((float(bounds.lower), float(bounds.upper)), rel=1e-14)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("line", REFUSED)
def test_what_databases_would_refuse_is_not_printed(line, dialect):
    release = sfumato.open(PUBLIC / line / "0001")
    for query in REFUSED[line]:
        with pytest.raises(QueryError, match="databases would refuse"):
            release.rewrite(query, dialect)


def test_labels_for_any_value_are_named_with_what_to_ask(capsys):
    assert run(["query", str(PUBLIC / "corpus-suppressed" / "0001"), HIDDEN, "--rewrite=sqlite"])
    output = capsys.readouterr()
    assert "column 'workclass'" in output.err
    assert 'WHERE "workclass" = …' in output.err
    assert output.out == ""


def test_others_of_a_file_are_printed(tmp_path, capsys):
    file = tmp_path / "queries.sql"
    file.write_text(f"{HIDDEN};\nSELECT COUNT(*) FROM microdata;\n", encoding="utf-8")
    release = str(PUBLIC / "corpus-suppressed" / "0001")
    assert run(["query", release, "--file", str(file), "--rewrite", "duckdb"]) == 2
    output = capsys.readouterr().out
    assert 'AS "count(*)_lower"' in output
    assert "value_workclass" not in output
