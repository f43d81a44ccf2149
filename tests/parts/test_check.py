"""Faults of a release in parts: a part missing, added, exchanged, altered, cut otherwise."""

import json
import shutil

import pyarrow.parquet as pq
import pytest

from sfumato.expectations.shared.errors import PromiseError
from sfumato.flows.cli.main import run
from sfumato.tasks.publication.check import check
from sfumato.tasks.publication.parts import SeenParts, see_part
from sfumato.tasks.publication.parts_files import complete_whole
from sfumato.tasks.terms.assessment import assess
from sfumato.tasks.terms.opened import MANIFEST, open_release
from sfumato.tasks.terms.tables import read_tables
from tests.parts.composed_line import ComposedLine
from tests.parts.divided import SPEC, visits
from tests.release.forge import edit, rebuilt, reseal

T_CLOSE = {"model": "t-closeness", "t": 0.6, "distance": "ordered", "sensitive": "cost"}


def part(release, number):
    return release / "parts" / f"{number:04d}"


def exchange(release):
    shutil.move(part(release, 2), release / "parts" / "aside")
    shutil.move(part(release, 3), part(release, 2))
    shutil.move(release / "parts" / "aside", part(release, 3))


def forget_last(release):
    shutil.rmtree(part(release, 6))
    edit(release, lambda document: document["sfumato"]["made_of"].pop())


def add_twice(release):
    shutil.copytree(part(release, 6), part(release, 7))
    edit(
        release,
        lambda document: document["sfumato"]["made_of"].append(
            {**document["sfumato"]["made_of"][-1], "name": "0007"}
        ),
    )


def change_table(release):
    path = part(release, 2) / "data" / "microdata.parquet"
    table = pq.read_table(path)
    pq.write_table(table.slice(1), path)


def state(release, number, **changes):
    edit(release, lambda document: document["sfumato"]["made_of"][number].update(changes))


def state_elsewhere(release):
    where = open_release(release).declared.made_of[1].where
    moved = where[0][0].model_copy(update={"values": ("2023",)})
    document = [[moved.model_dump(mode="json", by_alias=True, exclude_none=True)]]
    state(release, 0, where=document)


def cut(*shares):
    """Another cut of the first part."""
    return lambda release: state(release, 0, where=list(shares))


def digest_of(release):
    return open_release(release).manifest["sfumato"]["digest"]


def told_anew(release, manifest_changes=None, **rows):
    """All that stands beside the parts, made of them again, with other row counts."""
    declared = open_release(release).declared
    seen = SeenParts(declared)
    for published in declared.made_of:
        own = open_release(release / "parts" / published.name)
        part = assess(own.declared, read_tables(own.declared, own.directory / "data"))
        seen.add(see_part(part, declared.promises))
    made_of = tuple(
        part.model_copy(update={"digest": digest_of(release / "parts" / part.name)})
        for part in declared.made_of
    )
    counts = declared.rows.model_copy(update=rows)
    shutil.rmtree(release / "sql")
    other = {"made_of": made_of, "rows": counts, **(manifest_changes or {})}
    complete_whole(release, declared.model_copy(update=other), seen)


FORGERIES = {
    "missing": lambda release: shutil.rmtree(part(release, 2)),
    "extra": lambda release: shutil.copytree(part(release, 2), part(release, 7)),
    "exchanged": exchange,
    "forgotten": forget_last,
    "twice": add_twice,
    "changed": change_table,
    "extra file": lambda release: (part(release, 2) / "more.csv").write_text("a\n1\n"),
    "missing file": lambda release: (part(release, 2) / "index.html").unlink(),
    "other groups": lambda release: state(release, 1, groups=1),
    "other place": lambda release: state(release, 1, **{"first-group": 0}),
    "other rows": lambda release: state(release, 1, rows=1),
    "other cut": state_elsewhere,
    "no cut": cut(),
    "cut of all rows": cut([]),
    "wider cut": cut([{"column": "year", "from": "2000"}]),
    "cut by nothing declared": cut([{"column": "ward", "from": "a"}]),
    "cuts that are said to be by a sensitive column": lambda release: edit(
        release, lambda document: document["sfumato"]["parts"].update(by="cost", at=["50"])
    ),
    "cut by a sensitive column": cut(
        [{"column": "year", "values": ["2020"]}, {"column": "cost", "from": "0"}]
    ),
    "cut of no rows, too": cut(
        [{"column": "year", "values": ["2020"]}, {"column": "age", "from": "1"}],
        [{"column": "year", "values": ["2020"]}, {"column": "age", "below": "1.5", "null": True}],
    ),
    "more rows than a part may have": lambda release: edit(
        release, lambda document: document["sfumato"]["parts"].update(rows=10)
    ),
    "other digest": lambda release: state(release, 1, digest="0" * 64),
    "no parts": lambda release: edit(release, lambda document: document["sfumato"].pop("made_of")),
    "not asked for": lambda release: edit(
        release, lambda document: document["sfumato"].pop("parts")
    ),
    "evaluate.intervals: a release in parts cannot calibrate": lambda release: edit(
        release, lambda document: [document["sfumato"].pop(n) for n in ("parts", "made_of")]
    ),
    "counts": lambda release: edit(
        release, lambda document: document["sfumato"]["rows"].update(read=601, suppressed=1)
    ),
}


def test_it_holds(release):
    report = check(release)
    assert report.derived == "equal"
    ((_, verdict),) = report.verdicts
    assert verdict.holds
    assert verdict.groups == sum(part.groups for part in open_release(release).declared.made_of)
    assert check(part(release, 1)).verdicts  # a part is a release, too


@pytest.mark.parametrize("sealed_anew", [False, True])
@pytest.mark.parametrize("forgery", FORGERIES)
def test_forgeries_are_refused(writable, forgery, sealed_anew, capsys):
    FORGERIES[forgery](writable)
    if sealed_anew:
        reseal(writable)
    assert run(["check", str(writable)]) == 3
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    with pytest.raises(PromiseError):
        check(writable)


def test_counts_that_follow_from_no_part_are_refused(writable):
    told_anew(writable)
    assert check(writable).derived == "equal"
    told_anew(writable, vacant=5)
    with pytest.raises(PromiseError, match="counts vacant values, which its tables do not show"):
        check(writable)


@pytest.mark.parametrize(("added", "holds"), [(0, True), (5, True), (-1, False)])
def test_a_composed_version_counts_who_is_in_parts_that_are_not_shown(tmp_path, added, holds):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
        line = ComposedLine(tmp_path / "line")
        line.publish()
        line.people[3]["job"] = "job 9"
        published = line.publish().directory
    place = tmp_path / "copy"
    shutil.copytree(published, place, copy_function=shutil.copyfile)
    rows = open_release(place).declared.rows
    assert rows.not_represented_versions == 1
    counts = {"read": rows.read + added, "not_represented_versions": 1 + added}
    told_anew(place, **counts)
    if holds:
        assert check(place).derived == "equal"
        return
    with pytest.raises(PromiseError, match="its row counts differ from those of its parts"):
        check(place)


def test_a_whole_that_hides_what_its_parts_continue_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    line = ComposedLine(tmp_path / "line")
    line.publish()
    line.move(join=36)
    place = tmp_path / "copy"
    shutil.copytree(line.publish().directory, place, copy_function=shutil.copyfile)
    told_anew(place, {"predecessor": None})
    with pytest.raises(PromiseError, match="continues a version, and the whole release does not"):
        check(place)


def test_a_part_left_no_rows_out_before_it_was_cut(writable):
    counts = open_release(part(writable, 2)).declared.rows
    rebuilt(
        part(writable, 2),
        rows=counts.model_copy(update={"read": counts.read + 9, "dropped_by_filter": 9}),
    )
    told_anew(writable)
    with pytest.raises(PromiseError, match="parts/0002: counts rows that were left out"):
        check(writable)


@pytest.mark.parametrize("forgery", ["missing", "extra", "exchanged", "changed"])
def test_what_is_altered_is_not_asked(writable, forgery):
    FORGERIES[forgery](writable)
    assert run(["query", str(writable), "SELECT COUNT(*) FROM microdata"]) == 3


def test_promises_that_compare_with_all_rows_are_judged_by_all_rows(divided_line):
    release = (
        divided_line.write(visits(), promises=[*SPEC["promises"], T_CLOSE], parts={"rows": 400})
        .publish("one")
        .directory
    )
    opened = open_release(release)
    assert len(opened.declared.made_of) == 2
    own = open_release(part(release, 1)).declared.promises[1]
    assert 0 < own.t < T_CLOSE["t"]
    (_, (promise, verdict)) = check(release).verdicts
    assert promise.t == opened.declared.promises[1].t
    assert verdict.holds
    assert own.t < verdict.required["t"]


def test_a_part_may_not_promise_less(writable):
    edit(
        part(writable, 1),
        lambda document: document["sfumato"]["promises"][0].update(k=2),
    )
    reseal(writable)
    with pytest.raises(PromiseError, match="parts/0001"):
        check(writable)


def test_the_manifest_lists_every_file(release):
    document = json.loads((release / MANIFEST).read_bytes())
    listed = {resource["path"] for resource in document["resources"]}
    paths = {path.relative_to(release).as_posix() for path in release.rglob("*") if path.is_file()}
    assert listed == paths - {MANIFEST}
    assert document["sfumato"]["format"] == 3
    described = [resource for resource in document["resources"] if "schema" in resource]
    tables = [resource for resource in described if "/data/" in resource["path"]]
    assert len(tables) == 6
