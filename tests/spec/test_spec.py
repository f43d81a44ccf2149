"""Keys of a spec: every refusal names the place and the rule on one line."""

import copy
import re
from pathlib import Path

import pytest
import yaml

from sfumato.expectations.shared.errors import SpecError
from sfumato.flows.inputs.overrides import read_overrides
from sfumato.flows.inputs.spec import json_schema, read_promise, read_spec

ADULT = Path(__file__).parents[2] / "deployments" / "releases" / "adult-capital-loss.yaml"

SPEC = {
    "version": 1,
    "name": "wages",
    "title": "Wages of a town",
    "source": {"uri": "people.csv"},
    "columns": {
        "person": {"role": "identifier", "unit": True},
        "age": {"role": "quasi-identifier", "type": "integer"},
        "town": {"role": "quasi-identifier"},
        "wage": {"role": "sensitive", "type": "integer"},
    },
    "promises": [{"model": "ke-anonymity", "k": 3, "e": 10}],
    "partition": {"method": "ke"},
    "form": {"method": "permuted"},
    "publish": {"uri": "public"},
}
ABSENT = object()


def change_spec(changes):
    """The small spec with dotted keys set, or taken away."""
    document = copy.deepcopy(SPEC)
    for dotted, value in changes.items():
        *parents, last = dotted.split("/")
        place = document
        for parent in parents:
            place = place.setdefault(parent, {})
        if value is ABSENT:
            del place[last]
        else:
            place[last] = value
    return document


@pytest.fixture
def read(tmp_path):
    def read(text, overrides=None):
        path = tmp_path / "wages.yaml"
        path.write_text(
            text if isinstance(text, str) else yaml.safe_dump(text, sort_keys=False),
            encoding="utf-8",
        )
        return read_spec(path, overrides)

    return read


def refusal(call, *arguments):
    with pytest.raises(SpecError) as caught:
        call(*arguments)
    message = str(caught.value)
    assert caught.value.exit_code == 2
    assert len(message.splitlines()) == 1
    assert caught.value.__cause__ is None
    return message


def test_adult_reads():
    spec = read_spec(ADULT)
    assert spec.names_with_roles("sensitive") == ["capital-loss"]
    assert len(spec.names_with_roles("quasi-identifier")) == 8
    ((promise,), terms) = spec.scoped_promises(), spec.terms(Path())
    assert (promise.k, promise.e, promise.sensitive) == (5, 500, "capital-loss")
    assert list(promise.quasi_identifiers) == spec.names_with_roles("quasi-identifier")
    assert terms.unit == "identifier"
    assert [*terms.columns] == [*spec.names_with_roles("quasi-identifier"), "capital-loss"]


@pytest.mark.parametrize(
    "path",
    [p for p in sorted(ADULT.parents[1].glob("*s/*.yaml")) if p.parent.name != "policies"],
    ids=lambda path: path.stem,
)
def test_every_spec_of_the_project_reads(path):
    terms = read_spec(path).terms(path.parent)
    assert terms.name == path.stem
    recoded = terms.form.method == "generalized"
    assert bool(terms.hierarchies) == recoded


def test_the_small_spec_reads(read):
    assert read(SPEC).terms(Path()).unit == "identifier"


KE = SPEC["promises"][0]
K = {"model": "k-anonymity", "k": 3}
RANGE = {"kind": "range", "aggregate": "avg", "over": "age", "spans": [5]}


@pytest.mark.parametrize(
    ("changes", "path", "reason"),
    [
        ({"colour": "red"}, "colour: ", "is no key here"),
        ({"source/colour": "red"}, "source.colour: ", "is no key here$"),
        ({"columns/age/colour": "red"}, "columns.age.colour: ", "is no key here$"),
        ({"promises": [{**KE, "l": 2}]}, "promises.0.l: ", "l: is no key here$"),
        ({"promises": [{**KE, "model": "magic"}]}, "promises.0.model: ", "must be one of"),
        ({"version": 3}, "version: ", "must be 1 or 2$"),
        ({"name": ABSENT}, "name: ", "name: is missing$"),
        ({"name": "Wages"}, "name: ", "must match"),
        ({"name": "../wages"}, "name: ", "must match"),
        ({"name": "wages-"}, "name: ", "must match"),
        ({"name": "wages\n"}, "name: ", "must match"),
        ({"name": "w" * 64}, "name: ", "at most 63"),
        ({"title": "two\nlines"}, "title: ", "must match"),
        ({"columns/age/role": "quasi"}, "columns.age.role: ", "must be 'identifier'"),
        ({"promises": []}, "promises: ", "must have 1 or more entries$"),
        (
            {"promises": [KE, K]},
            "promises.1: ",
            ("k-anonymity cannot be measured in form permuted"),
        ),
        ({"promises": [{**KE, "k": 0}]}, "promises.0.k: ", "must be at least 1$"),
        ({"promises": [{**KE, "e": -1}]}, "promises.0.e: ", "must be at least 0$"),
        (
            {
                "columns/bonus": {"role": "sensitive", "type": "integer"},
                "promises": [{**KE, "sensitive": "wage"}],
            },
            "promises: ",
            "promises: no promise protects the sensitive column 'bonus'",
        ),
        (
            {
                "columns/bonus": {"role": "sensitive", "unprotected": "public anyway"},
                "promises": [
                    {**KE, "sensitive": "wage"},
                    {
                        "model": "l-diversity",
                        "variant": "distinct",
                        "l": 2,
                        "sensitive": "wage",
                        "known": ["bonus"],
                    },
                ],
            },
            "promises.1: ",
            "does not show which sensitive values belong to one person",
        ),
        (
            {"promises": [{**KE, "quasi-identifiers": ["age"]}]},
            "promises: ",
            "no promise covers the quasi-identifier 'town'",
        ),
        (
            {"promises": [{**KE, "quasi-identifiers": ["person"]}]},
            "promises.0: ",
            "'person' is not a column with role quasi-identifier",
        ),
        (
            {"promises": [{**KE, "sensitive": "age"}]},
            "promises.0: ",
            "'age' is not a column with role sensitive",
        ),
        ({"columns/wage/role": "drop"}, "columns: ", "columns: no column has role sensitive"),
        ({"columns/wage/type": "string"}, "promises.0: ", "dates or timestamps, not type string"),
        ({"columns/wage/type": "boolean"}, "promises.0: ", "dates or timestamps, not type boolean"),
        ({"columns/group_id": {"role": "drop"}}, "columns.group_id: ", "other things"),
        ({"columns/Count": {"role": "drop"}}, "columns.Count: ", "other things"),
        (
            {"columns/group-id": {"role": "drop"}},
            "columns.group-id: ",
            ("has no letter or digit from which a name for files"),
        ),
        (
            {"columns/été": {"role": "drop"}, "columns/_t_": {"role": "drop"}},
            "columns._t_: ",
            "would have the same name in files and SQL as 'été'",
        ),
        (
            {"columns/Age": {"role": "drop"}},
            "columns.Age: ",
            ("would have the same name in files and SQL as 'age'"),
        ),
        ({"name": "con"}, "name: ", "no directory can have on Windows"),
        ({"columns/AUX": {"role": "drop"}}, "columns.AUX: ", "rename: {'AUX': AUX-5}"),
        ({"columns/com1.": {"role": "drop"}}, "columns.'com1.': ", "looks like a path"),
        ({"columns/": {"role": "drop"}}, "columns.'': ", "looks like a path"),
        ({"columns/..": {"role": "drop"}}, "columns.'..': ", "looks like a path"),
        ({"columns/a\nb": {"role": "drop"}}, r"columns.'a\nb': ", "looks like a path"),
        ({"columns/a\\b": {"role": "drop"}}, r"columns.'a\\b': ", "looks like a path"),
        (
            {"columns/日本": {"role": "drop"}},
            "columns.日本: ",
            ("has no letter or digit from which a name for files"),
        ),
        ({"columns/person/unit": False}, "unit: ", "Write `unit: row`"),
        ({"unit": "row"}, "unit: ", "unit: `row` contradicts `unit: true`"),
        ({"unit": "age"}, "unit: ", "'age' is not an identifier"),
        ({"columns/age/unit": True}, "columns.age: ", "only an identifier can be the unit"),
        (
            {"columns/tax": {"role": "identifier", "unit": True}},
            "columns: ",
            ("both have `unit: true`"),
        ),
        ({"columns/age/repeat": "keep-one"}, "columns.age: ", "repeat: only the unit can repeat"),
        (
            {"columns/person/hierarchy": "h.csv"},
            "columns.person: ",
            ("hierarchy: has no effect on a column with role"),
        ),
        ({"columns/town/hierarchy": {"intervals": [5]}}, "columns.town: ", "need type integer"),
        (
            {"columns/age/hierarchy": {"intervals": [5, 12]}},
            "columns.age.hierarchy",
            "and a multiple of",
        ),
        ({"columns/age/unprotected": "why"}, "columns.age: ", "only a sensitive or insensitive"),
        (
            {"columns/wage/nulls": "category"},
            "promises.0: ",
            "ke-anonymity needs values",
        ),
        (
            {"nulls": "category"},
            "columns.wage: ",
            ("needs its own null policy, because the spec's `nulls"),
        ),
        ({"strata": ["wage"]}, "strata: ", "'wage' is not a column with role quasi-id"),
        ({"strata": [{"column": "wage", "bands": [3]}]}, "strata: ", "'wage' is not a column with"),
        ({"strata": [{"column": "town", "bands": [3]}]}, "strata.0: ", "has another type"),
        ({"approval": "perhaps"}, "approval: ", "must be 'none'"),
        ({"approval": {"reviewers": 0}}, "approval.reviewers: ", "at least 1"),
        ({"approval": {"reviewer": 1}}, "approval.reviewer: ", "did you mean reviewers"),
        (
            {"publish/formats": ["csv"]},
            "publish: ",
            ("formats: parquet is missing, and queries and checks read"),
        ),
        ({"publish/formats": []}, "publish.formats: ", "must have 1 or more entries$"),
        ({"publish/formats": ["parquet", "parquet"]}, "publish: ", "names a format twice"),
        ({"publish/formats": ["parquet", "xlsx"]}, "publish.formats.1: ", "must be 'parquet'"),
        ({"partition/objective": "least"}, "partition.objective: ", "must be 'sum'"),
        ({"partition": {"method": "anatomy"}}, "partition: ", "anatomy needs an l-diversity"),
        ({"form/method": "cut"}, "form.method: ", "must be one of"),
        ({"partition/method": "forest"}, "partition: ", "forest needs a k-anonymity promise"),
        (
            {
                "partition": {"method": "factors"},
                "promises": [KE, {"model": "k-anonymity", "k": 5}],
                "form": {"method": "suppressed"},
            },
            "promises.1.k: ",
            "needs k = 2 or 3",
        ),
        (
            {"form": {"method": "suppressed", "linked": [["age", "wage"]]}},
            "form.linked: ",
            "'wage' is not a quasi-identifier",
        ),
        (
            {"form": {"method": "suppressed", "linked": [["age", "town"], ["town", "age"]]}},
            "form",
            "a column is listed twice",
        ),
        (
            {
                "form": {"method": "generalized"},
                "evaluate/workloads": [
                    {"kind": "arbitrary", "aggregate": "avg", "selected": [5]},
                ],
            },
            "evaluate.workloads.0: ",
            "form generalized has no answers to arbitrary selections",
        ),
        (
            {
                "promises": [
                    KE,
                    {"model": "delta-presence", "min": 0, "max": 0.5, "population": "all.csv"},
                ],
            },
            "promises.1: ",
            "cannot be measured in form permuted. Use one of the forms generalized, suppressed",
        ),
        ({"retain": -1}, "retain: ", "must be at least 0$"),
        ({"source/sha256": "abc"}, "source.sha256: ", "must match"),
        (
            {"promises": [KE, {"model": "l-diversity", "variant": "distinct"}]},
            "promises.1.l: ",
            "is missing$",
        ),
        (
            {"promises": [KE, {"model": "l-diversity", "variant": "shannon", "l": 2}]},
            "promises.1",
            "variant",
        ),
        (
            {
                "promises": [
                    KE,
                    {
                        "model": "l-diversity",
                        "variant": "recursive",
                        "l": 1,
                        "c": 2,
                        "dont-care": [0],
                    },
                ]
            },
            "promises.1",
            "l: must be at least 2",
        ),
        (
            {"promises": [KE, {"model": "alpha-k", "alpha": 0.5, "k": 2}]},
            "promises.1: ",
            (
                "alpha-k cannot be measured in form permuted. Use one of the forms "
                "generalized, suppressed"
            ),
        ),
        (
            {"promises": [KE, {"model": "t-closeness", "t": 0.5, "distance": "hierarchical"}]},
            "promises.1: ",
            "'wage' has no hierarchy",
        ),
        (
            {
                "columns/job": {"role": "sensitive"},
                "promises": [
                    {**KE, "sensitive": "wage"},
                    {"model": "t-closeness", "t": 0.5, "distance": "ordered", "sensitive": "job"},
                ],
            },
            "promises.1: ",
            "t-closeness needs a column of numbers, dates or timestamps, not type string",
        ),
        (
            {
                "promises": [
                    KE,
                    {"model": "l-diversity", "variant": "distinct", "l": 2, "known": ["age"]},
                ]
            },
            "promises.1: ",
            "known: 'age' is not a sensitive column other than the one",
        ),
        ({"columns/age/values": []}, "columns.age.values: ", "must have 1 or more entries$"),
        ({"columns/age/values": [20, "x"]}, "columns.age", "values.1: not of type integer"),
        ({"columns/age/range": {"min": 1.5}}, "columns.age", "a limit is not of type integer"),
        ({"columns/age/range": {}}, "columns.age.range", "has no limit"),
        (
            {"columns/town/range": {"min": "A"}},
            "columns.town",
            "values of type string have no order",
        ),
        (
            {"evaluate/workloads": [{**RANGE, "over": "person"}]},
            "evaluate.workloads.0: ",
            "'person' is not a column with role quasi-identifier",
        ),
        (
            {"evaluate/workloads": [RANGE, {**RANGE, "over": "town"}]},
            "evaluate.workloads.1: ",
            "the values of 'town' have no ranges",
        ),
        (
            {"evaluate/workloads": [{**RANGE, "of": "age"}]},
            "evaluate.workloads.0: ",
            "'age' is not a column with role sensitive",
        ),
        (
            {"evaluate/workloads": [RANGE], "columns/wage/type": "date"},
            "evaluate.workloads.0: ",
            "avg cannot be computed for 'wage'",
        ),
        (
            {"evaluate/workloads": [{**RANGE, "spans": [0]}]},
            "evaluate.workloads.0.spans.0: ",
            "must be above 0$",
        ),
    ],
)
def test_refusals(read, tmp_path, changes, path, reason):
    message = refusal(read, change_spec(changes))
    prefix = f"{tmp_path / 'wages.yaml'}: "
    assert message.startswith(prefix)
    assert any(part.startswith(path) for part in message.removeprefix(prefix).split("; "))
    assert re.search(reason, message)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"promises": [{**KE, "k": "x"}]}, "promises.0.k: must be a whole number"),
        ({"promises": [{**KE, "k": 2.5}]}, "promises.0.k: must be a whole number"),
        (
            {"promises": [{"model": "ke-anonymity", "kk": 3, "e": 1}]},
            "promises.0.kk: is no key here; did you mean k?",
        ),
        ({"promises": [{"k": 3}]}, "promises.0.model: is missing"),
        ({"promises": {}}, "promises: must be a list"),
        (
            {"promises": [{"model": "t-closeness", "t": "x", "distance": "equal"}]},
            "promises.0.t: must be a number",
        ),
        (
            {"promises": [{"model": "p-privacy", "target": {"normall": {"mean": 1}}}]},
            "promises.0.target: has no form that is allowed here; did you mean normal?",
        ),
        (
            {"promises": [{"model": "p-privacy", "target": {"zipf": "x"}}]},
            "promises.0.target.zipf: must be a number",
        ),
        ({"prommises": 1}, "prommises: is no key here; did you mean promises?"),
        (
            {"prommises": 1, "promises": ABSENT},
            "prommises: is no key here; did you mean promises?",
        ),
        ({"source/urii": 1}, "source.urii: is no key here; did you mean uri?"),
        ({"columns/age/typ": 1}, "columns.age.typ: is no key here; did you mean type?"),
        ({"columns/age": None}, "columns.age: must be a mapping of keys"),
        ({"columns/5": {"role": "drop"}, "title": ""}, "title: must have 1 or more characters"),
        ({"columns": {5: {"role": "drop"}}}, "columns.5: the key must be a text"),
        ({"columns/person/unit": "maybe"}, "columns.person.unit: must be true or false"),
        (
            {"columns/age/hierarchy": {"interval": [5]}},
            "columns.age.hierarchy.interval: is no key here; did you mean intervals?",
        ),
        (
            {"columns/age/hierarchy": {"intervals": ["x"]}},
            "columns.age.hierarchy.intervals.0: must be a whole number",
        ),
        (
            {"strata": [{"column": "age", "band": [1]}]},
            "strata.0.band: is no key here; did you mean bands?",
        ),
        (
            {"partition": {"method": "ke", "objectiv": "sum"}},
            "partition.objectiv: is no key here; did you mean objective?",
        ),
        ({"partition": "ke"}, "partition: must be a mapping of keys"),
        (
            {"form": {"method": "permutet"}},
            "form.method: must be one of 'generalized', 'suppressed', 'permuted', 'split', "
            "'ambiguous', 'redistributed'; did you mean permuted?",
        ),
        ({"name": "w" * 64}, "name: must have at most 63 characters"),
        (
            {"evaluate/workloads": [{**RANGE, "queries": 0, "span": [3]}]},
            "evaluate.workloads.0.queries: must be above 0; "
            "evaluate.workloads.0.span: is no key here; did you mean spans?",
        ),
    ],
)
def test_a_refusal_says_nothing_else(read, tmp_path, changes, message):
    assert refusal(read, change_spec(changes)) == f"{tmp_path / 'wages.yaml'}: {message}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{model: k-anonymity}", "promise: k: is missing"),
        ("{model: k-anonymity, k: 2, l: 3}", "promise: l: is no key here"),
        ("{model: ke-anonymity, k: 2, ee: 3}", "promise: ee: is no key here; did you mean e?"),
        ("{model: k-anonymity, k: 2, k: 3}", "promise: line 1: duplicate key 'k'"),
        ("[", "promise: line 1: not YAML"),
    ],
)
def test_what_is_no_promise(text, message):
    assert refusal(read_promise, text).startswith(message)


def test_path_like_name(read):
    document = copy.deepcopy(SPEC)
    document["columns"]["../etc/passwd"] = {"role": "drop"}
    assert "looks like a path" in refusal(read, document)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("name: a\nname: b\n", "line 2: duplicate key 'name'"),
        ("columns:\n  age:\n    role: drop\n    role: drop\n", "line 4: duplicate key 'role'"),
        ("columns: [\n", "not YAML"),
        ("name: \x00\n", "not YAML"),
        ("- a\n- b\n", "is not a spec"),
        ("", "is not a spec"),
        ("a: !!python/object:os.system {}\n", "not YAML"),
    ],
)
def test_not_a_spec(read, text, reason):
    assert reason in refusal(read, text)


def test_no_file_and_no_text(tmp_path):
    assert "cannot be read" in refusal(read_spec, tmp_path / "none.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"name: \xe9\n")
    assert "not UTF-8" in refusal(read_spec, tmp_path / "latin.yaml")


def test_many_errors_are_still_one_line(read):
    message = refusal(read, {f"key{i}": i for i in range(20)})
    assert "more)" in message


def test_a_key_with_a_line_break_is_still_one_line(read):
    assert r"'a\nb': is no key here" in refusal(read, change_spec({"a\nb": 1}))


def test_a_date_that_is_none_is_no_yaml(read):
    assert "wages.yaml: not YAML" in refusal(read, "name: 2001-99-99\n")


def test_overrides_change_source_publish_and_evaluate(read):
    overrides = read_overrides(
        {
            "source.uri": "other.csv",
            "source.where": "age > 18",
            "publish.formats": "[parquet]",
            "evaluate.workloads": "[{kind: arbitrary, aggregate: sum, selected: [10]}]",
        }
    )
    spec = read(SPEC, overrides)
    assert (spec.source.uri, spec.source.where) == ("other.csv", "age > 18")
    assert (spec.publish.uri, spec.publish.formats) == ("public", ("parquet",))
    assert spec.evaluate.workloads[0].aggregate == "sum"
    assert spec.promises == read(SPEC).promises


def test_no_override_changes_nothing(read):
    assert read(SPEC, read_overrides({})) == read(SPEC)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("promises", "[]"),
        ("promises.0.k", "1"),
        ("columns.age.role", "drop"),
        ("partition.method", "ke"),
        ("form.method", "permuted"),
        ("versions", "accepted-risk"),
        ("unit", "row"),
        ("name", "other"),
        ("source.format", "parquet"),
        ("source.uri", "[1]"),
        ("publish.formats", "[xlsx]"),
        ("approval", "none"),
    ],
)
def test_other_overrides_are_refused(name, value):
    message = refusal(read_overrides, {name: value})
    assert message.startswith(f"--set {name.split('.')[0]}")
    assert "(only source, publish, evaluate and `approval: required`" in message


@pytest.mark.parametrize("value", ["[1", "2001-99-99"])
def test_an_override_that_is_no_yaml(value):
    assert "not YAML" in refusal(read_overrides, {"source.uri": value})


def test_overrides_of_a_whole_and_of_its_part():
    message = refusal(read_overrides, {"source": "x", "source.uri": "y"})
    assert message == "--set source.uri: source is also set as a whole. Set one of the two"


def test_overridden_specs_follow_the_same_rules(read):
    assert "formats: parquet is missing, and queries and checks read" in refusal(
        read, SPEC, read_overrides({"publish.formats": "[csv]"})
    )
    required = read_overrides({"approval": "required"})
    assert "approval: needs stages" in refusal(read, SPEC | {"stages": "encrypted"}, required)


def test_a_run_may_ask_for_approval_and_never_for_fewer_reviewers(read):
    required = read_overrides({"approval": "required"})
    assert read(SPEC, required).approval_wish.reviewers == 1
    assert (
        read(SPEC | {"approval": {"reviewers": 3, "days": 2}}, required).approval_wish.reviewers
        == 3
    )
    assert read(SPEC).approval_wish is None


def test_json_schema_describes_the_specs():
    jsonschema = pytest.importorskip("jsonschema")
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    recursive = {"model": "l-diversity", "variant": "recursive", "l": 2, "c": 1.5}
    several = change_spec(
        {
            "columns/age/range": {"min": 17, "max": "90"},
            "columns/town/values": ["Aa", 3, True],
            "promises": [
                KE,
                {**recursive, "dont-care": [0, "1.5"], "negative": {"values": [1], "percent": 5}},
                {"model": "t-closeness", "t": 0.5, "distance": "ordered"},
            ],
        }
    )
    for document in (SPEC, several, yaml.safe_load(ADULT.read_text(encoding="utf-8"))):
        assert list(validator.iter_errors(document)) == []
    redistributed = {"method": "redistributed", "fakes": {"most": "0.1", "by": "width"}}
    targets = [{"model": "p-privacy", "target": "source"}]
    changes = {"form": redistributed, "promises": targets, "partition": {"method": "stratum"}}
    assert list(validator.iter_errors(change_spec(changes))) == []
    for fakes in ({"by": "width"}, {"most": 1, "by": "size"}, {"most": 1, "of": 2}, [1]):
        form = {"form": {**redistributed, "fakes": fakes}}
        assert list(validator.iter_errors(change_spec({**changes, **form})))
    for wrong in ({"colour": 1}, {"name": "Wages"}, {"columns/age/role": "x"}, {"version": 3}):
        assert list(validator.iter_errors(change_spec(wrong)))
