"""Composed versions in a spec."""

import pytest
import yaml

from sfumato.expectations.shared.errors import SpecError
from sfumato.flows.inputs.resolved import resolve_run
from sfumato.flows.inputs.spec import read_spec
from tests.release.evolving import KINDS, spec


def read(folder, **changes):
    path = folder / "spec.yaml"
    document = {**spec("split", "line", folder), **changes}
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    (folder / "people.csv").write_text("id,age,zip,edu,job,hours\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("first", "other"),
    [
        ("composed", {"rule": "composed"}),
        ({"rule": "composed"}, {"rule": "composed", "vacancies": "keep", "changes": "withhold"}),
        ({"rule": "composed", "cohort": 3}, {"rule": "composed", "retire": "1/4"}),
        (
            {"rule": "composed", "vacancies": "refill"},
            {"rule": "composed", "vacancies": "refill", "consolidate": False},
        ),
        ("disjoint", {"rule": "disjoint"}),
        ("accepted-risk", {"rule": "accepted-risk"}),
    ],
)
def test_the_same_declaration_has_one_digest(tmp_path, monkeypatch, first, other):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    digests = {resolve_run(read(tmp_path, versions=rule)).terms.digest() for rule in (first, other)}
    assert len(digests) == 1


def test_what_is_composed_is_another_declaration_of_a_later_format(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    composed = resolve_run(read(tmp_path, versions="composed")).terms
    first = resolve_run(read(tmp_path, versions={"rule": "composed", "changes": "as-first"})).terms
    disjoint = resolve_run(read(tmp_path, versions="disjoint")).terms
    assert len({composed.digest(), first.digest(), disjoint.digest()}) == 3
    assert (composed.format, disjoint.format) == (2, 0)


ROW = {"unit": "row", "columns": {"age": {"role": "quasi-identifier", "type": "integer"}}}


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        (
            {"versions": {"rule": "other"}},
            "versions: must be one of disjoint, accepted-risk, composed",
        ),
        (
            {"versions": {"rule": "disjoint", "cohort": 2}},
            "versions: cohort: is an option of `rule",
        ),
        ({"versions": {"rule": "composed", "cohort": 0}}, "versions.cohort"),
        ({"versions": {"rule": "composed", "retire": 2}}, "versions.retire"),
        ({"versions": {"rule": "composed", "vacancies": "none"}}, "versions.vacancies"),
        (
            {"versions": {"rule": "composed", "share": "1/3"}},
            ("versions.share: is a share of the presence"),
        ),
        ({"versions": {"rule": "composed", "share": "2"}}, "versions.share"),
        ({"versions": {"rule": "composed", "shares": 1}}, "versions.shares"),
        ({"remember": "units"}, "remember: `units` does not keep who is in which group"),
        (
            {"name": "people"},
            ("name: people is the name of the directory of private records of people"),
        ),
        (
            {"source": {"uri": "people.csv", "format": "csv", "where": "job = 'job 1'"}},
            "source.where: uses the sensitive column 'job'",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_its_path(tmp_path, changes, fault):
    with pytest.raises(SpecError) as raised:
        read_spec(read(tmp_path, **changes))
    assert fault in str(raised.value)
    assert "\n" not in str(raised.value)


RECURSIVE = {"model": "l-diversity", "variant": "recursive", "l": 2, "c": 3}
LIKELY = [
    ("ranges", {"model": "t-closeness", "t": "0.3", "distance": "ordered"}),
    ("ranges", {"model": "l-diversity", "variant": "entropy", "l": 2}),
    ("ranges", RECURSIVE),
    ("generalized", RECURSIVE),
    ("generalized", {"model": "alpha-k", "alpha": "0.5", "k": 2, "values": ["job 1"]}),
]


@pytest.mark.parametrize("vacancies", ["paired", "refill"])
@pytest.mark.parametrize(("kind", "promise"), LIKELY)
def test_slots_that_change_hands_keep_no_promise_of_how_likely_values_are(
    tmp_path, vacancies, kind, promise
):
    versions = {"rule": "composed", "vacancies": vacancies}
    promises = [*KINDS[kind][2], promise]
    with pytest.raises(SpecError) as raised:
        read_spec(kind_of(kind, tmp_path, versions=versions, promises=promises))
    assert f"versions.vacancies: with {vacancies}, every value of a group stays" in str(
        raised.value
    )
    assert f"promises.{len(promises) - 1} (" in str(raised.value)
    read_spec(kind_of(kind, tmp_path, versions="composed", promises=promises))
    read_spec(kind_of(kind, tmp_path, versions=versions))


@pytest.mark.parametrize("promise", [promise for _, promise in LIKELY[1:3]])
def test_of_groups_whose_values_all_differ_every_promise_is_kept(tmp_path, promise):
    versions = {"rule": "composed", "vacancies": "refill"}
    promises = [*KINDS["split"][2], promise]
    read_spec(kind_of("split", tmp_path, versions=versions, promises=promises))
    columns = spec("split", "line", tmp_path)["columns"] | {
        "hours": {"role": "sensitive", "type": "integer", "unprotected": "of no interest"}
    }
    promises = [{**promise, "sensitive": "job"} for promise in promises]
    with pytest.raises(SpecError, match="anatomy with one sensitive column"):
        read_spec(kind_of("split", tmp_path, versions=versions, promises=promises, columns=columns))


CLOSING = {"rule": "composed", "vacancies": "refill", "consolidate": True}


def test_people_move_only_between_groups_whose_values_all_differ(tmp_path):
    for vacancies in ("paired", "refill"):
        read_spec(kind_of("split", tmp_path, versions={**CLOSING, "vacancies": vacancies}))
    with pytest.raises(SpecError, match=r"versions\.consolidate: needs vacant slots to give away"):
        read_spec(kind_of("split", tmp_path, versions={**CLOSING, "vacancies": "keep"}))
    message = "versions.consolidate: moves people between groups in which all values differ"
    columns = spec("split", "line", tmp_path)["columns"] | {
        "hours": {"role": "sensitive", "type": "integer", "unprotected": "of no interest"}
    }
    promises = [{**promise, "sensitive": "job"} for promise in KINDS["split"][2]]
    labels = {"partition": {"method": "anatomy"}, "promises": KINDS["split"][2]}
    for kind, changes in (
        ("ranges", {}),
        ("generalized", {}),
        ("generalized", labels),
        ("split", {"columns": columns, "promises": promises}),
    ):
        with pytest.raises(SpecError, match=message):
            read_spec(kind_of(kind, tmp_path, versions=CLOSING, **changes))


@pytest.mark.parametrize("kind", ["ambiguous", "redistributed"])
def test_forms_that_show_groups_as_first_made_give_no_slot_away(tmp_path, kind):
    with pytest.raises(
        SpecError, match=r"shows each group as it was first made\. Write `vacancies: keep`"
    ):
        read_spec(kind_of(kind, tmp_path, versions={"rule": "composed", "vacancies": "refill"}))


@pytest.mark.parametrize("kind", ["ambiguous", "redistributed"])
def test_forms_that_show_groups_as_first_made_show_nobody_twice(tmp_path, kind):
    with pytest.raises(SpecError, match=r"versions\.changes: `reinsert` needs groups that can"):
        read_spec(kind_of(kind, tmp_path, versions={"rule": "composed", "changes": "reinsert"}))


def test_vacancies_are_declared(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    rules = [
        {"rule": "composed", "vacancies": vacancies} for vacancies in ("keep", "paired", "refill")
    ]
    rules += [{"rule": "composed", "changes": change} for change in ("reinsert", "as-first")]
    rules += [{"rule": "composed", "vacancies": "refill", "consolidate": True}]
    digests = {resolve_run(read(tmp_path, versions=rule)).terms.digest() for rule in rules}
    assert len(digests) == 6


def kind_of(kind, folder, **changes):
    path = read(folder)
    document = {**spec(kind, "line", folder), **changes}
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path


def test_rows_that_are_people_cannot_be_known_again(tmp_path):
    columns = spec("split", "line", tmp_path)["columns"]
    columns = {name: column for name, column in columns.items() if name != "id"}
    with pytest.raises(
        SpecError, match=("versions: `composed` must recognize each person in later")
    ):
        read_spec(read(tmp_path, columns=columns, unit="row"))


def test_slots_of_another_line_are_not_given_away(tmp_path):
    document = spec("split", "line", tmp_path)
    del document["partition"]
    document |= {"groups": "other", "versions": {"rule": "composed", "vacancies": "refill"}}
    path = read(tmp_path)
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    with pytest.raises(SpecError, match="the other line decides who gets which place"):
        read_spec(path)
