"""Composed versions in parts: who stays, comes, leaves, moves over a cut, and what is refused."""

from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.tasks.forms.lineage import LINEAGE, PREVIOUS
from sfumato.tasks.parts import continued
from sfumato.tasks.parts import continued as people
from sfumato.tasks.parts import continued as shown
from sfumato.tasks.private.people.identity import suppressed_rows
from sfumato.tasks.private.people.lines import maps_of
from sfumato.tasks.private.people.maps_of_parts import MapInParts
from sfumato.tasks.private.people.seen import take_slots
from sfumato.tasks.private.people.slots import LEFT, LIVE
from sfumato.tasks.private.people.store import slots_so_far
from sfumato.tasks.private.state import read_state
from sfumato.tasks.publication.check import check
from sfumato.tasks.stages import anonymize
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.tables import read_tables
from tests.parts.composed_line import KINDS, ComposedLine, part_of


@pytest.fixture
def line(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    return ComposedLine(tmp_path / "line")


@pytest.fixture(scope="module")
def line_of_kind(tmp_path_factory):
    """Gives a line of a kind with three versions, to be read alone."""

    @cache
    def make_line(kind):
        folder = tmp_path_factory.mktemp("evolved")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SFUMATO_WORK", str(folder / "work"))
            line = ComposedLine(folder / "line", kind)
            for number in range(3):
                if number:
                    line.move(join=36)
                line.publish()
            return line

    return make_line


def newest(line):
    """The map of the last version, in parts."""
    return MapInParts.open(line.private / "map" / line.versions[-1].name)


def groups_of_people(line, version):
    """The group of everybody who holds a slot in a version that is shown, by ids of all parts."""
    map_of_line = MapInParts.open(line.private / "map" / version.name)
    groups_by_person = {}
    for number, part in enumerate(map_of_line.parts):
        slots = map_of_line.read(number)
        is_shown = slots.is_held & (slots.published >= 0)
        ids = slots.published[is_shown] + part.first_group
        groups_by_person |= dict(zip(slots.key[is_shown].tolist(), ids.tolist(), strict=True))
    return groups_by_person


def lineages(release):
    """Return how all groups go on, by ids of all parts."""
    lineages_found = []
    for part in release.declared.made_of:
        opened = open_release(release.directory / "parts" / part.name)
        table = read_tables(opened.declared, opened.directory / "data")[LINEAGE]
        lineages_found += table[PREVIOUS].to_pylist()
    return lineages_found


@pytest.mark.parametrize("kind", KINDS)
def test_every_version_and_each_of_its_parts_names_the_one_before(line_of_kind, kind):
    before, digests = None, {}
    for place in line_of_kind(kind).versions:
        assert check(place).derived == "equal"
        release = open_release(place)
        assert release.declared.predecessor == before
        for part in release.declared.made_of:
            own = open_release(place / "parts" / part.name).declared
            assert own.predecessor == digests.get(part.where)
        digests = {part.where: part.digest for part in release.declared.made_of}
        before = release.manifest["sfumato"]["digest"]
    assert len(digests) == 3
    assert release.manifest["sfumato"]["format"] == 9, "older software takes groups of two for one"


@pytest.mark.parametrize("kind", KINDS)
def test_survivors_stay_in_their_groups_beside_the_same_values(line_of_kind, kind):
    line = line_of_kind(kind)
    was, now = (groups_of_people(line, place) for place in line.versions[1:])
    previous = lineages(open_release(line.versions[2]))
    stayed = was.keys() & now.keys()
    assert len(stayed) > 120
    assert all(previous[now[name]] == was[name] for name in stayed)
    newcomers = now.keys() - was.keys()
    assert newcomers
    assert {previous[now[name]] for name in newcomers} == {None}


@pytest.mark.parametrize("kind", KINDS)
def test_nobody_is_in_two_slots(line_of_kind, kind):
    line = line_of_kind(kind)
    (slots,) = maps_of(line.private)
    names_held = slots.key[slots.is_held]
    assert len(np.unique(names_held)) == len(names_held)
    assert len(np.unique(slots.group)) == int(slots.group.max()) + 1
    ids_shown = slots.published[slots.published >= 0]
    assert len(np.unique(ids_shown)) == ids_shown.max() + 1


def test_who_moves_over_a_cut_is_withheld_and_finds_the_old_place_again(line):
    first = line.publish()
    line.people[3]["year"] = 2021
    line.people[130]["year"] = 2020
    second = line.publish()
    rows = second.declared.rows
    assert (rows.published, rows.vacant, rows.not_represented_versions) == (148, 2, 2)
    for release in (first, second):
        assert len(groups_of_people(line, release.directory)) == 150
    line.people[3]["year"], line.people[130]["year"] = 2020, 2021
    del line.people[7]
    assert line.publish().declared.rows.published == 149
    assert None not in lineages(open_release(line.versions[2]))


def test_who_moves_with_newcomers_is_not_one_of_them(line):
    line.publish()
    names = set(groups_of_people(line, line.versions[0]))
    line.people[3]["year"] = 2021
    line.people |= {n: line.person(n, year=2021, job=f"job {n % 3}") for n in range(900, 906)}
    rows = line.publish().declared.rows
    assert (rows.published, rows.not_represented_versions) == (155, 1)
    map_of_line, place = newest(line), part_of(open_release(line.versions[1]), year="2021")
    assert place.name == "0003"
    names_held, _ = map_of_line.names(2)
    assert sum(name in names for name in names_held.tolist()) == 30


def test_people_in_two_parts_are_refused_by_the_gate(line, monkeypatch):
    """Whoever would be let in as a newcomer would be told by two groups."""
    line.publish()
    line.people[3]["year"] = 2021
    line.people |= {n: line.person(n, year=2021, job=f"job {n % 3 + 1}") for n in (900, 901)}
    real = continued.people_out
    monkeypatch.setattr(continued, "people_out", lambda place, part: real(place, part)[:0])
    with pytest.raises(PromiseError, match="people with slots in two parts: 1"):
        line.publish()
    assert len(line.versions) == 1


def test_a_map_with_people_in_two_parts_is_refused_before_anything_is_made(line, monkeypatch):
    line.publish()
    line.move()
    real = people.MapInParts.names

    def double_first(maps, number):
        return real(maps, 0) if number == 1 else real(maps, number)

    monkeypatch.setattr(people.MapInParts, "names", double_first)
    with pytest.raises(PromiseError, match="people have places in two parts"):
        line.publish()


@pytest.mark.parametrize("kind", KINDS)
def test_a_redraw_in_place_of_a_continuation_is_refused(tmp_path, monkeypatch, kind):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    line = ComposedLine(tmp_path / "line", kind)
    line.publish()
    line.move()

    def forgetting(goes_on, part):
        partition = real(goes_on, part)
        return type(partition)(None, partition.out, partition.predecessor, partition.made_after)

    real = continued.PartContinuation.slots_before
    monkeypatch.setattr(continued.PartContinuation, "slots_before", forgetting)
    with pytest.raises(PromiseError, match="versions: composed is broken"):
        line.publish()


def test_a_part_that_does_not_say_what_it_continues_is_refused(line, monkeypatch):
    line.publish()
    line.move()
    real = continued.PartContinuation.slots_before

    def silent(goes_on, part):
        partition = real(goes_on, part)
        return type(partition)(partition.slots, partition.out, None, partition.made_after)

    monkeypatch.setattr(continued.PartContinuation, "slots_before", silent)
    with pytest.raises(PromiseError, match="does not continue the part of the last version"):
        line.publish()


def test_people_of_a_new_year_are_a_part_of_their_own_once_they_can_be_grouped(line):
    line.publish()
    line.people |= {n: line.person(n, year=2022, job="job 0") for n in (900, 901)}
    second = line.publish()
    rows = second.declared.rows
    assert (rows.published, rows.not_represented_versions) == (150, 2)
    assert suppressed_rows(line.private, "0002", 152).sum() == 2
    assert len(second.declared.made_of) == 3
    assert check(second.directory).derived == "equal"
    line.people |= {n: line.person(n, year=2022, job=f"job {n % 5 + 1}") for n in range(902, 906)}
    third = line.publish()
    assert third.declared.rows.published == 156
    assert open_release(part_of(third, year="2022")).declared.predecessor is None
    assert check(third.directory).derived == "equal"


def test_newcomers_of_a_new_part_of_whom_some_would_be_left_out_wait_together(line, monkeypatch):
    """Whoever is known to have come, and is missing where others are shown, would be told."""

    def leaving(table, names, terms, randomness, wish, before):
        evolved, made = real(table, names, terms, randomness, wish, before)
        return evolved, replace(made, suppressed=0 if before.slots is not None else 1)

    line.publish()
    real = anonymize.continue_slots
    monkeypatch.setattr(anonymize, "continue_slots", leaving)
    line.people |= {n: line.person(n, year=2022, job=f"job {n % 6}") for n in range(900, 906)}
    rows = line.publish().declared.rows
    assert (rows.suppressed, rows.not_represented_versions) == (0, 6)


def test_a_small_new_part_waits_for_more(line):
    wish = {"versions": {"rule": "composed", "cohort": 10}}
    line.publish(**wish)
    line.people |= {n: line.person(n, year=2022, job=f"job {n % 6}") for n in range(900, 906)}
    assert line.publish(**wish).declared.rows.not_represented_versions == 6


def test_a_part_that_everybody_left_is_not_shown_and_keeps_its_slots(line):
    line.publish()
    gone = {n: line.people.pop(n) for n in range(120, 150)}
    second = line.publish()
    assert len(second.declared.made_of) == 2
    assert second.declared.rows.vacant == 0
    line.people |= gone
    line.people.pop(3)
    third = line.publish()
    assert third.declared.rows.not_represented_versions == len(gone)
    assert [len(newest(line).parts), len(third.declared.made_of)] == [3, 2]
    line.people |= {n: line.person(n, year=2021, job=f"job {n % 6}") for n in range(900, 906)}
    fourth = line.publish()
    part = part_of(fourth, year="2021")
    assert open_release(part).declared.predecessor is None
    assert open_release(part).declared.rows.published == 6
    for place in line.versions:
        check(place)


def forgetful(slots):
    """Without the name of somebody."""
    key = slots.key.copy()
    key[0] = b""
    return replace(slots, key=key)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda slots: take_slots(slots, np.arange(1, len(slots))), "belong to other people now"),
        (forgetful, "belong to other people now"),
        (lambda slots: replace(slots, retired=~slots.retired), "has published groups"),
        (lambda slots: replace(slots, published=slots.published + 1), "has published groups"),
    ],
)
def test_slots_of_a_part_that_is_not_shown_stay_in_their_hands(line, monkeypatch, change, message):
    line.publish()
    for number in range(120, 150):
        del line.people[number]
    real = shown.close_slots
    monkeypatch.setattr(shown, "close_slots", lambda slots: change(real(slots)))
    with pytest.raises(PromiseError, match=message):
        line.publish()


def test_names_and_slots_need_room_on_disk(line, monkeypatch):
    line.write()
    usage = type("Usage", (), {"free": 10**9})
    monkeypatch.setattr("sfumato.tasks.parts.divide.shutil.disk_usage", lambda _: usage)
    monkeypatch.setattr("sfumato.tasks.parts.divide._NAMED", 10**8)
    with pytest.raises(InputError, match=r"parts may need 15\.0 GB there, and 1\.0 GB are free"):
        line.publish()


@pytest.mark.parametrize("field", ["where", "first_group", "digest"])
def test_a_map_of_other_parts_than_are_published_is_refused(line, monkeypatch, field):
    real = shown.join_maps
    other = {"where": "elsewhere", "first_group": 7, "digest": "0" * 64}

    def change_first(path, parts, cuts):
        (first, place), *rest = parts
        real(path, [(replace(first, **{field: other[field]}), place), *rest], cuts)

    monkeypatch.setattr(shown, "join_maps", change_first)
    with pytest.raises(PromiseError, match="the map of the version does not match its parts"):
        line.publish()


def test_a_map_that_lacks_a_part_of_the_line_is_refused(line, monkeypatch):
    line.publish()
    for number in range(120, 150):
        del line.people[number]
    monkeypatch.setattr(shown, "_closed_parts", lambda *_: iter(()))
    with pytest.raises(PromiseError, match="the map of the version does not match its parts"):
        line.publish()


def test_parts_before_a_part_that_is_left_are_numbered_anew(line):
    line.publish()
    line.people = {n: p for n, p in line.people.items() if p["year"] > 2020 or p["age"] >= 40}
    second = line.publish(versions={"rule": "composed"})
    assert [part.name for part in second.declared.made_of] == ["0001", "0002"]
    assert check(second.directory).derived == "equal"
    first = open_release(line.versions[0]).declared.made_of
    goes_on = [
        open_release(second.directory / "parts" / n).declared.predecessor for n in ("0001", "0002")
    ]
    assert goes_on == [first[1].digest, first[2].digest]
    assert min(number for number in lineages(second) if number is not None) == first[1].first_group


def test_a_part_that_has_outgrown_its_size_asks_for_more_and_keeps_its_cut(line):
    line.publish()
    line.people |= {n: line.person(n, age=30, job=f"job {n % 6}") for n in range(900, 960)}
    with pytest.raises(
        InputError,
        match=r"a part of the line now has 1\d\d rows, more than 100, and it cannot be",
    ):
        line.publish()
    cut = [part.where for part in open_release(line.versions[0]).declared.made_of]
    second = line.publish(parts={"rows": 200, "by": "age", "at": ["40"]})
    assert [part.where for part in second.declared.made_of] == cut
    assert second.declared.rows.published == 210


@pytest.mark.parametrize(
    "changes",
    [
        {"strata": []},
        {"parts": {"rows": 100, "by": "age", "at": ["30"]}, "strata": ["year", "age"]},
    ],
)
def test_another_cut_is_refused(line, changes):
    line.publish()
    line.move()
    with pytest.raises(InputError, match="parts: the line was cut in another way, and groups"):
        line.publish(**{"parts": {"rows": 600}, **changes})


def test_the_cut_of_a_line_is_that_of_its_map_whatever_else_was_tried(line):
    line.publish()
    line.move()
    (line.private / "cuts.json").unlink()
    line.publish(parts={"rows": 110, "by": "age", "at": ["30"]})
    cuts = [[part.where for part in open_release(p).declared.made_of] for p in line.versions]
    assert cuts[0] == cuts[1]


def test_the_same_people_and_values_find_the_version_that_stands(line):
    line.publish()
    state = (line.private / "state.json").read_bytes()
    again = line.publish()
    assert (again.directory, len(line.versions)) == (line.versions[0], 1)
    assert (line.private / "state.json").read_bytes() == state


def test_the_same_rows_of_people_who_changed_places_are_another_version(line):
    line.publish()
    first, other = line.people[1], line.people[2]
    line.people[1], line.people[2] = {**other, "id": 1}, {**first, "id": 2}
    assert line.publish().directory.name == "0002"


def test_people_who_were_renamed_are_refused(line):
    line.publish()
    line.people = {n + 500: {**p, "id": n + 500} for n, p in line.people.items()}
    with pytest.raises(
        PromiseError, match="all 150 rows are also in version 0001, under other units"
    ):
        line.publish()


def test_a_part_most_of_whose_people_are_others_is_no_renaming(line):
    line.publish()
    for number in range(120, 145):
        del line.people[number]
    line.people |= {n: line.person(n, year=2021, job=f"job {n % 6}") for n in range(900, 930)}
    assert line.publish().declared.rows.published == 155


@pytest.mark.parametrize("what", ["gone", "changed", "other"])
def test_a_map_that_is_not_the_lines_is_refused(line, what):
    line.publish()
    line.move()
    place = line.private / "map" / "0001"
    if what == "gone":
        place.unlink()
    else:
        content = place.read_bytes()
        place.write_bytes(content[:-1] if what == "changed" else content + b"\0")
    with pytest.raises(
        PromiseError, match="people in the groups of earlier versions are not known"
    ):
        line.publish()


def test_all_slots_of_a_line_are_known_where_its_map_is_read_whole(line):
    line.publish()
    slots = slots_so_far(line.private, read_state(line.private))
    assert len(slots) == 150
    assert Counter(slots.kind.tolist()) == {LIVE: 150}


def test_taken_slots_and_changed_values_go_on_in_parts(line):
    wish = {"versions": {"rule": "composed", "vacancies": "refill", "changes": "reinsert"}}
    line.publish(**wish)
    for _ in range(2):
        line.move(join=36)
        for number in sorted(line.people)[:24]:
            line.people[number]["job"] = f"new job {number % 4}"
        release = line.publish(**wish)
        assert check(release.directory).derived == "equal"
    (slots,) = maps_of(line.private)
    assert {LIVE, LEFT} < set(slots.kind.tolist())
    assert len(slots.past)
