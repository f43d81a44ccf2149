"""Numbers of rows from the spec to the release: refusals, gate, both verifiers, and words."""

import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.expectations.shared.errors import PromiseError, SpecError
from sfumato.flows.inputs.spec import read_spec
from sfumato.tasks.forms.related import apart
from sfumato.tasks.publication.check import check
from sfumato.tasks.terms.opened import open_release
from tests.flow_here import release_here
from tests.numbers.clinic import DIVERSE, EASY, NUMBER, spec_of_numbers, tables
from tests.related.hospital import made_up
from tests.release.forge import edit

VERIFY = Path(__file__).parents[2] / "deployments" / "verifier" / "verify.mjs"
HOSPITAL = made_up(5, 120)
COUNT = {"type": "integer", "derive": "COUNT(*)"}
COST = {"type": "integer", "derive": "COALESCE(SUM(cost), 0)"}


@pytest.fixture(scope="module", params=["shuffled", "published"])
def a_release(request, tmp_path_factory):
    """The way in which numbers are shown, and a release."""
    place = tmp_path_factory.mktemp(request.param)
    promises = [
        {"model": "people", "k": 2, "numbers": "known"},
        {**DIVERSE, "insiders": 1},
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SFUMATO_WORK", str(place / "work"))
        yield (
            request.param,
            release_here(spec_of_numbers(place, HOSPITAL, request.param, promises=promises)),
        )


def true_numbers() -> dict[tuple[int, str], list[int]]:
    """The numbers of stays of the people with each age and sex, ascending."""
    own = Counter(HOSPITAL.stays["patient"].to_pylist())
    numbers: dict[tuple[int, str], list[int]] = {}
    for person in HOSPITAL.patients.to_pylist():
        numbers.setdefault((person["age"], person["sex"]), []).append(own[person["patient"]])
    return {key: sorted(each) for key, each in numbers.items()}


def test_numbers_are_those_of_the_people_or_of_the_group(a_release):
    kind, directory = a_release
    people = pq.read_table(directory / "data" / "patients.parquet").to_pylist()
    read: dict[tuple[int, str], list[int]] = {}
    for person in people:
        read.setdefault((person["age"], person["sex"]), []).append(person[NUMBER])
    truth = true_numbers()
    same = sum(sorted(each) == truth[key] for key, each in read.items())
    assert (same == len(truth)) == (kind == "published")
    groups = pq.read_table(directory / "data" / "group_counts.parquet").to_pylist()
    for group in groups:
        own = [p[NUMBER] for p in people if p["group_id"] == group["group_id"]]
        assert sum(own) == group["related_rows"]
        assert max(own) == group["most_rows"]


def test_the_release_says_what_is_shown(a_release):
    kind, directory = a_release
    declared = open_release(directory).declared
    column = declared.columns[NUMBER]
    assert column.derive == "COUNT(*)"
    assert column.role == {"shuffled": "sensitive", "published": "insensitive"}[kind]
    assert json.loads((directory / "datapackage.json").read_text())["sfumato"]["format"] == 16
    page = (directory / "index.html").read_text(encoding="utf-8")
    assert ("How many rows a person has is not hidden" in page) == (kind == "published")
    assert ("shuffled within each group" in page) == (kind == "shuffled")
    assert "of people with rows</code>, which only the publisher" not in page
    checked = check(directory)
    assert checked.shows_numbers_of_rows


@pytest.mark.node
def test_both_verifiers_agree(a_release, tmp_path):
    kind, directory = a_release

    def verdict(release):
        command = ["node", str(VERIFY), str(release), "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return json.loads(done.stdout)

    def promise(document, model):
        return next(p for p in document["promises"] if p["model"] == model)

    def column(document):
        return next(c for c in document["columns"] if c["name"] == NUMBER)

    answer = verdict(directory)
    assert answer["verdict"] == "valid", answer
    changes = {
        "more people with rows": lambda d: promise(d, "people").update(k=3),
        "no number": lambda d: column(d).pop("derive"),
    }
    if kind == "published":
        changes |= {
            "hidden": lambda d: promise(d, "people").update(numbers="hidden"),
            "presence": lambda d: column(d).update(derive="COUNT(*) > 0"),
            "alpha": lambda d: d["promises"].append(
                {
                    "model": "related-alpha",
                    "alpha": 1,
                    "sensitive": "diagnosis",
                    "quasi-identifiers": ["age", "sex"],
                }
            ),
        }
    for name, change in changes.items():
        place = tmp_path / name / directory.parent.name / directory.name
        shutil.copytree(directory, place)
        edit(place, lambda document, change=change: change(document["sfumato"]))
        with pytest.raises(PromiseError):
            check(place)
        answer = verdict(place)
        assert answer["verdict"] == "refused", name
        assert name not in ("hidden", "alpha") or "F10.6" in json.dumps(answer), answer


@pytest.mark.parametrize("kind", ["shuffled", "published"])
@pytest.mark.parametrize("exchanged", ["between groups", "within a group"])
def test_the_gate_refuses_numbers_of_others(kind, exchanged, tmp_path, monkeypatch):
    """Within a group only the record of groups can tell whose a published number is."""
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    published = apart.publish

    def publish_exchanged(*arguments):
        tables_ = dict(published(*arguments))
        people = tables_["patients"]
        ids, numbers = people["group_id"].to_pylist(), people[NUMBER].to_pylist()
        ages = people["age"].to_pylist()
        first, second = next(
            (i, j)
            for i in range(len(ids))
            for j in range(len(ids))
            if numbers[i] != numbers[j]
            and ages[i] != ages[j]
            and (ids[i] == ids[j]) == (exchanged == "within a group")
        )
        numbers[first], numbers[second] = numbers[second], numbers[first]
        place = people.column_names.index(NUMBER)
        changed = people.set_column(place, NUMBER, pa.array(numbers, pa.int64()))
        return {**tables_, "patients": changed}

    monkeypatch.setattr(apart, "publish", publish_exchanged)
    spec = spec_of_numbers(tmp_path, made_up(2, 60), kind)
    if (kind, exchanged) == ("shuffled", "within a group"):
        release_here(spec)
        return
    with pytest.raises(PromiseError):
        release_here(spec)


def test_promises_are_kept_against_those_who_read_the_numbers(tmp_path):
    spec = read_spec(spec_of_numbers(tmp_path, HOSPITAL, "published"))
    assert [promise.numbers for promise in spec.scoped_promises()] == ["known", "known"]
    spec = read_spec(spec_of_numbers(tmp_path, HOSPITAL, "shuffled"))
    assert [promise.numbers for promise in spec.scoped_promises()] == ["hidden", "known"]
    hidden = [EASY[0], {**DIVERSE, "numbers": "hidden"}]
    spec = read_spec(spec_of_numbers(tmp_path, HOSPITAL, "shuffled", promises=hidden))
    assert spec.scoped_promises()[1].facts == "numbers"


@pytest.mark.parametrize("kind", ["shuffled", "published"])
def test_a_number_that_is_named_is_not_added_twice(kind, tmp_path):
    role = {"shuffled": "sensitive", "published": "insensitive"}[kind]
    column = {**COUNT, "role": role}
    if kind == "shuffled":
        column["unprotected"] = "for a test"
    both = tables(kind, times=column)
    spec = read_spec(spec_of_numbers(tmp_path, HOSPITAL, kind, tables=both))
    assert list(spec.facts) == ["times"]


def test_shuffled_numbers_can_have_a_promise(tmp_path):
    promises = [*EASY, {"model": "l-diversity", "variant": "distinct", "l": 2, "sensitive": NUMBER}]
    spec = read_spec(spec_of_numbers(tmp_path, HOSPITAL, "shuffled", promises=promises))
    assert spec.columns[NUMBER].unprotected is None


@pytest.mark.parametrize(
    ("kind", "changes", "why"),
    [
        (
            "published",
            {"promises": [{**EASY[0], "numbers": "hidden"}, DIVERSE]},
            r"promises.0.numbers: hidden cannot be kept where numbers of rows are published.*"
            r"Write `numbers: known`, or `numbers: hidden` in the table of rows",
        ),
        (
            "published",
            {"promises": [{**DIVERSE, "numbers": "hidden"}]},
            r"promises.0.numbers: hidden cannot be kept",
        ),
        (
            "published",
            {"promises": [{"model": "related-alpha", "alpha": 0.9, "sensitive": "diagnosis"}]},
            r"promises.0: related-alpha cannot be kept.*the more rows the person has.*"
            r"`numbers: shuffled`",
        ),
        (
            "published",
            {
                "tables": tables(
                    "published",
                    had_flu={
                        "role": "sensitive",
                        "type": "boolean",
                        "derive": "COALESCE(BOOL_OR(diagnosis = 'flu'), FALSE)",
                        "unprotected": "for a test",
                    },
                ),
                "promises": [{"model": "people", "k": 2}, {**DIVERSE, "l": 1}],
            },
            r"had_flu.derive: a fact that is shuffled.*`numbers: shuffled`, or leave it out",
        ),
        (
            "hidden",
            {"tables": tables("hidden", times={**COUNT, "role": "insensitive"})},
            r"tables.stays.numbers: must be published, because the column times is",
        ),
        (
            "hidden",
            {"tables": tables("hidden", times={**COST, "role": "insensitive"})},
            r"tables.patients.columns.times.role: only the number of rows can be published",
        ),
        (
            "published",
            {"tables": tables("published", number_of_stays={"role": "insensitive"})},
            r"tables.stays.numbers: the number of rows would be the column number_of_stays, and.*"
            r"`times: \{role: insensitive, type: integer, derive: COUNT\(\*\)\}`",
        ),
    ],
)  # fmt: skip
def test_specs_are_refused_with_what_to_write(kind, changes, why, tmp_path):
    with pytest.raises(SpecError, match=why):
        read_spec(spec_of_numbers(tmp_path, HOSPITAL, kind, **changes))
