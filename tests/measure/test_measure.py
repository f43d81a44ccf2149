"""`sfumato measure` on files as people have them: CSV, Parquet, partitions, patterns, nulls."""

import json
import math
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.models.delta_presence import DeltaPresence
from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.models.l_diversity import DistinctLDiversity
from sfumato.expectations.shared.errors import InputError, SpecError
from sfumato.flows.cli.main import run
from sfumato.tasks.microdata.inferred_table import Written, read_inferred
from sfumato.tasks.schema.columns import TYPES
from sfumato.tasks.stages.measure import measure

PATIENTS = [
    ("1305*", "<30", "heart"),
    ("1305*", "<30", "heart"),
    ("1305*", "<30", "viral"),
    ("1305*", "<30", "viral"),
    ("1485*", ">=40", "cancer"),
    ("1485*", ">=40", "heart"),
    ("1485*", ">=40", "viral"),
    ("1485*", ">=40", "viral"),
    ("130**", "3*", "cancer"),
    ("130**", "3*", "cancer"),
    ("130**", "3*", "cancer"),
    ("130**", "3*", "cancer"),
]


@pytest.fixture
def patients(tmp_path):
    path = tmp_path / "patients.csv"
    lines = ["zip,age,condition", *(",".join(row) for row in PATIENTS)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_the_inpatient_table(patients):
    report = measure(str(patients), ["zip", "age"], ["condition"])
    assert (report["rows"], report["groups"], report["k"]) == (12, 3, 4)
    assert report["l"] == {"distinct": 1, "entropy": 1, "recursive_c": {"2": None, "3": None}}
    assert report["t"]["equal"] == pytest.approx(7 / 12)
    assert report["t"]["ordered"] is None
    assert (report["alpha"], report["ke"]) == (1, {"k": 1, "e": None})
    assert report["delta"] is None  # no row of the last group has heart
    assert report["risk"]["rows_alone"] == 0
    assert report["risk"]["homogeneity"]["condition"]["1.0"] == {
        "groups": 1,
        "rows": 4,
        "revealed": 4,
    }


def test_every_row_of_a_null_is_measured(tmp_path):
    """A unique row with a null quasi-identifier makes k 1: nulls are a category of their own."""
    path = tmp_path / "t.csv"
    path.write_text("q,s\na,1\na,2\n,3\n", encoding="utf-8")
    report = measure(str(path), ["q"], ["s"])
    assert (report["rows"], report["groups"], report["k"]) == (3, 2, 1)
    path.write_text("q,s\na,1\na,\n,3\n,\n", encoding="utf-8")
    report = measure(str(path), ["q"], ["s"])
    assert (report["k"], report["l"]["distinct"], report["ke"]) == (2, 2, {"k": 2, "e": None})


ROWS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", None]),
        st.integers(0, 2) | st.none(),
        st.sampled_from([Decimal("0.1"), Decimal("0.2"), Decimal("0.3"), Decimal(5)]),
    ),
    min_size=1,
    max_size=30,
)


@given(rows=ROWS)
def test_any_table_as_rows_tell(tmp_path_factory, rows):
    path = tmp_path_factory.getbasetemp() / "t.parquet"
    p, q, s = (list(column) for column in zip(*rows, strict=True))
    types = [("p", pa.string()), ("q", pa.int64()), ("s", pa.float64())]
    s = [float(value) for value in s]
    pq.write_table(pa.table(dict(zip("pqs", (p, q, s), strict=True)), pa.schema(types)), path)
    report = measure(str(path), ["p", "q"], ["s"])
    groups = {}
    for *key, value in rows:
        groups.setdefault(tuple(key), []).append(value)
    assert (report["rows"], report["groups"]) == (len(rows), len(groups))
    assert report["k"] == min(map(len, groups.values()))
    assert report["l"]["distinct"] == min(len(set(g)) for g in groups.values())
    counts = {key: sorted(Counter(g).values(), reverse=True) for key, g in groups.items()}
    for l in ("2", "3"):
        tails = [(r[0], sum(r[int(l) - 1 :])) for r in counts.values()]
        expected = max(Fraction(a, b) for a, b in tails) if all(b for _, b in tails) else None
        seen = report["l"]["recursive_c"][l]
        assert seen == (None if expected is None else pytest.approx(float(expected)))
    assert report["alpha"] == pytest.approx(max(r[0] / sum(r) for r in counts.values()))
    spans = min(max(g) - min(g) for g in groups.values())
    assert report["ke"]["e"] == pytest.approx(float(spans))
    share = Counter(value for *_, value in rows)
    distance = max(
        sum(abs(Fraction(g.count(v), len(g)) - Fraction(share[v], len(rows))) for v in share) / 2
        for g in groups.values()
    )
    assert report["t"]["equal"] == pytest.approx(float(distance))
    if any(set(g) != set(share) for g in groups.values()):
        assert report["delta"] is None
    else:
        parts = [
            Fraction(g.count(v) * len(rows), len(g) * share[v])
            for g in groups.values()
            for v in share
        ]
        largest = max(abs(math.log(part)) for part in parts)
        assert largest < report["delta"] <= largest + 2e-6


def test_partitions_patterns_and_folders(tmp_path, patients):
    table = pa.table(
        dict(zip(("zip", "age", "condition"), zip(*PATIENTS, strict=True), strict=True))
    )
    pq.write_to_dataset(table, tmp_path / "parts", partition_cols=["zip"])
    (tmp_path / "parts" / "_SUCCESS").write_text("", encoding="utf-8")
    (tmp_path / "half").mkdir()
    pq.write_table(table.slice(0, 5), tmp_path / "half" / "1.parquet")
    pq.write_table(table.slice(5), tmp_path / "half" / "2.parquet")
    expected = measure(str(patients), ["zip", "age"], ["condition"])
    for place in ("parts", "half", "half/*.parquet", "half/?.parquet", "parts/**/*.parquet"):
        assert measure(str(tmp_path / place), ["zip", "age"], ["condition"]) == expected
    for half in (1, 2):
        lines = patients.read_text().splitlines()
        rows = lines[1:6] if half == 1 else lines[6:]
        (tmp_path / f"half{half}.csv").write_text("\n".join([lines[0], *rows]) + "\n")
    assert measure(str(tmp_path / "half?.csv"), ["zip", "age"], ["condition"]) == expected


def test_a_dictionary_that_the_file_brings_along(tmp_path):
    values = pa.DictionaryArray.from_arrays(pa.array([0, 0, 2]), pa.array(["x", "unused", "y"]))
    pq.write_table(pa.table({"q": values, "s": values}), tmp_path / "t.parquet")
    report = measure(str(tmp_path / "t.parquet"), ["q"], ["s"])
    assert (report["groups"], report["k"], report["l"]["distinct"]) == (2, 1, 1)


def test_several_sensitive_attributes(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("q,s1,s2\ng,a,x\ng,b,y\n", encoding="utf-8")
    report = measure(str(path), ["q"], ["s1", "s2"])
    assert report["sensitive"]["s1"]["l"]["distinct"] == 2
    assert report["sensitive"]["s1"]["multi_attribute"]["distinct"] == 1
    promises = [
        DistinctLDiversity(l=2, sensitive="s1"),
        DistinctLDiversity(l=2, sensitive="s1", known=("s2",)),
    ]
    report = measure(str(path), ["q"], ["s1", "s2"], promises)
    assert [promise["holds"] for promise in report["promises"]] == [True, False]


def test_a_population(tmp_path):
    (tmp_path / "t.csv").write_text("q,s\na,1\na,2\nb,3\n", encoding="utf-8")
    people = "q,s\n" + "a,1\na,2\na,2\na,1\nb,3\nb,4\nc,5\n"
    (tmp_path / "p.csv").write_text(people, encoding="utf-8")
    file, whom = str(tmp_path / "t.csv"), str(tmp_path / "p.csv")
    promise = DeltaPresence(min=Decimal("0"), max=Decimal("0.5"), reference=whom)
    report = measure(file, ["q"], ["s"], [promise], population=whom)
    assert report["promises"][0]["holds"]
    assert report["promises"][0]["observed"] == {"min": 0, "max": "0.5", "groups": 2, "failing": 0}
    assert report["risk"]["journalist"] == {"highest": 0.5, "average": 0.333333, "elsewhere": 1}
    assert report["risk"]["marketer"] == 0.333333
    (tmp_path / "p.csv").write_text("q,s\n1,1\n", encoding="utf-8")
    report = measure(file, ["q"], ["s"], [promise])
    assert report["promises"][0]["observed"]["max"] is None
    pq.write_table(pa.table({"q": [1], "s": [1]}), tmp_path / "p.parquet")
    promise = replace(promise, reference=str(tmp_path / "p.parquet"))
    with pytest.raises(InputError, match="has type int64 here, and string in the table"):
        measure(file, ["q"], ["s"], [promise])


def test_the_models_that_need_a_population_on_a_table(tmp_path, capsys):
    (tmp_path / "t.csv").write_text("q,s\na,1\na,2\n", encoding="utf-8")
    (tmp_path / "p.csv").write_text("q,s\n" + "a,1\n" * 9 + "a,2\n", encoding="utf-8")
    model = f"{{model: bayes-optimal, rho1: 0.2, rho2: 0.4, population: {tmp_path}/p.csv}}"
    arguments = ["measure", str(tmp_path / "t.csv"), "--qi", "q", "--sensitive", "s"]
    assert run([*arguments, "--model", model, "--format", "json"]) == 3
    output = capsys.readouterr()
    promise = json.loads(output.out)["promises"][0]
    assert (promise["holds"], promise["observed"]["rho2"]) == (False, "0.5")
    assert "bayes-optimal is not kept" in output.err


def test_exact_rows_hide_no_presence(patients, capsys):
    model = "{model: alpha-beta, alpha: 0.9, beta: 1}"
    arguments = ["measure", str(patients), "--qi", "zip,age", "--sensitive", "condition"]
    assert run([*arguments, "--model", model]) == 3
    assert "alpha-beta is not kept" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ("{model: k-anonymity, k: 0}", "promise: k: "),
        ("{model: magic}", "promise: "),
        ("{model: [", "promise: line 1: not YAML"),
        ("k-anonymity", "promise: "),
        (
            "{model: l-diversity, variant: distinct, l: 2}",
            "promise: distinct-l-diversity: there are several columns",
        ),
    ],
)
def test_promises_that_are_none(patients, capsys, model, reason):
    assert run(["measure", str(patients), "--qi", "zip", "--model", model]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"sfumato: {reason}")
    assert len(error.splitlines()) == 1


def test_files_that_are_none(tmp_path, patients):
    pq.write_table(pa.table({"q": [1]}), tmp_path / "t.parquet")
    (tmp_path / "bad.parquet").write_bytes(b"SECRET")
    (tmp_path / "empty").mkdir()
    for place, reason in [
        ("none.csv", "No such file"),
        ("bad.parquet", "cannot be read as a table"),
        ("empty", "has no file with data"),
        ("*.txt", "has no file with data"),
        ("*t*", r"has files of different formats \(csv, parquet\)"),
    ]:
        with pytest.raises(InputError, match=reason) as caught:
            read_inferred(str(tmp_path / place), ["q"], Written())
        assert "SECRET" not in str(caught.value)
    with pytest.raises(InputError, match="column 'height' is missing, or occurs several times"):
        read_inferred(str(patients), ["height"], Written())


def test_it_starts_without_prefect_pandas_and_great_expectations(patients):
    script = (
        "import sys; from sfumato.flows.cli.main import run;"
        f"code = run(['measure', {str(patients)!r}, '--qi', 'zip', '--sensitive', 'condition']);"
        "loaded = {'prefect', 'great_expectations', 'pandas', 'numba'} & set(sys.modules);"
        "sys.exit(code or bool(loaded))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_hierarchy_of_the_sensitive_attribute(tmp_path, patients):
    file = tmp_path / "conditions.csv"
    file.write_text("heart,organ,*\nviral,infection,*\ncancer,organ,*\n", encoding="utf-8")
    report = measure(
        str(patients), ["zip", "age"], ["condition"], hierarchies={"condition": str(file)}
    )
    q = {"heart": Fraction(3, 12), "viral": Fraction(4, 12), "cancer": Fraction(5, 12)}
    moved = [  # half of what crosses the root costs 1, what stays within `organ` a half
        sum(abs(p.get(v, 0) - q[v]) for v in q) / 4 + abs(p.get("viral", 0) - q["viral"]) / 2
        for p in (
            {"heart": Fraction(1, 2), "viral": Fraction(1, 2)},
            {"cancer": Fraction(1, 4), "heart": Fraction(1, 4), "viral": Fraction(1, 2)},
            {"cancer": Fraction(1)},
        )
    ]
    assert report["t"]["hierarchical"] == pytest.approx(float(max(moved)))
    file.write_text("heart,organ,*\nviral,infection,*\n", encoding="utf-8")
    with pytest.raises(
        InputError, match="row 5: column 'condition': a value is not in the hierarchy"
    ) as e:
        measure(str(patients), ["zip"], ["condition"], hierarchies={"condition": str(file)})
    assert "cancer" not in str(e.value)
    with pytest.raises(InputError, match="column 'wage' is not measured"):
        measure(str(patients), ["zip"], ["condition"], hierarchies={"wage": str(file)})


def test_promises_on_different_columns_at_once(tmp_path, capsys):
    rows = [(i % 2, i % 3, i % 4, i % 7, i % 5) for i in range(1200)]
    path = tmp_path / "t.csv"
    path.write_text("a,b,c,s,r\n" + "\n".join(",".join(map(str, row)) for row in rows) + "\n")
    models = [
        "{model: k-anonymity, k: 5, quasi-identifiers: [a, b, c]}",
        "{model: k-anonymity, k: 100, quasi-identifiers: [b]}",
        "{model: l-diversity, variant: distinct, l: 7, sensitive: s}",
        "{model: l-diversity, variant: distinct, l: 6, sensitive: r}",
    ]
    options = [option for model in models for option in ("--model", model)]
    arguments = ["measure", str(path), "--qi", "a,b,c", "--sensitive", "s,r", *options]
    assert run([*arguments, "--format", "json"]) == 3
    output = capsys.readouterr()
    decided = json.loads(output.out)["promises"]
    assert [promise["holds"] for promise in decided] == [True, True, True, False]
    assert [promise["observed"].get("k") for promise in decided[:2]] == [
        min(Counter(row[:3] for row in rows).values()),
        min(Counter(row[1] for row in rows).values()),
    ]


def document_of(path, *options, capsys):
    """Return what the command says as a document."""
    assert run(["measure", str(path), *options, "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


ALIKE = [  # two texts of one value
    ("integer", "02139", "2139"),
    ("integer", "+7", " 7"),
    ("decimal", "1", "1.0"),
    ("float", "1e3", "1000"),
    ("float", "-0", "0.0"),
    ("date", " 2020-01-31", "2020-01-31"),
    ("timestamp", "2020-01-31", "2020-01-31 00:00"),
    ("boolean", "yes", "true"),
]


@pytest.mark.parametrize(("type_", "first", "other"), ALIKE)
def test_quasi_identifiers_are_texts_unless_they_have_a_type(tmp_path, capsys, type_, first, other):
    path = tmp_path / "t.csv"
    path.write_text(f"q,s\n{first},1\n{other},2\n", encoding="utf-8")
    for types in ([], ["--types", "q=string"], ["--types", "q=string, s=integer"]):
        report = document_of(path, "--qi", "q", "--sensitive", "s", *types, capsys=capsys)
        assert (report["groups"], report["k"], report["l"]["distinct"]) == (2, 1, 1)
    types = ["--types", f"q={type_}"]
    report = document_of(path, "--qi", "q", "--sensitive", "s", *types, capsys=capsys)
    assert (report["groups"], report["k"], report["l"]["distinct"]) == (1, 2, 2)


def test_blanks_are_part_of_a_text(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("s, q\n1,7\n2, 7\n3, ?\n4,?\n", encoding="utf-8")
    assert measure(str(path), ["q"], ["s"], written=Written(nulls=("?",)))["groups"] == 3
    typed = Written(nulls=("?",), types={"q": "integer"})
    report = measure(str(path), ["q"], ["s"], written=typed)
    assert (report["groups"], report["k"], report["ke"]) == (2, 2, {"k": 2, "e": 1})


def test_the_types_of_sensitive_attributes_are_inferred_or_given(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("q,s\na,1\na,1.0\na,3\n", encoding="utf-8")
    report = measure(str(path), ["q"], ["s"])
    assert (report["l"]["distinct"], report["ke"], report["t"]["ordered"]) == (
        2,
        {"k": 2, "e": 2},
        0,
    )
    assert measure(str(path), ["q"], ["s"], written=Written(types={"s": "decimal"})) == report
    report = measure(str(path), ["q"], ["s"], written=Written(types={"s": "string"}))
    assert (report["l"]["distinct"], report["ke"]) == (3, {"k": 3, "e": None})
    assert report["t"]["ordered"] is None


def test_the_quasi_identifiers_of_a_promise_are_texts(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("q,z,x,s\na,02139,1,1\na,2139,1.0,2\n", encoding="utf-8")
    promises = [
        KAnonymity(k=2, quasi_identifiers=("z",)),
        DistinctLDiversity(l=2, sensitive="s", known=("x",)),
    ]

    def holding(**types):
        report = measure(str(path), ["q"], ["s"], promises, written=Written(types=types))
        return report["k"], *(promise["holds"] for promise in report["promises"])

    assert holding() == (2, False, False)
    assert holding(z="integer", x="decimal") == (2, True, True)


def test_a_column_that_is_sensitive_and_tells_groups_apart(tmp_path):
    """It has one type: the inferred one, unless that would take two texts for one."""
    path = tmp_path / "t.csv"
    path.write_text("q,s\na,1\na,2\na,1\na,2\n", encoding="utf-8")
    promise = KAnonymity(k=2, quasi_identifiers=("s",))
    report = measure(str(path), ["q"], ["s"], [promise])
    assert report["promises"][0]["holds"]
    assert report["ke"] == {"k": 2, "e": 1}
    path.write_text("q,s\na,1\na,2\na,1.0\na,2\n", encoding="utf-8")
    with pytest.raises(
        InputError, match=r"t\.csv: column 's': is a quasi-identifier and"
    ) as caught:
        measure(str(path), ["q"], ["s"], [promise])
    assert "--types" in str(caught.value)
    for type_, k, e in (("decimal", 2, 1), ("string", 1, None)):
        written = Written(types={"s": type_})
        report = measure(str(path), ["q"], ["s"], [promise], written=written)
        assert report["promises"][0]["observed"]["k"] == k
        assert report["ke"] == {"k": 4 - k, "e": e}


@pytest.mark.parametrize(
    ("types", "reason"),
    [
        ("height=integer", "--types height: the column is not measured"),
        (
            "age=number",
            "--types age: no type 'number'; choose from integer, decimal, float, date, ",
        ),
        ("age", "--types age: not written as key=value"),
        ("age=string,age=integer", "--types: names a column twice"),
        ("age=integer", "patients.csv: row 1: column 'age': not an integer of 64 bits"),
    ],
)
def test_types_that_do_not_fit(patients, capsys, types, reason):
    arguments = ["measure", str(patients), "--qi", "zip,age", "--sensitive", "condition"]
    assert run([*arguments, "--types", types]) == 2
    error = capsys.readouterr().err
    assert error.startswith("sfumato: ")
    assert reason in error
    assert len(error.splitlines()) == 1
    assert "<30" not in error


def test_each_type_is_named_in_the_help(capsys):
    assert run(["measure", "--help"]) == 0
    output = capsys.readouterr().out
    assert all(type_ in output for type_ in TYPES)


def test_a_column_that_is_not_measured_has_no_type(patients):
    with pytest.raises(SpecError, match="--types condition: the column is not measured"):
        measure(str(patients), ["zip"], written=Written(types={"condition": "string"}))


def test_texts_of_several_files(tmp_path):
    (tmp_path / "1.csv").write_text("q,s\n02139,1\n7,1\n", encoding="utf-8")
    (tmp_path / "2.csv").write_text("s,q\n2,2139\n2,7.00\n", encoding="utf-8")
    place = str(tmp_path / "?.csv")
    report = measure(place, ["q"], ["s"])
    assert (report["rows"], report["groups"], report["k"]) == (4, 4, 1)
    report = measure(place, ["q"], ["s"], written=Written(types={"q": "decimal"}))
    assert (report["groups"], report["k"], report["l"]["distinct"]) == (2, 2, 2)
    with pytest.raises(InputError, match=r"2\.csv: row 2: column 'q': not an integer") as refused:
        measure(place, ["q"], ["s"], written=Written(types={"q": "integer"}))
    assert "7.00" not in str(refused.value)
    (tmp_path / "1.csv").write_text("q,s\n2020-01-01T00:00Z,1\n", encoding="utf-8")
    (tmp_path / "2.csv").write_text("q,s\n2020-01-01T00:00,1\n", encoding="utf-8")
    with pytest.raises(InputError, match="some timestamps have an offset, and others do not"):
        measure(place, ["q"], ["s"], written=Written(types={"q": "timestamp"}))


def test_names_of_folders_are_texts(tmp_path):
    for zip_, s in (("02139", 1), ("2139", 2), ("__HIVE_DEFAULT_PARTITION__", 3)):
        (tmp_path / f"zip={zip_}" / "year=2020").mkdir(parents=True)
        table = pa.table({"s": [s, s]})
        pq.write_table(table, tmp_path / f"zip={zip_}" / "year=2020" / "part-0.parquet")

    def groups(qi, **types):
        report = measure(str(tmp_path), qi, ["s"], written=Written(types=types))
        return report["groups"], report["k"]

    assert groups(["zip"]) == groups(["zip", "year"]) == groups(["zip"], zip="string") == (3, 2)
    assert groups(["zip"], zip="integer") == groups(["year", "zip"], zip="integer") == (2, 2)
    assert groups(["year"]) == groups(["year"], s="decimal") == (1, 6)
    with pytest.raises(InputError, match="column 'zip': not a date"):
        groups(["zip"], zip="date")


def test_parquet_has_types_of_its_own(tmp_path, capsys):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"q": [1, 1, 2], "r": ["1", "01", "1"], "s": [1.5, 2.0, 3.0]}), path)
    plain = measure(str(path), ["q", "r"], ["s"])
    assert (plain["groups"], plain["k"]) == (3, 1)
    for types in ({"q": "integer", "r": "string", "s": "float"}, {"q": "decimal"}):
        assert measure(str(path), ["q", "r"], ["s"], written=Written(types=types)) == plain
    for types in ("q=string", "q=date", "r=integer"):
        assert run(["measure", str(path), "--qi", "q,r", "--types", types]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        name, _, type_ = types.partition("=")
        assert line.startswith(f"sfumato: {path}: column {name!r}: the file has values of type ")
        assert line.endswith(f", which cannot be read as type {type_}")


def population_figures(table, people, qi=("q",), sensitive=(), **types):
    """Return how many people look like the rows of each group (most, mean), or why not."""
    written = Written(nulls=("?",), types=types)
    promise = DeltaPresence(min=Decimal(0), max=Decimal(1), reference=str(people))
    report = measure(str(table), qi, sensitive, [promise], str(people), written=written)
    observed = report["promises"][0]["observed"]
    return observed["min"], observed["max"], report["risk"]["journalist"]["elsewhere"]


def test_a_population_is_read_by_the_types_of_the_table(tmp_path):
    table, people = tmp_path / "t.csv", tmp_path / "p.csv"
    table.write_text("q,s\n02139,1\n ?,1\n", encoding="utf-8")
    people.write_text("q,s\n" + "02139,1\n" * 2 + "2139,1\n" * 3 + "?,1\n" * 2)
    assert population_figures(table, people) == (0, "0.5", 3)
    assert population_figures(table, people, q="integer") == ("0.2", "0.5", 0)
    table.write_text("q\n2.5\n3\n")
    people.write_text("q\n2.50\n2.5\n3.000\n")
    assert population_figures(table, people, q="decimal") == ("0.5", 1, 0)
    numbers = tmp_path / "p.parquet"
    pq.write_table(pa.table({"q": pa.array([7, 7, 8], pa.int32())}), numbers)
    table.write_text("q\n07\n8\n")
    assert population_figures(table, numbers, q="integer") == ("0.5", 1, 0)
    with pytest.raises(InputError, match="has type int32 here, and string in the table"):
        population_figures(table, numbers)


def test_a_population_of_text_for_a_table_with_types(tmp_path):
    table, people = tmp_path / "t.parquet", tmp_path / "p.csv"
    prices = pa.array([Decimal("1.5"), Decimal("2")], pa.decimal128(10, 3))
    pq.write_table(pa.table({"q": [7, 8], "r": ["07", "8"], "s": prices}), table)
    people.write_text("s,q,r\n1.50,7,07\n1.5,07,07\n2,8,8\n2,8,08\n")
    assert population_figures(table, people, ["q", "r", "s"]) == (0, 1, 1)
    assert population_figures(table, people, ["q", "s"]) == ("0.5", "0.5", 0)
    people.write_text("s,q,r\n1.50,SECRET,07\n")
    with pytest.raises(InputError, match=r"p\.csv: row 1: column 'q': not an int") as refused:
        population_figures(table, people, ["q"])
    assert "SECRET" not in str(refused.value)


def test_text_that_is_not_in_utf_8_is_told_apart(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("q,s\né,1\né,2\nè,3\n".encode("latin-1"))
    report = measure(str(path), ["q"], ["s"])
    assert (report["groups"], report["k"]) == (2, 1)
    with pytest.raises(InputError, match="row 1: column 'q': not in UTF-8"):
        measure(str(path), ["q"], ["s"], written=Written(types={"q": "integer"}))


def test_a_hierarchy_of_an_attribute_with_a_type(tmp_path):
    path, file = tmp_path / "t.csv", tmp_path / "codes.csv"
    path.write_text("q,s\na,01\na,1\nb,2\n", encoding="utf-8")
    file.write_text("01,low,*\n1,low,*\n2,high,*\n", encoding="utf-8")
    tree = {"s": str(file)}
    report = measure(
        str(path), ["q"], ["s"], hierarchies=tree, written=Written(types={"s": "string"})
    )
    assert report["t"]["hierarchical"] == pytest.approx(2 / 3)
    assert report["l"]["distinct"] == 1
    assert measure(str(path), ["q"], ["s"], hierarchies=tree)["t"]["hierarchical"] == 0.666666667


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"age,sex\n30,m,x\n", "row 1: 3 fields, 2 columns: a value with ',' may have no quotes"),
        (b"age,sex\n30\n", "row 1: 1 fields, 2 columns: a value with a line break may"),
        (b"", "is empty"),
        (b"PK\x03\x04", "is a ZIP archive or a workbook"),
        ("age,sex\n30,m\n".encode("utf-16"), "the header cannot be read as utf-8 CSV"),
    ],
)
def test_why_a_csv_file_cannot_be_read_is_said(tmp_path, content, fault):
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_inferred(str(tmp_path / "t.csv"), ["age"], Written())
    assert fault in str(caught.value)
    assert str(caught.value).endswith("with commas, and with a header in the first line")
