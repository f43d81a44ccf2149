"""Codings in a spec: every refusal names the place and the rule on one line."""

import copy

import pytest
import yaml

from sfumato.expectations.shared.errors import SpecError
from sfumato.flows.inputs.spec import json_schema, read_spec
from sfumato.tasks.schema.codings import KEYS

COLUMNS = {
    "person": {"role": "identifier", "unit": True},
    "age": {"role": "quasi-identifier", "type": "integer"},
    "town": {"role": "quasi-identifier"},
    "born": {"role": "insensitive", "type": "date"},
    "seen": {"role": "insensitive", "type": "timestamp"},
    "rate": {"role": "insensitive", "type": "float"},
    "wage": {"role": "sensitive", "type": "decimal"},
    "note": {"role": "drop"},
}
SPEC = {
    "version": 1,
    "name": "wages",
    "title": "Wages of a town",
    "source": {"uri": "people.csv"},
    "columns": COLUMNS,
    "promises": [
        {"model": "k-anonymity", "k": 3},
        {"model": "l-diversity", "variant": "distinct", "l": 2},
    ],
    "partition": {"method": "mondrian"},
    "form": {"method": "generalized"},
    "publish": {"uri": "public"},
}


@pytest.fixture
def read(tmp_path):
    def read(columns, **changes):
        spec = copy.deepcopy({**SPEC, **changes})
        for name, keys in columns.items():
            spec["columns"][name] |= keys
        path = tmp_path / "wages.yaml"
        path.write_text(yaml.safe_dump(spec), encoding="utf-8")
        return read_spec(path)

    return read


def test_all_codings_are_read(read, tmp_path):
    spec = read(
        {
            "age": {"top": 90, "bottom": {"share": 0.01}, "round": {"to": 5}},
            "town": {"prefix": 3, "fold": {"below": 10, "into": "other"}},
            "born": {"shift": {"days": 30}, "top": "2020-01-01"},
            "seen": {"shift": {"days": 30}},
            "rate": {"top": 1.5},
            "wage": {"round": {"to": 0.05, "ties": "up"}, "top": "99.95", "free-text": None},
            "person": {"pseudonym": {"purpose": "study-1", "beside": ["wage", "age"]}},
        }
    )
    columns = spec.terms(tmp_path).columns
    assert list(columns["age"].codings) == ["bottom", "top", "round"]
    assert columns["age"].computed_keys == ("bottom",)
    assert columns["age"].top == "90"
    assert (columns["wage"].round.to, columns["wage"].round.ties) == ("0.05", "up")
    assert columns["town"].codings.keys() == {"prefix", "fold"}


def test_a_declaration_says_no_more_than_is_asked_for(read, tmp_path):
    """A line that codes nothing has the digest that it had, and one that does has another."""
    plain = read({}).terms(tmp_path)
    coded = read({"age": {"top": 90}}).terms(tmp_path)
    keys = {*KEYS, "free_text", "pseudonym"}
    listed = plain.model_dump(mode="json")["columns"]
    assert not any(keys & column.keys() for column in listed)
    assert (plain.format, coded.format) == (0, 4)
    assert coded.digest() != plain.digest()
    assert type(coded).model_validate(coded.model_dump(mode="json")) == coded


def test_a_pseudonym_is_in_no_declaration(read, tmp_path):
    pseudonym = {"person": {"pseudonym": {"purpose": "study", "beside": ["age"]}}}
    assert read(pseudonym).terms(tmp_path).digest() == read({}).terms(tmp_path).digest()


REFUSED = {
    "a number moved": ("age", {"shift": {"days": 3}}, "columns.age: shift: needs type date or"),
    "a text cut at the top": ("town", {"top": "x"}, "columns.town: top: needs type date or"),
    "a float rounded": ("rate", {"round": {"to": 1}}, "round: needs type decimal or integer, not"),
    "a number cut short": ("age", {"prefix": 2}, "prefix: needs type string, not integer"),
    "a number united": ("age", {"unite": "spellings"}, "unite: needs type string, not integer"),
    "a number folded": ("age", {"fold": {"below": 5, "into": "x"}}, "fold: needs type string"),
    "no threshold": ("age", {"top": "old"}, "columns.age: top: not of type integer"),
    "half a year": ("age", {"top": 90.5}, "columns.age: top: not of type integer"),
    "too large": ("age", {"top": str(2**63)}, "top: is not an integer of 64 bits"),
    "too fine": ("wage", {"round": {"to": "1e-19"}}, "round.to: has more than 18 decimals"),
    "too far": ("wage", {"top": "1e20"}, "top: has more than 20 digits before the point"),
    "much too far": ("rate", {"top": "1e999999999"}, "has too many digits"),
    "much too fine": ("wage", {"round": {"to": "1e-999999999"}}, "has too many digits"),
    "endless": ("age", {"top": "9" * 65}, "columns.age.top"),
    "upside down": ("age", {"top": 5, "bottom": 5}, "bottom: is not below top"),
    "no step": ("age", {"round": {"to": 0}}, "round.to: must be more than 0"),
    "between": (
        "age",
        {"round": {"to": 4}, "top": 90},
        ("top: is not a multiple of round.to, and would be rounded"),
    ),
    "in part": (
        "wage",
        {"round": {"to": ".2"}, "top": "1.1"},
        ("top: is not a multiple of round.to, and would be rounded"),
    ),
    "all": ("age", {"top": {"share": 0.5}}, "columns.age.top"),
    "none": ("age", {"top": {"share": 0}}, "columns.age.top"),
    "of one": ("town", {"fold": {"below": 1, "into": "x"}}, "columns.town.fold.below"),
    "a coded identifier": ("person", {"prefix": 2}, "role identifier is in no published table"),
    "a coded nothing": ("note", {"prefix": 2}, "note: prefix: a column with role drop"),
    "a reason for nothing": ("note", {"free-text": "x"}, "note: free-text: a column with role"),
    "no text": (
        "age",
        {"free-text": "x"},
        ("free-text: is for columns of texts, and this column has type integer"),
    ),
    "a named town": (
        "town",
        {"pseudonym": {"purpose": "p"}},
        ("pseudonym: only an identifier can have one, and this"),
    ),
    "a purpose": ("person", {"pseudonym": {"purpose": "../x"}}, "person.pseudonym.purpose"),
    "beside": (
        "person",
        {"pseudonym": {"purpose": "p", "beside": ["note"]}},
        "columns.person.pseudonym.beside: 'note' is not a published",
    ),
    "decades": ("born", {"shift": {"days": 36_501}}, "columns.born.shift.days"),
}


@pytest.mark.parametrize("refused", REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_a_column(read, refused):
    name, keys, words = refused
    with pytest.raises(SpecError) as failed:
        read({name: keys})
    assert words in str(failed.value)
    assert "\n" not in str(failed.value)


@pytest.mark.parametrize(
    ("changes", "columns", "words"),
    [
        (
            {"partition": {"method": "anatomy"}, "form": {"method": "permuted"}}
            | {"promises": [{"model": "l-diversity", "variant": "distinct", "l": 2}]},
            {"born": {"shift": {"days": 3}}},
            "columns.born.shift: form permuted shows exact dates",
        ),
        (
            {"unit": "row"},
            {"person": {"unit": False}, "born": {"shift": {"days": 3}}},
            "columns.born.shift: moves the dates of each person",
        ),
        (
            {},
            {"born": {"shift": {"days": 3}}, "seen": {"shift": {"days": 4}}},
            "columns.seen.shift: differs from the shift of 'born'",
        ),
        (
            {"source": {"uri": "people.parquet", "format": "parquet"}, "remember": "units"}
            | {"parts": {"rows": 10}},
            {"age": {"top": {"share": 0.1}}},
            "columns.age.top: is computed from all rows at once",
        ),
        (
            {"source": {"uri": "people.csv", "sha256": "0" * 64}},
            {
                "person": {
                    "generated": "row-number",
                    "type": "integer",
                    "pseudonym": {"purpose": "p"},
                }
            },
            "columns.person.pseudonym: the column has generated row",
        ),
    ],
)
def test_what_does_not_fit_a_spec(read, changes, columns, words):
    with pytest.raises(SpecError) as failed:
        read(columns, **changes)
    assert words in str(failed.value)


def test_a_population_is_not_coded(read):
    promise = {"model": "delta-presence", "min": 0, "max": 0.5, "population": "all.csv"}
    promises = [*SPEC["promises"], {**promise, "quasi-identifiers": ["age"]}]
    assert read({"town": {"prefix": 1}}, promises=promises)
    with pytest.raises(SpecError, match=r"promises\.2: delta-presence compares 'age' with a pop"):
        read({"age": {"top": 90}}, promises=promises)


def test_the_schema_tells_of_each_key():
    column = json_schema()["$defs"]["ColumnSpec"]["properties"]
    for key in (*KEYS, "free-text", "pseudonym"):
        assert column[key]["description"]
