"""A partition that is chosen: from what goes with the spec, once for the line, and kept."""

import copy
import json
import os
import shutil

import pyarrow.parquet as pq
import pytest
import yaml

from sfumato.expectations.shared.errors import SpecError
from sfumato.flows.cli.main import run
from sfumato.flows.inputs.spec import read_spec
from sfumato.flows.rules import candidates
from sfumato.tasks.candidates.wished import WishedTerms
from sfumato.tasks.private.people.frozen import CHOICES, keep_choice, read_choice
from sfumato.tasks.publication.publish import Published
from tests.release.small import SPEC, Small, people

AUTO = {"version": 2, "partition": {"method": "auto"}}
RANGE = {"kind": "range", "over": "age", "spans": [5]}
COUNTS = {"workloads": [{**RANGE, "aggregate": "count", "queries": 3}]}


@pytest.fixture(autouse=True)
def work(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))


@pytest.fixture
def small(tmp_path):
    return Small(tmp_path / "line").write(people(rows=120), **AUTO)


@pytest.fixture(scope="module")
def chosen_line(tmp_path_factory):
    """The folder of such a line whose first version was chosen and published."""
    folder = tmp_path_factory.mktemp("chosen")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SFUMATO_WORK", str(folder / "work"))
        Small(folder / "line").write(people(rows=120), **AUTO).publish("first")
    return folder


@pytest.fixture
def first(chosen_line, small, tmp_path):
    """The first version of a copy of it."""
    shutil.copytree(chosen_line, tmp_path, symlinks=True, dirs_exist_ok=True)
    line = small.plan().line
    (line.private / "published-in").write_bytes(os.fsencode(line.public))
    return Published(line.public / "0001", existed=False)


def spec_of(tmp_path, **changes):
    path = tmp_path / "wages.yaml"
    path.write_text(yaml.safe_dump({**copy.deepcopy(SPEC), **AUTO, **changes}), encoding="utf-8")
    return read_spec(path)


def manifest_part(published):
    manifest = json.loads((published.directory / "datapackage.json").read_text())
    return manifest["sfumato"]


def test_what_is_chosen_is_published_as_if_the_spec_had_said_it(small, first, capsys):
    declaration = manifest_part(first)
    private = small.plan().line.private
    ((_, choice),) = json.loads((private / CHOICES).read_text())["chosen"].items()
    assert declaration["partition"] == choice["partition"]
    assert declaration["partition"]["method"] != "auto"
    assert run(["check", str(first.directory)]) == 0
    capsys.readouterr()
    for file in first.directory.rglob("*"):
        assert not file.is_file() or b'"auto"' not in file.read_bytes()
    assert (private / CHOICES).stat().st_mode & 0o777 == 0o600


def test_scores_are_in_the_private_report_alone(small, first):
    report = small.plan().line.reports(first.directory.name) / "partition.json"
    tried = json.loads(report.read_text())["choice"]
    assert {alternative["partition"]["method"] for alternative in tried} >= {
        "ke",
        "hybrid",
        "contiguous",
    }
    scores = [alternative["score"] for alternative in tried if alternative["score"] is not None]
    assert len(scores) > 3
    public = b"".join(f.read_bytes() for f in first.directory.rglob("*") if f.is_file())
    assert not any(str(score).encode() in public for score in scores)


def test_the_same_source_and_spec_stand_and_later_versions_use_what_was_chosen(small, first):
    assert isinstance(spec_terms(small), WishedTerms)
    again = small.publish("again")
    assert (again.existed, again.directory) == (True, first.directory)
    assert not isinstance(small.plan().terms, WishedTerms)
    small.write(people(first=500, rows=90, seed=5), **AUTO)
    second = small.publish("second")
    assert second.directory.name == "0002"
    assert manifest_part(second)["partition"] == manifest_part(first)["partition"]


def spec_terms(small):
    """The terms that the spec itself has."""
    return read_spec(small.spec).terms(small.folder)


def test_another_workload_to_evaluate_does_not_choose_again(small, first):
    workload = {"kind": "range", "aggregate": "avg", "over": "age", "spans": [30], "queries": 3}
    small.write(people(rows=120), **AUTO, evaluate={"workloads": [workload]})
    assert small.publish("again").directory == first.directory


@pytest.mark.parametrize(
    "words",
    [
        {"title": "Wages of others"},
        {"publish": {"uri": "public", "formats": ["parquet", "csv"]}},
    ],
)
def test_words_that_decide_nothing_do_not_choose_again(small, first, words):
    small.write(people(first=500, rows=90, seed=5), **{**AUTO, **words})
    assert not isinstance(small.plan().terms, WishedTerms)
    second = small.publish("second")
    assert second.directory != first.directory
    assert manifest_part(second)["partition"] == manifest_part(first)["partition"]


def test_the_wish_is_of_what_decides(small):
    terms = spec_terms(small)
    wage = terms.columns["wage"]

    def wish(**changes):
        columns = {**terms.columns, "wage": wage.model_copy(update=changes)}
        return terms.model_copy(update={"columns": columns}).wish

    assert wish(unprotected="nobody asks") == terms.wish
    assert wish(nulls=True) != terms.wish
    assert terms.model_copy(update={"strata": ("age",)}).wish != terms.wish


def test_what_earlier_software_chose_is_used(small):
    """It was kept by the digest of all terms."""
    chosen = {"partition": {"method": "ke", "objective": "max"}, "strata": []}
    terms, line = spec_terms(small), small.plan().line.private
    keep_choice(line, terms.digest(), {**chosen, "form": {"method": "permuted"}})
    assert not isinstance(small.plan().terms, WishedTerms)
    assert manifest_part(small.publish("first"))["partition"]["objective"] == "max"


def test_other_promises_choose_again(small, first):
    other = {"promises": [{"model": "ke-anonymity", "k": 4, "e": 10.5}]}
    small.write(people(first=900, rows=90, seed=8), **AUTO, **other)
    small.publish("second")
    private = small.plan().line.private
    assert len(json.loads((private / CHOICES).read_text())["chosen"]) == 2


def test_a_backup_has_what_was_chosen(small, first, tmp_path, capsys):
    private, backup = small.plan().line.private, tmp_path / "kept"
    assert run(["line", "backup", str(small.spec), str(backup)]) == 0
    before = (private / CHOICES).read_bytes()
    (private / CHOICES).unlink()
    (private / "state.json").unlink()
    assert run(["line", "restore", str(small.spec), str(backup)]) == 0
    capsys.readouterr()
    assert (private / CHOICES).read_bytes() == before
    assert small.publish("again").existed


def test_who_chose_first_has_chosen(tmp_path):
    line = tmp_path / "work" / "line"
    line.mkdir(parents=True)
    assert read_choice(line, "a" * 64) is None
    assert keep_choice(line, "a" * 64, {"form": 1}) == {"form": 1}
    assert keep_choice(line, "a" * 64, {"form": 2}) == {"form": 1}
    assert keep_choice(line, "b" * 64, {"form": 2}) == {"form": 2}


def test_all_candidates_go_with_the_spec(tmp_path):
    spec = spec_of(tmp_path)
    methods = [candidate.partition.method for candidate in spec.choosing.candidates]
    assert methods[:2] == ["ke", "ke"]
    assert "stratum" not in methods  # aims at no promise
    assert [aim.kind for aim in spec.choosing.aims] == ["range", "arbitrary"]


def test_redistributed_is_searched_by_denominator_tree_and_fakes(tmp_path):
    spec = spec_of(
        tmp_path,
        promises=[{"model": "p-privacy", "target": "uniform"}],
        form={"method": "redistributed"},
    )
    forms = [
        candidate.form
        for candidate in spec.choosing.candidates
        if candidate.partition.method == "stratum"
    ]
    assert {form.denominator for form in forms} >= {"exact", 16}
    assert {form.tree for form in forms} == {"balanced", "median"}
    assert len({form.fakes for form in forms}) == 3


def test_a_redistributed_line_is_chosen_and_published(tmp_path):
    form = {"method": "redistributed"}
    promises = [{"model": "p-privacy", "target": "uniform"}]
    small = Small(tmp_path / "line").write(people(rows=60), **AUTO, form=form, promises=promises)
    declaration = manifest_part(small.publish("first"))
    assert declaration["partition"]["method"] in ("stratum", "exact-qi")
    assert "denominator" in declaration["form"]


def test_forms_may_be_chosen_too(tmp_path):
    wish = {"method": "auto", "forms": ["generalized"], "aims": [RANGE]}
    distinct = [{"model": "l-diversity", "variant": "distinct", "l": 3}]
    keys = {"partition": wish, "promises": distinct, "evaluate": COUNTS}
    forms = {candidate.form.method for candidate in spec_of(tmp_path, **keys).choosing.candidates}
    assert forms == {"permuted", "generalized"}
    small = Small(tmp_path / "line").write(people(rows=60), **{**AUTO, **keys})
    assert manifest_part(small.publish("first"))["form"]["method"] == "permuted"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"evaluate": {}}, "partition: auto: chooses by the queries that readers ask"),
        (
            {"partition": {"method": "auto", "forms": ["blurred"]}},
            ("partition: forms: no form 'blurred'; choose from"),
        ),
        ({"partition": {"method": "hybrid", "aims": [{**RANGE, "over": "town"}]}}, "has no ranges"),
        (
            {"partition": {"method": "hybrid", "aims": [{**RANGE, "over": "wage"}]}},
            "is not a quasi",
        ),
        (
            {
                "partition": {"method": "hybrid", "aims": [RANGE]},
                "form": {"method": "generalized"},
                "evaluate": COUNTS,
            },
            "does not show; use form permuted or split",
        ),
        (
            {"partition": {"method": "hybrid", "aims": [{"kind": "arbitrary", "selected": [5]}]}},
            "add `kind: range`, or use `method: ke`",
        ),
        (
            {
                "promises": [{"model": "alpha-beta", "alpha": 1, "beta": 0.9}],
                "form": {"method": "ambiguous"},
                "evaluate": COUNTS,
            },
            "because the width of its answers depends on more than",
        ),
    ],
)
def test_what_cannot_be_aimed_is_refused_when_the_spec_is_read(tmp_path, changes, words):
    with pytest.raises(SpecError, match=words):
        spec_of(tmp_path, **changes)


REGIONS = {f"town-{n}": f"region-{n // 4}" for n in range(12)}
BY_TOWN = {
    **AUTO,
    "partition": {"method": "auto", "aims": [{"kind": "group-by", "by": "town"}]},
    "promises": [{"model": "l-diversity", "variant": "distinct", "l": 3}],
    "columns": {
        **SPEC["columns"],
        "town": {"role": "quasi-identifier", "hierarchy": "towns.csv"},
        "note": {"role": "drop"},
    },
}


def in_regions(rows=180, seed=1, first=0):
    """People of twelve towns in three regions, whose ages and wages tell nothing of these."""
    return [
        {**person, "town": f"town-{number % 12}"}
        for number, person in enumerate(people(first, rows, seed)[:rows])
    ]


@pytest.fixture
def regions(tmp_path):
    line = Small(tmp_path / "regions")
    line.folder.mkdir()
    text = "".join(f"{town},{region},*\n" for town, region in REGIONS.items())
    (line.folder / "towns.csv").write_text(text, encoding="utf-8")
    return line


def hierarchy_of_town(declaration):
    (town,) = (column for column in declaration["columns"] if column["name"] == "town")
    return town.get("hierarchy")


def test_levels_of_hierarchies_are_among_the_strata_that_are_tried(regions, monkeypatch):
    """No bands are of texts, and of an answer by town only groups with people of it are open.

    Partitions that cut towns by themselves do so more closely, and are left out here.
    """
    monkeypatch.setattr(candidates, "_KEYS", ({"method": "anatomy"},))
    published = regions.write(in_regions(), **BY_TOWN).publish("first")
    report = regions.plan().line.reports(published.directory.name) / "partition.json"
    tried = [choice["strata"] for choice in json.loads(report.read_text())["choice"]]
    level = {"column": "town", "level": 1}
    assert [level] in tried
    assert not any("bands" in stratum for strata in tried for stratum in strata)
    declaration = manifest_part(published)
    assert declaration["strata"] == [level]
    assert hierarchy_of_town(declaration) is not None
    assert run(["check", str(published.directory)]) == 0
    rows = pq.read_table(published.directory / "data" / "microdata.parquet").to_pylist()
    pairs = {(row["group_id"], REGIONS[row["town"]]) for row in rows}
    assert len(pairs) == len({group for group, _ in pairs}) > 3
    regions.write(in_regions(seed=5, first=900), **BY_TOWN)
    assert not isinstance(regions.plan().terms, WishedTerms)
    assert manifest_part(regions.publish("second"))["strata"] == [level]


def test_a_hierarchy_that_no_stratum_is_a_level_of_is_not_declared(regions):
    aims = [{"kind": "range", "over": "age", "spans": [5]}]
    keys = {**BY_TOWN, "partition": {"method": "auto", "aims": aims}}
    declaration = manifest_part(regions.write(in_regions(), **keys).publish("first"))
    assert hierarchy_of_town(declaration) is None


def test_levels_make_no_other_wish_and_no_other_terms(regions):
    """A line's earlier choice is found, and its versions stand."""
    terms = regions.write(in_regions(), **BY_TOWN).plan().terms
    assert terms.by_level
    bare = terms.model_copy(update={"by_level": {}})
    assert (bare.wish, bare.digest()) == (terms.wish, terms.digest())
