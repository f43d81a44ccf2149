"""Questions about people and their related rows in databases: the same bounds as the engine's.

Groups are small, and in many of them one person has most of the rows: then there are numbers of
rows that a person's presence makes impossible.
"""

from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import product
from random import Random

import pyarrow as pa
import pytest

import sfumato
from sfumato.expectations.shared.errors import QueryError
from sfumato.flows.cli.main import run
from sfumato.tasks.query.ask import answer_on, answers
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.load import load
from sfumato.tasks.query.rewrite import rewrite
from sfumato.tasks.sql.target import target
from sfumato.tasks.terms.opened import open_release
from tests.corpus.lines import CORPUS
from tests.query.asked import on_disk
from tests.query.dialect_laws import LOCAL, SERVERS, address, assert_same_rows
from tests.query.test_exact_in_databases import sides
from tests.query.worlds import column, declare, shape
from tests.related.drawn import HAS, JOIN, drawn_query
from tests.related.hospital import DIAGNOSES

FORM = shape(
    "apart", people="patients", related="stays", key="patient", columns=("diagnosis", "cost", "day")
)
COSTS = {
    "integer": {},
    "decimal": {"scale": 2, "nulls": True},
    "float": {},
}
LARGE = 2**55
PUBLISHED = CORPUS / "format-15" / "public" / "corpus-apart" / "0001"
_COUNTED = "WITH n AS (SELECT patient, COUNT(*) AS times FROM stays GROUP BY patient) SELECT {} "
COUNTED = f"{_COUNTED}FROM patients JOIN n USING (patient) WHERE {{}}"
ASKED = (
    "SELECT COUNT(*), AVG(age), MAX(born), COUNT(DISTINCT age) FROM patients",
    "SELECT sex, COUNT(*), AVG(age) FROM patients GROUP BY sex ORDER BY sex DESC LIMIT 1",
    "SELECT age // 10 AS decade, COUNT(*) FROM patients GROUP BY 1 ORDER BY 1",
    f"SELECT age // 10 AS decade, COUNT(*), SUM(cost) {JOIN} WHERE diagnosis = 'flu' GROUP BY 1",
    f"SELECT COUNT(*), SUM(cost), AVG(cost), COUNT(DISTINCT patient) {JOIN} WHERE age > 40",
    f"SELECT sex, diagnosis, COUNT(*), AVG(cost), COUNT(DISTINCT patient) {JOIN} GROUP BY 1, 2",
    "SELECT diagnosis, COUNT(*), SUM(cost) FROM stays WHERE day >= DATE '2020-01-10' GROUP BY 1",
    "SELECT day, COUNT(DISTINCT patient) FROM stays GROUP BY day ORDER BY day",
    f"SELECT sex, COUNT(cost), SUM(cost) {JOIN} WHERE born < DATE '1980-01-01' GROUP BY sex",
    f"SELECT COUNT(*) FILTER (WHERE age > 30), COUNT(*) FILTER (WHERE cost > 5), COUNT(*) {JOIN}",
    f"SELECT sex, SUM(cost) FILTER (WHERE diagnosis = 'flu'), AVG(cost) {JOIN} GROUP BY sex",
    f"SELECT 1.0 * COUNT(*) FILTER (WHERE diagnosis = 'flu') / COUNT(*) {JOIN} WHERE sex = 'f'",
    f"SELECT COUNT(*) {JOIN} WHERE age > 50 OR diagnosis = 'flu'",
    f"SELECT SUM(cost), AVG(cost), COUNT(*), COUNT(DISTINCT patient) {JOIN} WHERE age > 999",
    f"SELECT SUM(cost), COUNT(*) {JOIN} WHERE sex IS NULL AND diagnosis LIKE 'g%'",
    "SELECT COUNT(*) FROM patients, stays WHERE stays.patient = patients.patient AND age > 40",
    f"SELECT sex, COUNT(*) FILTER (WHERE {HAS.format('cost > 3')}), COUNT(*) FROM patients "
    "GROUP BY sex",
    f"SELECT COUNT(*) FROM patients WHERE {HAS.format('cost > 3')} AND NOT "
    f"{HAS.format('cost > 3')}",
    f"SELECT COUNT(*) FROM patients WHERE age > 40 OR {HAS.format('cost > 3')}",
    COUNTED.format("sex, COUNT(*)", "times BETWEEN 2 AND 3 GROUP BY sex"),
    COUNTED.format("COUNT(*)", "times IN (1, 3) AND age > 40"),
    COUNTED.format("COUNT(*)", "times = 2"),
    COUNTED.format("COUNT(*)", "times < 3"),
    COUNTED.format("COUNT(*)", "times > 0"),
)
EXACT_SUM = f"SELECT SUM(cost) {JOIN} WHERE age > 50 OR diagnosis = 'flu'"
CLAUSES = ("COUNT(*) > 3", "SUM(cost) > 10 AND COUNT(*) < 20", "AVG(cost) >= 5", "COUNT(*) = 2")


def draw_groups(random, groups):
    """For each group, the numbers of its people's rows."""
    for _ in range(groups):
        rows = [int(random.random() < 0.4) for _ in range(random.randint(2, 5))]
        rows[random.randrange(len(rows))] += random.randint(0, 5)
        yield rows


def draw_cost(random, kind):
    if kind == "decimal":
        return None if random.random() < 0.1 else Decimal(random.randint(-900, 3000)).scaleb(-2)
    return random.randint(-9, 30) if kind == "integer" else random.uniform(-9, 30)


@cache
def hospital(kind, size=1):
    """The declaration of a release of a hospital, and its tables; costs are times a size."""
    random, people, stays, counts = Random(f"{kind}"), [], [], []
    for group, numbers in enumerate(draw_groups(random, 14)):
        counts.append((group, len(numbers), sum(numbers), max(numbers)))
        for _ in numbers:
            sex = random.choice(["f", "m", None])
            people.append((random.randint(18, 80), sex, random.randint(0, 9_000), group))
        for _ in range(sum(numbers)):
            cost = draw_cost(random, kind)
            stays.append(
                (
                    random.choice(DIAGNOSES),
                    cost if size == 1 else size * cost,
                    18_262 + random.randint(0, 20),
                    group,
                )
            )
    cost = column("sensitive", kind, **COSTS[kind])
    declared = declare(
        age=column("quasi-identifier", "integer"),
        sex=column("quasi-identifier", "string", nulls=True),
        born=column("quasi-identifier", "date"),
        diagnosis=column("sensitive", "string"),
        cost=cost,
        day=column("sensitive", "date"),
    ).model_copy(update={"form": FORM})
    types = [pa.int64(), pa.string(), pa.date32(), pa.int64()]
    of_stays = [pa.string(), cost.arrow_type, pa.date32(), pa.int64()]
    tables = {
        "patients": table_of(("age", "sex", "born", "group_id"), types, people),
        "stays": table_of(("diagnosis", "cost", "day", "group_id"), of_stays, stays),
        "group_counts": table_of(
            ("group_id", "people", "related_rows", "most_rows"), [pa.int64()] * 4, counts
        ),
    }
    return declared, tables


def table_of(names, types, rows):
    columns = zip(names, types, zip(*rows, strict=True), strict=True)
    return pa.table({name: pa.array(values, type_) for name, type_, values in columns})


@cache
def questions_of(kind, many):
    """Queries about a hospital: as they are rewritten, and the engine's answer."""
    declared, tables = hospital(kind)
    random = Random(f"queries of {kind}")
    exact = [EXACT_SUM] if kind != "float" else []
    queries = dict.fromkeys([*exact, *ASKED, *(drawn_query(random) for _ in range(many))])
    return [
        (query, rewrite(query, declared), answer_on(tables, declared, query)) for query in queries
    ]


def load_hospital(kind, cost, directory, size=1):
    """The address of a database that has a hospital's tables."""
    declared, tables = hospital(cost, size)
    directory.mkdir(exist_ok=True)
    url = address(kind, directory)
    load(on_disk(directory / "release", tables, declared), url, replace=True)
    return url


def require_outward(rows, answer, query):
    """Check that no bound is within the engine's, which are exact."""
    compared = 0
    key_of = {
        tuple(value for value in row.values() if not isinstance(value, Bounds)): row
        for row in answer.rows
    }
    for row in rows:
        keys = len(row) - 2 * sum(isinstance(v, Bounds) for v in answer.rows[0].values())
        if not keys:
            bounds = [v for v in answer.rows[0].values() if isinstance(v, Bounds)]
        elif tuple(row[:keys]) in key_of:
            bounds = [v for v in key_of[tuple(row[:keys])].values() if isinstance(v, Bounds)]
        else:
            continue
        for place, ends in enumerate(bounds):
            low, high = row[keys + 2 * place : keys + 2 * place + 2]
            if isinstance(ends.lower, int | float | Decimal | Fraction):
                assert Fraction(low) <= Fraction(ends.lower), query
                assert Fraction(high) >= Fraction(ends.upper), query
                compared += 1
    return compared


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("kind", LOCAL)
def test_databases_give_the_bounds_of_the_engine(kind, cost, tmp_path):
    compared = rows_compared = 0
    with target(load_hospital(kind, cost, tmp_path)) as database:
        for query, rewritten, answer in questions_of(cost, 70):
            rows = database.execute(rewritten.sql(kind))
            assert_same_rows(rows, sides(answer), query)
            compared += require_outward(rows, answer, query)
            rows_compared += len(rows)
    assert compared > 110
    assert rows_compared > 150


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("kind", SERVERS)
def test_servers_give_the_bounds_of_the_engine(kind, cost, tmp_path):
    with target(load_hospital(kind, cost, tmp_path)) as database:
        for query, rewritten, answer in questions_of(cost, 70)[:45]:
            rows = database.execute(rewritten.sql(kind))
            assert_same_rows(rows, sides(answer), query)
            require_outward(rows, answer, query)


@pytest.mark.parametrize("kind", [*LOCAL, *SERVERS])
def test_certain_and_possible_rows_are_those_of_the_engine(kind, tmp_path):
    declared, tables = hospital("integer")
    read_twice = 0
    with target(load_hospital(kind, "integer", tmp_path)) as database:
        for keys, clause in product(("diagnosis", "sex, age // 20"), CLAUSES):
            query = f"SELECT {keys}, COUNT(*) {JOIN} WHERE age > 25 GROUP BY {keys} HAVING {clause}"
            answer = answer_on(tables, declared, query)
            for reading in ("possible", "certain"):
                expected = [
                    row
                    for row, certain in zip(sides(answer), answer.certain, strict=True)
                    if certain or reading == "possible"
                ]
                rows = database.execute(rewrite(query, declared, reading).sql(kind))
                assert_same_rows(rows, expected, (query, reading))
            read_twice += 0 < sum(answer.certain) < len(answer.rows)
    assert read_twice


@pytest.mark.parametrize("kind", LOCAL)
def test_sums_that_are_too_long_for_integers_are_rounded_outwards(kind, tmp_path):
    declared, tables = hospital("integer", LARGE)
    queries = [f"SELECT SUM(cost), AVG(cost) {JOIN} WHERE {w}" for w in ("age > 40", "sex = 'f'")]
    with target(load_hospital(kind, "integer", tmp_path, LARGE)) as database:
        for query in queries:
            answer = answer_on(tables, declared, query)
            rows = database.execute(rewrite(query, declared).sql(kind))
            assert_same_rows([[float(v) for v in row] for row in rows], floats(answer), query)
            assert require_outward(rows, answer, query) == 2


def floats(answer):
    return [[float(value) for value in row] for row in sides(answer)]


def test_groups_in_which_some_numbers_of_rows_are_impossible_are_asked():
    """Somebody with most of a group's rows is hit, with all of them, or is not."""
    _, tables = hospital("integer")
    columns = tables["group_counts"].to_pydict()
    pairs = zip(columns["most_rows"], columns["related_rows"], strict=True)
    assert sum(2 * most > rows + 1 for most, rows in pairs) > 3


REFUSED = {
    f"SELECT sex, COUNT(*) {JOIN} GROUP BY sex LIMIT 1": "LIMIT of rows that may not be",
    f"SELECT sex, COUNT(*) {JOIN} GROUP BY sex ORDER BY COUNT(*)": "ORDER BY of columns that have",
    "SELECT SUM(cost * 2) FROM stays": "a calculation with sensitive values",
    f"SELECT AVG(cost) {JOIN} WHERE age > 30 OR diagnosis = 'flu'": "AVG where OR joins",
    f"SELECT SUM(cost) / COUNT(DISTINCT patient) {JOIN}": "a calculation with aggregates",
    f"SELECT MAX(cost) {JOIN}": "Ask for COUNT, SUM or AVG",
    f"SELECT COUNT(DISTINCT diagnosis) {JOIN}": "values that are published apart",
    "SELECT COUNT(*) FROM patients UNION ALL SELECT COUNT(*) FROM stays": "several questions",
    "SELECT COUNT(*) FROM microdata": "unknown table",
}


@pytest.mark.parametrize("query", REFUSED)
def test_other_queries_are_refused_with_what_to_ask(query):
    with pytest.raises(QueryError, match="Ask") as error:
        rewrite(query, hospital("integer")[0])
    assert REFUSED[query] in str(error.value)


def test_sqlite_compares_no_sums_of_decimals_of_two_tables():
    query = f"SELECT sex, COUNT(*) {JOIN} GROUP BY sex HAVING SUM(cost) > 1"
    declared = hospital("decimal")[0]
    cost = declared.columns["cost"].model_copy(update={"nulls": False})
    never_null = declared.model_copy(update={"columns": {**declared.columns, "cost": cost}})
    rewritten = rewrite(query, never_null)
    assert rewritten.sql("postgres")
    with pytest.raises(QueryError, match="HAVING with a sum or mean of decimals"):
        rewritten.sql("sqlite")


@pytest.mark.parametrize("name", ["celled", "hit_rows", "runs_0"])
def test_names_of_tables_that_are_names_of_parts(name):
    form = FORM.model_copy(update={"related": name})
    declared = hospital("integer")[0].model_copy(update={"form": form})
    with pytest.raises(QueryError, match=f"the name of the table {name}. Ask with"):
        rewrite(f"SELECT COUNT(*) FROM {name}", declared)


OTHER_NAMES = {"age": "hits", "sex": "k0", "born": "cell", "diagnosis": "c", "cost": "times"}
OTHERS = (
    "SELECT hits, COUNT(*) FROM patients WHERE k0 = 'f' GROUP BY hits",
    f"SELECT hits, k0, SUM(times) {JOIN} WHERE c = 'flu' GROUP BY hits, k0",
    f"SELECT k0, c, SUM(times), AVG(times), COUNT(*) {JOIN} WHERE hits > 30 GROUP BY k0, c",
    f"SELECT hits, cell, COUNT(*), COUNT(DISTINCT patient) {JOIN} WHERE times > 5 GROUP BY 1, 2",
    f"SELECT v, COUNT(*), SUM(times) {JOIN} WHERE cell < DATE '1990-01-01' GROUP BY v",
    f"SELECT times, COUNT(*), AVG(times) {JOIN} WHERE hits > 30 AND times > 20 GROUP BY times",
    f"SELECT hits, COUNT(*) FROM patients WHERE {HAS.format('times > 3')} GROUP BY hits",
)


@pytest.mark.parametrize("kind", [*LOCAL, *SERVERS])
def test_columns_may_have_the_names_of_columns_of_parts(kind, tmp_path):
    declared, tables = hospital("integer")
    names = {**OTHER_NAMES, "day": "v"}
    columns = {names[name]: column_ for name, column_ in declared.columns.items()}
    form = FORM.model_copy(update={"columns": ("c", "times", "v")})
    declared = declared.model_copy(update={"columns": columns, "form": form})
    tables = {
        name: table.rename_columns([names.get(old, old) for old in table.column_names])
        for name, table in tables.items()
    }
    url = address(kind, tmp_path)
    load(on_disk(tmp_path / "release", tables, declared), url, replace=True)
    with target(url) as database:
        for query in OTHERS:
            expected = sides(answer_on(tables, declared, query))
            assert_same_rows(database.execute(rewrite(query, declared).sql(kind)), expected, query)


@pytest.mark.parametrize("kind", [*LOCAL, *SERVERS])
def test_the_sql_of_a_published_release_runs_where_it_is_load_hospital(kind, tmp_path, capsys):
    release = open_release(PUBLISHED)
    url = address(kind, tmp_path)
    assert run(["load", str(PUBLISHED), url, "--replace"]) == 0
    capsys.readouterr()
    people, related, key = (getattr(release.declared.form, n) for n in ("people", "related", "key"))
    queries = [
        f"SELECT COUNT(*), COUNT(DISTINCT {key}) FROM {people} JOIN {related} USING ({key})",
        f"SELECT COUNT(*) FROM {people} WHERE {key} IN (SELECT {key} FROM {related})",
    ]
    with target(url) as database:
        for query, answer in zip(queries, answers(release, queries), strict=True):
            assert run(["query", str(PUBLISHED), query, "--rewrite", kind]) == 0
            rows = database.execute(capsys.readouterr().out)
            assert_same_rows(rows, sides(answer), query)
            ((lower, upper, *_),) = rows
            assert 0 < lower <= upper


def test_ready_sql_of_a_published_release_runs(monkeypatch):
    monkeypatch.chdir(PUBLISHED)
    with sfumato.open(PUBLISHED).connect() as connection:
        statements = (PUBLISHED / "sql" / "duckdb.sql").read_text(encoding="utf-8")
        for statement in connection.extract_statements(statements):
            rows = connection.execute(statement).fetchall()
    assert sum(count for _, count in rows) > 0
