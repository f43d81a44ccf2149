"""Columns dropped unnamed, roles that are proposed, and which leaves are published."""

import csv

import pytest
import yaml

from sfumato.expectations.shared.errors import InputError, PromiseError, SpecError
from sfumato.flows.inputs.resolved import resolve_run
from sfumato.flows.inputs.spec import read_spec
from sfumato.tasks.forms.label_readers import reader
from sfumato.tasks.forms.labels import admits
from sfumato.tasks.microdata.table import seeded_keys
from sfumato.tasks.publication.check import check
from sfumato.tasks.query.ask import answer
from sfumato.tasks.schema.formats import lowest_format
from sfumato.tasks.schema.published import DeclaredColumn
from sfumato.tasks.stages import anonymize
from sfumato.tasks.terms.opened import open_release
from tests.lines import prepare, publish_prepared
from tests.spec.test_spec import change_spec

NAMES = ["person", "age", "town", "wage", "note"]
SEEN = {"source/seen": NAMES, "other-columns": "drop"}
TO_ASK = ". The column is dropped: to filter by it, write it under"


def write(place, changes):
    path = place / "wages.yaml"
    path.write_text(yaml.safe_dump(change_spec(changes), sort_keys=False), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"other-columns": "drop"}, "other-columns: `drop` and source.seen need each other."),
        ({"source/seen": NAMES}, "other-columns: `drop` and source.seen need each other."),
        (SEEN | {"source/seen": ["age", "age"]}, "source.seen: names a column twice"),
        (SEEN | {"source/seen": [*NAMES[:3], "Wage"]}, "is missing in source.seen: 'Wage'?"),
        (SEEN | {"source/where": "note = 'x'"}, f"source.where: unknown column 'note'{TO_ASK}"),
        ({"roles": "proposed"}, "roles: are proposed and not confirmed yet"),
    ],
)
def test_refusals(tmp_path, changes, message):
    with pytest.raises(SpecError) as caught:
        read_spec(write(tmp_path, changes))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_same_terms_as_with_a_line_for_each(tmp_path):
    one_by_one = resolve_run(write(tmp_path, {"columns/note": {"role": "drop"}}))
    at_once = resolve_run(write(tmp_path, SEEN | {"roles": "confirmed"}))
    assert at_once.terms.digest() == one_by_one.terms.digest()
    assert "note" in at_once.withheld


def source(place, names, rows=60):
    with (place / "people.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        rows_ = [[n, 20 + n % 9, "abcd"[n % 4], 100 + 7 * n, "x"] for n in range(rows)]
        writer.writerows([row[: len(names)] + ["y"] * (len(names) - 5) for row in rows_])


def release(spec, place):
    run = place / "run"
    return publish_prepared(prepare(spec, run, seeded_keys(1)), run).directory


@pytest.fixture(autouse=True)
def work(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    return tmp_path / "work"


def test_a_later_column_is_refused_and_seen_ones_are_not_read(tmp_path):
    source(tmp_path, NAMES)
    spec = write(tmp_path, SEEN)
    published = release(spec, tmp_path)
    assert "note" not in (published / "datapackage.json").read_text(encoding="utf-8")
    source(tmp_path, [*NAMES, "hiv"])
    with pytest.raises(InputError) as caught:
        prepare(spec, tmp_path / "again", seeded_keys(1))
    message = "people.csv: column 6 of 6 is not in the spec and is not in source.seen"
    assert str(caught.value) == message


def test_a_dropped_column_with_a_line_can_be_asked_about(tmp_path):
    source(tmp_path, NAMES)
    dropped = {"columns/note": {"role": "drop"}, "source/where": "note = 'x' AND age < 25"}
    published = release(write(tmp_path, SEEN | dropped), tmp_path)
    result = answer(open_release(published), "SELECT COUNT(*) AS n FROM microdata")
    assert result.rows[0]["n"].lower == result.rows[0]["n"].upper == 35


@pytest.mark.parametrize("where", ["height > 3", "sum(age) > 3", "age > 'x'"])
def test_a_filter_that_cannot_be_read_is_told_with_the_spec(tmp_path, where):
    with pytest.raises(SpecError, match=r"source\.where: ") as caught:
        read_spec(write(tmp_path, {"source/where": where}))
    assert TO_ASK not in str(caught.value)


HIERARCHY = "a,ab,*\nb,ab,*\nc,cd,*\nd,cd,*\ne,ef,*\nf,ef,*\n"
RECODED = {
    "promises": [
        {"model": "k-anonymity", "k": 3},
        {"model": "l-diversity", "variant": "distinct", "l": 2},
    ],
    "partition": {"method": "mondrian"},
    "form": {"method": "generalized"},
}
WHOLE, USED = HIERARCHY, HIERARCHY[: HIERARCHY.index("e,")]


@pytest.mark.parametrize(
    ("version", "hierarchy", "published"),
    [
        (1, "towns.csv", WHOLE),
        (2, "towns.csv", USED),
        (1, {"file": "towns.csv"}, USED),
        (2, {"file": "towns.csv"}, USED),
        (2, {"file": "towns.csv", "public": True}, WHOLE),
    ],
)
def test_which_leaves_are_published(tmp_path, version, hierarchy, published):
    source(tmp_path, NAMES)
    (tmp_path / "towns.csv").write_text(HIERARCHY, encoding="utf-8")
    spec = write(
        tmp_path, SEEN | RECODED | {"version": version, "columns/town/hierarchy": hierarchy}
    )
    terms = resolve_run(spec).terms
    assert lowest_format(terms) == (5 if published is USED else 0)
    made = release(spec, tmp_path)
    assert (made / "hierarchies" / "town.csv").read_text(encoding="utf-8") == published
    assert check(made).derived == "equal"
    assert ("e" in terms.hierarchies["town"][4]) is True  # the terms have them all


def test_a_hierarchy_of_which_the_root_alone_is_published_is_left_out(tmp_path):
    source(tmp_path, NAMES)
    (tmp_path / "towns.csv").write_text(HIERARCHY, encoding="utf-8")
    changes = RECODED | {"promises": [{"model": "k-anonymity", "k": 60}, RECODED["promises"][1]]}
    spec = write(tmp_path, SEEN | changes | {"version": 2, "columns/town/hierarchy": "towns.csv"})
    made = release(spec, tmp_path)
    assert not (made / "hierarchies").exists()
    assert check(made).derived == "equal"
    (row,) = answer(open_release(made), "SELECT COUNT(*) FROM microdata WHERE town = 'a'").rows
    assert (row["count(*)"].lower, row["count(*)"].upper) == (0, 60)  # a star admits any value


@pytest.mark.parametrize("value", ["a", "e"])
@pytest.mark.parametrize("leaves", ["all", "published"])
def test_a_star_admits_leaves_that_are_not_published(value, leaves):
    """Otherwise bounds of what selects a suppressed value would be too narrow."""
    rows = tuple(tuple(line.split(",")) for line in USED.splitlines())
    keys = {"role": "quasi-identifier", "type": "string", "hierarchy": rows, "leaves": leaves}
    read = reader("town", DeclaredColumn(**keys))
    assert admits(read("*"), value) is (value == "a" or leaves == "published")
    assert admits(read("ab"), value) is (value == "a")


def test_a_hierarchy_without_a_file_needs_none(tmp_path):
    runs = {"ordered": list("abcdef"), "runs": [2]}
    source(tmp_path, NAMES)
    spec = write(tmp_path, SEEN | RECODED | {"version": 2, "columns/town/hierarchy": runs})
    made = release(spec, tmp_path)
    assert "e to f" not in (made / "datapackage.json").read_text(encoding="utf-8")


def test_values_that_a_hierarchy_lacks_are_listed_privately(tmp_path, work):
    source(tmp_path, NAMES)
    (tmp_path / "towns.csv").write_text("a,*\nb,*\n", encoding="utf-8")
    spec = write(tmp_path, SEEN | RECODED | {"version": 2, "columns/town/hierarchy": "towns.csv"})
    line = work / "wages"
    with pytest.raises(InputError) as caught:
        prepare(spec, line / "runs" / "0123456789abcdef", seeded_keys(1))
    listed = line / "absent-leaves.csv"
    text = f"(2 values are) (a private list of the values without a leaf is in {listed})"
    assert text in str(caught.value)
    assert listed.read_text(encoding="utf-8") == "column,value\ntown,c\ntown,d\n"
    assert listed.stat().st_mode & 0o777 == 0o600


def test_leaves_that_are_not_used_are_refused_before_they_appear(tmp_path, monkeypatch):
    """A release that publishes them, and says that it does not, does not keep its word."""
    source(tmp_path, NAMES)
    (tmp_path / "towns.csv").write_text(HIERARCHY, encoding="utf-8")
    monkeypatch.setattr(anonymize, "with_published_leaves", lambda columns, _tables: columns)
    changes = {"version": 2, "columns/town/hierarchy": "towns.csv"}
    with pytest.raises(PromiseError, match="a hierarchy has leaves under no published label"):
        release(write(tmp_path, SEEN | RECODED | changes), tmp_path)
