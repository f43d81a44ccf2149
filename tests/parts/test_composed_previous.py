"""A version in parts held against those before it: what contradicts them is found from files."""

import json
import shutil
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.flows.cli.main import run
from sfumato.tasks.lines.previous import hold_against
from sfumato.tasks.terms.opened import MANIFEST, open_release
from tests.parts.composed_line import KINDS, ComposedLine, part_of


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    """A line of a kind with three versions, of which one part ends and another begins."""

    @cache
    def make_versions(kind):
        folder = tmp_path_factory.mktemp("previous")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SFUMATO_WORK", str(folder / "work"))
            line = ComposedLine(folder / "line", kind)
            line.publish()
            line.move(join=36)
            line.publish()
            line.people = {n: p for n, p in line.people.items() if p["year"] == 2020}
            new = {n: line.person(n, year=2022, job=f"job {n % 6}") for n in range(900, 918)}
            line.people |= new
            line.publish()
            return line.versions

    return make_versions


@pytest.fixture
def forged_version(lines, tmp_path):
    """A copy of the second version that may be changed, and the first one."""
    first, second, _ = lines("split")
    place = tmp_path / "0002"
    shutil.copytree(second, place, copy_function=shutil.copyfile)
    return place, first


def compare(directory, *previous):
    return hold_against(open_release(directory), previous, open_release)


def rewrite(path, change):
    table = pq.read_table(path)
    pq.write_table(change(table).cast(table.schema), path)


def change_manifest(directory, change):
    place = directory / MANIFEST
    document = json.loads(place.read_bytes())
    change(document["sfumato"])
    place.write_text(json.dumps(document), encoding="utf-8")


def with_column(table, name, values):
    place = table.column_names.index(name)
    return table.set_column(place, table.schema.field(place), values)


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_published_contradicts_nothing(lines, kind):
    first, second, third = lines(kind)
    comparison = compare(third, first, second)
    assert comparison.whole
    assert [(step.before, step.now) for step in comparison.steps] == [
        (first, second),
        (second, third),
    ]
    for step in comparison.steps:
        before, now = (open_release(place).declared.made_of for place in (step.before, step.now))
        moved = step.moved
        assert moved.continued + moved.ended == sum(part.groups for part in before)
        assert moved.continued + moved.new == sum(part.groups for part in now)
        assert moved.new > 0
    gone = part_of(open_release(second), year="2021")
    assert comparison.steps[1].moved.ended >= len(pq.read_table(gone / "data" / "lineage.parquet"))
    assert not compare(third, second).whole


def test_the_command_tells_what_moved(lines, capsys):
    first, second, _ = lines("split")
    assert run(["check", str(second), "--previous", str(first)]) == 0
    output = capsys.readouterr().out
    assert "groups keep their values" in output
    assert "combinations of quasi-identifiers occur once in both" in output


def test_a_missing_version_is_named(lines):
    first, second, third = lines("split")
    with pytest.raises(InputError, match="continues the version with digest"):
        compare(third, first)
    assert second


def test_other_values_than_before(forged_version):
    place, first = forged_version
    path = part_of(open_release(place), year="2021") / "data" / "st.parquet"
    other = {"job 0": "job 1", "job 1": "job 0"}

    def swap(table):
        jobs = [other.get(job, job) for job in table["job"].to_pylist()]
        return with_column(table, "job", pa.array(jobs))

    rewrite(path, swap)
    with pytest.raises(PromiseError, match="with other values than before"):
        compare(place, first)


def test_groups_that_go_on_from_another_part(forged_version):
    place, first = forged_version
    path = part_of(open_release(place), year="2021") / "data" / "lineage.parquet"
    number = open_release(first).declared.made_of[2].first_group
    rewrite(
        path,
        lambda table: with_column(
            table, "previous_group_id", pc.subtract(table["previous_group_id"], number)
        ),
    )
    with pytest.raises(PromiseError, match="groups continue groups of another part"):
        compare(place, first)


def test_parts_that_changed_places(forged_version):
    place, first = forged_version

    def swap(manifest):
        first, other = manifest["made_of"][:2]
        first["where"], other["where"] = other["where"], first["where"]

    change_manifest(place, swap)
    with pytest.raises(
        PromiseError, match="parts/0001 does not continue the part of the last version"
    ):
        compare(place, first)


def test_a_part_that_says_it_is_new(forged_version):
    place, first = forged_version
    change_manifest(place / "parts" / "0002", lambda manifest: manifest.pop("predecessor"))
    with pytest.raises(
        PromiseError, match="parts/0002 does not continue the part of the last version"
    ):
        compare(place, first)


def test_newcomers_of_a_new_part_with_values_of_people_who_left(lines, tmp_path):
    _, second, third = lines("split")
    place = tmp_path / "0003"
    shutil.copytree(third, place, copy_function=shutil.copyfile)
    path = part_of(open_release(place), year="2022") / "data" / "lineage.parquet"

    def leave(table):
        rows, vacant = table["rows"].to_pylist(), table["vacant"].to_pylist()
        rows[0], vacant[0] = rows[0] - 1, vacant[0] + 1
        changed_table = with_column(table, "rows", pa.array(rows))
        return with_column(changed_table, "vacant", pa.array(vacant))

    rewrite(path, leave)
    with pytest.raises(PromiseError, match="new groups have values of people who left"):
        compare(place, second)


def test_more_people_than_ever_in_a_group(forged_version):
    place, first = forged_version
    path = part_of(open_release(place), year="2021") / "data" / "lineage.parquet"

    def grow(table):
        rows = [number + 1 for number in table["rows"].to_pylist()]
        return with_column(table, "rows", pa.array(rows))

    rewrite(path, grow)
    with pytest.raises(PromiseError, match="more or fewer people and vacant values than before"):
        compare(place, first)


def test_versions_in_parts_and_in_one_table_are_not_compared(forged_version):
    place, first = forged_version
    copy = place.with_name("0001")
    shutil.copytree(first, copy, copy_function=shutil.copyfile)
    change_manifest(copy, lambda manifest: manifest.pop("made_of") and manifest.pop("parts"))
    with pytest.raises(PromiseError, match="some versions are in parts, and others in one table"):
        compare(place, copy)
