"""The Python face on a release of two related tables: questions without SQL, and what it shows."""

import pytest

import sfumato
from sfumato.flows.api.asking import NamedTables
from tests.flow_here import release_here
from tests.related.hospital import made_up, spec_with

JOINED = 'patients JOIN stays USING ("patient")'
FLU = "stays.patient = patients.patient AND diagnosis = 'flu'"


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    place = tmp_path_factory.mktemp("hospital")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SFUMATO_WORK", str(place / "work"))
        with sfumato.open(release_here(spec_with(place, made_up(5, 60)))) as opened:
            yield opened


@pytest.mark.parametrize(
    ("ask", "sql"),
    [
        (lambda r: r.count(), "SELECT COUNT(*) AS count FROM patients"),
        (
            lambda r: r.count({"sex": "f"}, group_by="age"),
            "SELECT age, COUNT(*) AS count FROM patients WHERE sex = 'f' GROUP BY age",
        ),
        (lambda r: r.count(table="stays"), "SELECT COUNT(*) AS count FROM stays"),
        (
            lambda r: r.count({"sex": "f"}, table="stays"),
            f"SELECT COUNT(*) AS count FROM {JOINED} WHERE sex = 'f'",
        ),
        (
            lambda r: r.count({"diagnosis": "flu"}),
            "SELECT COUNT(*) AS count FROM stays WHERE diagnosis = 'flu'",
        ),
        (
            lambda r: r.count({"diagnosis": "flu", "age": (30, 50)}, group_by=["sex"]),
            f"SELECT sex, COUNT(*) AS count FROM {JOINED} WHERE diagnosis = 'flu' AND age BETWEEN "
            "30 AND 50 GROUP BY sex",
        ),
        (
            lambda r: r.count({"diagnosis": "flu"}, table="patients", group_by="sex"),
            f"SELECT sex, COUNT(DISTINCT patient) AS count FROM {JOINED} WHERE diagnosis = 'flu' "
            "GROUP BY sex",
        ),
        (
            lambda r: r.count(f"age > 40 AND EXISTS (SELECT 1 FROM stays WHERE {FLU})"),
            f"SELECT COUNT(*) AS count FROM patients WHERE age > 40 AND EXISTS (SELECT 1 FROM "
            f"stays WHERE {FLU})",
        ),
        (
            lambda r: r.count("AGE > 40 AND Cost > 5"),
            f"SELECT COUNT(*) AS count FROM {JOINED} WHERE age > 40 AND cost > 5",
        ),
        (lambda r: r.sum("cost"), "SELECT SUM(cost) AS sum FROM stays"),
        (
            lambda r: r.mean("cost", {"age": (30, None)}, group_by="sex"),
            f"SELECT sex, AVG(cost) AS mean FROM {JOINED} WHERE age >= 30 GROUP BY sex",
        ),
        (lambda r: r.median("age"), "SELECT MEDIAN(age) AS median FROM patients"),
        (lambda r: r.min("age"), "SELECT MIN(age) AS min FROM patients"),
        (lambda r: r.max("age"), "SELECT MAX(age) AS max FROM patients"),
    ],
)
def test_a_question_reads_the_tables_of_its_columns(release, ask, sql):
    assert ask(release).document() == release.query(sql).document()


@pytest.mark.parametrize(
    ("ask", "why"),
    [
        (lambda r: r.count({"dx": 1}), "unknown column 'dx'. Published: patients has age, sex"),
        (
            lambda r: r.count(table="microdata"),
            "table: no table 'microdata'. Count patients",
        ),
        (lambda r: r.count("age >"), "syntax error"),
        (lambda r: r.median("cost"), "of related rows has no bounds yet"),
        (lambda r: r.mean("age", {"cost": 3}), "count a person once for each row"),
    ],
)
def test_a_question_that_has_no_answer_names_the_tables(release, ask, why):
    with pytest.raises(sfumato.QueryError) as caught:
        ask(release)
    assert why in str(caught.value)
    assert "microdata" not in str(caught.value).replace("'microdata'", "")


def test_a_release_of_one_table_counts_its_rows():
    from tests.corpus.lines import CORPUS

    release = sfumato.open(CORPUS / "format-2" / "public" / "corpus-permuted" / "0002")
    assert release.count(table="microdata").document() == release.count().document()
    with pytest.raises(sfumato.QueryError, match="this release has one table, microdata"):
        release.count(table="patients")


def test_a_release_shows_the_rows_of_both_tables(release):
    published = len(release.tables["stays"])
    assert f"60 of 60 patients published, {published} of {published} stays" in repr(release)


def test_a_key_of_any_name_joins_the_tables():
    tables = NamedTables("patients", "stays", 'the "key"', ("cost",))
    assert tables.source(["age", "COST"], None) == 'patients JOIN stays USING ("the ""key""")'
    assert tables.count("patients", "patients") == "COUNT(*)"


def test_a_selected_condition_on_rows_is_named_by_its_text(release):
    has = f"EXISTS(SELECT 1 FROM stays WHERE {FLU})"
    query = f"SELECT COUNT(*) FILTER(WHERE {has}), AVG(CASE WHEN {has} THEN 1 ELSE 0 END) FROM "
    names = [f"COUNT(*) FILTER(WHERE {has})", f"AVG(CASE WHEN {has} THEN 1 ELSE 0 END)"]
    assert list(release.query(f"{query} patients").document()["rows"][0]) == names
    written = release.rewrite(f"{query} patients")
    assert not any(ord(letter) < 32 for letter in written.replace("\n", ""))
    with release.connect() as connection:
        columns = connection.sql(written).columns
    assert columns == [f"{name}_{end}" for name in names for end in ("lower", "upper")]
