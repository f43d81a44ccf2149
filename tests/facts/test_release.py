"""Facts of people from the spec to the release: refusals, gates, both verifiers, and every file."""

import json
import shutil
import subprocess
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.expectations.shared.errors import PromiseError, QueryError, SpecError
from sfumato.flows.inputs.spec import json_schema, read_spec
from sfumato.tasks.forms.related import apart
from sfumato.tasks.publication.check import check
from sfumato.tasks.query.ask import answers
from sfumato.tasks.query.rewriting import rewriter
from sfumato.tasks.terms.opened import open_release
from tests.facts.clinic import FACTS, clinic, originals, promises, spec_of_clinic, tables
from tests.flow_here import release_here
from tests.related.drawn import HAS, JOIN, bounds_of_truths
from tests.release.forge import edit

VERIFY = Path(__file__).parents[2] / "deployments" / "verifier" / "verify.mjs"
HOSPITAL = clinic(5, 240)
OF_FACTS = (
    "readmitted",
    "NOT readmitted",
    "times >= 2",
    "total_cost BETWEEN 5 AND 40",
    "days_between > 20",
    "flu_and_gout IS TRUE",
    "admitted",
)
DISTINCT = {"model": "l-diversity", "variant": "distinct", "l": 2}
PROMISED = promises(
    {**DISTINCT, "sensitive": "times"},
    {"model": "l-diversity", "variant": "entropy", "l": 1.1, "sensitive": "readmitted"},
    {"model": "alpha-k", "alpha": 0.9, "k": 3, "sensitive": "admitted"},
    {"model": "ke-anonymity", "k": 2, "e": 5, "sensitive": "total_cost"},
    {"model": "t-closeness", "t": 0.6, "distance": "equal", "sensitive": "flu_and_gout"},
)


def protected_tables():
    """The tables, in which most facts have a promise."""
    both = tables()
    for name, column in both["patients"]["columns"].items():
        if name in FACTS and name != "days_between":
            del column["unprotected"]
    return both


@pytest.fixture(scope="module")
def clinic_release(tmp_path_factory):
    """A release with all facts, and a database with the original tables."""
    place = tmp_path_factory.mktemp("clinic")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SFUMATO_WORK", str(place / "work"))
        directory = release_here(
            spec_of_clinic(
                place,
                HOSPITAL,
                tables=protected_tables(),
                promises=PROMISED,
                evaluate={
                    "workloads": [
                        {"kind": "range", "aggregate": "avg", "of": "total_cost", "over": "age",
                         "spans": [5, 20], "queries": 20},
                        {"kind": "counts", "of": "readmitted", "attributes": 1, "queries": 20},
                        {"kind": "people", "over": "age", "span": 20, "times": [1], "queries": 20},
                    ]
                },
            )
        )  # fmt: skip
    connection = originals(HOSPITAL)
    yield directory, connection
    connection.close()


def draw_question(random: Random) -> str:
    """A question about facts, alone or beside stays."""
    low = random.randint(18, 60)
    people = random.choice([f"age BETWEEN {low} AND {low + 15}", "sex = 'f'", f"age > {low}"])
    fact, other = random.sample(OF_FACTS, 2)
    keys, group = ("sex, ", " GROUP BY sex") if random.random() < 0.3 else ("", "")
    row = random.choice(["diagnosis = 'flu'", "diagnosis <> 'gout'", "cost > 10"])
    has = random.choice(["", "NOT "]) + HAS.format(row)
    shape = random.choice(
        ["alone", "alone", "values", "joined", "joined", "exists", "grouped", "or"]
    )
    match shape:
        case "alone":
            return (
                f"SELECT {keys}COUNT(*) FROM patients WHERE {fact} AND {other} AND {people}{group}"
            )
        case "or":
            return (
                f"SELECT {keys}COUNT(*) FROM patients WHERE ({fact} OR {has}) AND {people}{group}"
            )
        case "values":
            aggregate = random.choice(
                ["SUM(total_cost)", "AVG(times)", "SUM(times)", "MAX(total_cost)"]
            )
            return f"SELECT {keys}{aggregate} FROM patients WHERE {people}{group}"
        case "joined":
            aggregate = random.choice(
                ["COUNT(*)", "COUNT(DISTINCT patient)", "SUM(cost)", "AVG(cost)"]
            )
            return f"SELECT {keys}{aggregate} {JOIN} WHERE {fact} AND {row} AND {people}{group}"
        case "exists":
            return f"SELECT {keys}COUNT(*) FROM patients WHERE {fact} AND {has} AND {people}{group}"
    return f"SELECT readmitted, COUNT(*) {JOIN} WHERE {people} GROUP BY readmitted"


def test_truths_lie_within_bounds(clinic_release):
    directory, connection = clinic_release
    random = Random(8)
    queries = [draw_question(random) for _ in range(500)]
    compared = 0
    for query, answer in zip(queries, answers(open_release(directory), queries), strict=True):
        assert not isinstance(answer, QueryError), (query, answer)
        truths = connection.execute(query).fetchall()
        if any(value is None for *_, value in truths):
            continue
        for bounds, holds in bounds_of_truths(answer, truths):
            assert holds, (query, bounds)
            compared += 1
    assert compared > 500


@pytest.mark.parametrize(
    ("query", "exact"),
    [
        ("SELECT COUNT(*) FROM patients WHERE readmitted", True),
        ("SELECT SUM(total_cost) FROM patients", True),
        ("SELECT times, COUNT(*) FROM patients GROUP BY times ORDER BY times", True),
        ("SELECT MAX(days_between) FROM patients", True),
        ("SELECT COUNT(*) FROM patients WHERE readmitted AND age < 40", False),
        (
            "SELECT 1.0 * SUM(total_cost) / COUNT(*) FROM patients WHERE age BETWEEN 33 AND 47",
            False,
        ),
    ],
)
def test_facts_of_whole_groups_are_exact(clinic_release, query, exact):
    directory, connection = clinic_release
    (answer,) = answers(open_release(directory), [query])
    for bounds, holds in bounds_of_truths(answer, connection.execute(query).fetchall()):
        assert holds
        assert (bounds.lower == bounds.upper) is exact


@pytest.mark.parametrize(
    ("query", "why"),
    [
        (
            f"SELECT SUM(total_cost) FROM patients WHERE {HAS.format('cost > 3')}",
            "by itself, without",
        ),
        (
            f"SELECT AVG(times * 2) FROM patients WHERE {HAS.format('cost > 3')}",
            "by itself, without",
        ),
        (f"SELECT SUM(total_cost) {JOIN}", "once for each row"),
        ("SELECT COUNT(*) FROM stays WHERE readmitted", "is in patients"),
        ("SELECT COUNT(*) FROM patients WHERE readmited", "did you mean 'readmitted'"),
    ],
)
def test_what_has_no_bounds_is_refused_with_what_to_ask(clinic_release, query, why):
    (answer,) = answers(open_release(clinic_release[0]), [query])
    assert isinstance(answer, QueryError)
    assert why in str(answer)


def test_databases_return_the_same_bounds(clinic_release):
    directory, _ = clinic_release
    release = open_release(directory)
    queries = [
        "SELECT COUNT(*) FROM patients WHERE readmitted AND age < 40",
        "SELECT sex, SUM(total_cost) AS n FROM patients WHERE age > 30 GROUP BY sex ORDER BY sex",
        "SELECT COUNT(*) FROM patients WHERE readmitted AND times >= 2 AND age < 40",
        "SELECT SUM(times) AS n FROM patients WHERE flu_and_gout AND age < 60",
        "SELECT MAX(days_between) AS most FROM patients WHERE age < 60",
    ]
    with rewriter(release) as opened:
        for query, answer in zip(queries, answers(release, queries), strict=True):
            rows = opened.connection.execute(opened.sql(query)).fetchall()
            expected = [
                [end for cell in row.values() for end in ([cell] if isinstance(cell, str) else
                 [cell.lower, cell.upper])]
                for row in answer.rows
            ]  # fmt: skip
            assert [list(row) for row in rows] == expected
        for dialect in ("postgres", "sqlite", "mariadb"):
            assert "help_" in opened.sql(queries[1], dialect)


def test_the_release_says_how_facts_were_computed(clinic_release):
    directory, _ = clinic_release
    manifest = json.loads((directory / "datapackage.json").read_text(encoding="utf-8"))
    declared = manifest["sfumato"]
    assert declared["format"] == 16
    stated = {c["name"]: c["derive"] for c in declared["columns"] if "derive" in c}
    assert stated == {name: sql for name, (_, sql) in FACTS.items()}
    page = (directory / "index.html").read_text(encoding="utf-8")
    assert "shuffled within each group, each by itself" in page
    assert "from the related rows of each person" in page
    assert "An attacker who knows how many rows each person has, or one of the facts" in page
    check(directory)


def test_only_facts_are_in_another_order(clinic_release):
    directory, connection = clinic_release
    people = pq.read_table(directory / "data" / "patients.parquet")
    for name in FACTS:
        values = sorted(people[name].to_pylist(), key=lambda v: (v is None, v or 0))
        truths = [v for (v,) in connection.execute(f"SELECT {name} FROM patients").fetchall()]
        assert values == sorted(truths, key=lambda v: (v is None, v or 0))


@pytest.mark.node
def test_both_verifiers_agree(clinic_release, tmp_path):
    directory, _ = clinic_release

    def verdict(release):
        command = ["node", str(VERIFY), str(release), "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return json.loads(done.stdout)

    assert verdict(directory)["verdict"] == "valid"
    changes = {
        "milder": lambda d: next(
            p for p in d["promises"] if p["model"] == "related-l-diversity"
        ).pop("facts"),
        "no fact": lambda d: next(c for c in d["columns"] if c["name"] == "times").pop("derive"),
        "another fact": lambda d: next(c for c in d["columns"] if c["name"] == "total_cost").update(
            derive="COUNT(*)"
        ),
    }
    for name, change in changes.items():
        place = tmp_path / name / directory.parent.name / directory.name
        shutil.copytree(directory, place)
        edit(place, lambda document, change=change: change(document["sfumato"]))
        with pytest.raises(PromiseError):
            check(place)
        assert verdict(place)["verdict"] == "refused", name


def test_the_gate_refuses_facts_in_another_group(tmp_path, monkeypatch):
    """Facts are exchanged between groups: every count over all groups stays as it is."""
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    published = apart.publish

    def publish_exchanged(*arguments):
        tables_ = dict(published(*arguments))
        people = tables_["patients"]
        ids, costs = people["group_id"].to_pylist(), people["total_cost"].to_pylist()
        other = next(i for i in range(len(ids)) if ids[i] != ids[0] and costs[i] != costs[0])
        costs[0], costs[other] = costs[other], costs[0]
        place = people.column_names.index("total_cost")
        changed = people.set_column(place, "total_cost", pa.array(costs, pa.int64()))
        return {**tables_, "patients": changed}

    monkeypatch.setattr(apart, "publish", publish_exchanged)
    spec = spec_of_clinic(tmp_path, clinic(2, 60), tables=tables("total_cost"))
    with pytest.raises(PromiseError, match="a fact is published in another group"):
        release_here(spec)


def test_facts_together_stay_together(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    hospital = clinic(6, 80)
    names = ("times", "total_cost", "readmitted")
    directory = release_here(
        spec_of_clinic(tmp_path, hospital, tables=tables(*names, together=True))
    )
    people = pq.read_table(directory / "data" / "patients.parquet")
    rows = sorted(zip(*(people[name].to_pylist() for name in names), strict=True))
    connection = originals(hospital)
    assert rows == sorted(connection.execute(f"SELECT {', '.join(names)} FROM patients").fetchall())
    query = "SELECT COUNT(*) FROM patients WHERE times >= 2 AND total_cost < 30"
    (answer,) = answers(open_release(directory), [query])
    (bounds,) = answer.rows[0].values()
    assert bounds.lower == bounds.upper == connection.execute(query).fetchone()[0]
    check(directory)


def tables_with(name, **changes):
    """The tables with one fact, some of whose keys are others."""
    both = tables(name)
    column = {**both["patients"]["columns"][name], **changes}
    both["patients"]["columns"][name] = {k: v for k, v in column.items() if v is not None}
    return both


def beside_stays(**columns):
    both = tables("times")
    both["stays"]["columns"].update(columns)
    return both


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (
            {"tables": tables("total_cost"), "promises": promises(numbers="known")},
            r"promises.1.numbers: known cannot be kept beside the fact total_cost, which is "
            r"computed from cost, published in stays.*`numbers: hidden`.*or give cost role drop",
        ),
        (
            {"tables": tables_with("times", derive="COUNT(x)")},
            r"tables.patients.columns.times.derive: unknown column 'x'. It can read diagnosis, ",
        ),
        ({"tables": tables_with("times", derive="AVG(cost)")}, "floating-point"),
        (
            {"tables": tables_with("times", role="quasi-identifier", unprotected=None)},
            "a fact of a person is sensitive",
        ),
        ({"tables": tables_with("times", type="string")}, "a fact is boolean, integer or decimal"),
        (
            {"tables": tables_with("times", range={"min": 0})},
            r"times.range: the limits of the source",
        ),
        (
            {"tables": beside_stays(n={"role": "sensitive", "derive": "COUNT(*)"})},
            "columns of patients",
        ),
        (
            {"promises": promises({"model": "k-anonymity", "k": 3})},
            "k-anonymity is about one table",
        ),
        (
            {"promises": promises({**DISTINCT, "sensitive": "diagnosis"})},
            "is about the facts of people, and diagnosis is a column of stays",
        ),
        (
            {"promises": promises({"model": "related-alpha", "alpha": 0.5, "sensitive": "times"})},
            "times is a fact of people, and related-alpha is about rows of stays",
        ),
        (
            {
                "evaluate": {
                    "workloads": [{"kind": "people", "over": "age", "span": 5, "of": "times"}]
                }
            },
            "times is a fact of people. Use `kind: range`",
        ),
    ],
)
def test_specs_are_refused_with_what_to_write(tmp_path, changes, why):
    with pytest.raises(SpecError, match=why):
        read_spec(spec_of_clinic(tmp_path, clinic(1, 30), **changes))


def test_a_fact_without_a_promise_needs_a_reason(tmp_path):
    both = tables("times")
    del both["patients"]["columns"]["times"]["unprotected"]
    with pytest.raises(SpecError, match="times"):
        read_spec(spec_of_clinic(tmp_path, clinic(1, 30), tables=both))


def test_one_table_has_no_facts(tmp_path):
    both = tables("times")
    changes = {
        "tables": None,
        "source": {"uri": "patients.csv"},
        "columns": both["patients"]["columns"],
        "promises": [{**DISTINCT, "sensitive": "times"}],
        "form": {"method": "permuted"},
        "unit": "patient",
    }
    with pytest.raises(SpecError, match="computed from the rows of a second table"):
        read_spec(spec_of_clinic(tmp_path, clinic(1, 30), **changes))


@pytest.mark.parametrize(
    ("names", "facts"),
    [
        (("times",), "numbers"),
        (("admitted",), "presence"),
        (("admitted", "times"), "numbers"),
        (("times", "readmitted"), "any"),
    ],
)
def test_promises_are_judged_with_what_facts_tell(tmp_path, names, facts):
    spec = read_spec(spec_of_clinic(tmp_path, clinic(1, 30), tables=tables(*names)))
    assert spec.scoped_promises()[1].facts == facts


def test_numbers_may_be_known_beside_facts_of_columns_that_are_not_published(tmp_path):
    both = tables("times", "admitted", "readmitted", "days_between")
    spec = read_spec(
        spec_of_clinic(tmp_path, clinic(1, 30), tables=both, promises=promises(numbers="known"))
    )
    assert spec.scoped_promises()[1].facts == "none"


def test_editors_know_the_keys_of_facts(tmp_path):
    jsonschema = pytest.importorskip("jsonschema")
    from tests.related.hospital import spec_of_hospital

    validator = jsonschema.Draft202012Validator(json_schema())
    spec = {**spec_of_hospital(tmp_path), "promises": promises()}
    assert list(validator.iter_errors({**spec, "tables": tables(together=True)})) == []
    wrong = tables()
    wrong["stays"]["sensitive"] = "together"
    assert list(validator.iter_errors({**spec, "tables": wrong}))
