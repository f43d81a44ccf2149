"""Candidates of versions in parts together, by enumerating all worlds of what was published."""

from string import ascii_uppercase

import pytest

from sfumato.tasks.private.people.maps_of_parts import MapInParts
from sfumato.tasks.private.people.slots import LIVE
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.tables import read_tables
from tests.composition.oracle import candidates, posterior
from tests.parts.composed_line import ComposedLine

PAIRS = [{"model": "l-diversity", "variant": "distinct", "l": 2}]


class Told:
    """A line as everybody is told it who knows in which group each person is."""

    def __init__(self):
        self.letters = {}
        self.versions = []

    def add(self, line):
        """Publish the next version, and be told it."""
        release = line.publish(promises=PAIRS)
        self.versions.append(self._version(line, release))

    def _version(self, line, release):
        place, groups_found = release.directory, []
        map_of_line = MapInParts.open(line.private / "map" / place.name)
        for part, mapped in zip(release.declared.made_of, map_of_line.parts, strict=False):
            own = open_release(place / "parts" / part.name)
            tables = read_tables(own.declared, own.directory / "data")
            assert mapped.digest == part.digest
            groups_found += self._groups(
                map_of_line.read(map_of_line.parts.index(mapped)), tables["st"].to_pylist()
            )
        return groups_found

    def _groups(self, slots, rows_shown):
        """The people of each group, ghosts in small letters, and the values that it shows."""
        people, values = {}, {}
        for name, group, kind in zip(slots.key.tolist(), slots.published, slots.kind, strict=True):
            if group >= 0:
                letter = self.letters.setdefault(name, ascii_uppercase[len(self.letters)])
                people[group] = people.get(group, "") + (letter if kind == LIVE else letter.lower())
        for row in rows_shown:
            values[row["group_id"]] = values.get(row["group_id"], "") + (
                row["job"][-1] * row["count"]
            )
        return [(people[group], values[group]) for group in sorted(people)]


@pytest.mark.parametrize("seed", range(8))
def test_nobody_is_told_more_of_than_by_the_own_group(tmp_path, monkeypatch, seed):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    line = ComposedLine(tmp_path / "line", seed=seed)
    line.people = {n: line.person(n, year=2020 + n % 2, job=f"job {n // 2 % 4}") for n in range(10)}
    facts = Told()
    facts.add(line)
    for version in range(2):
        moving, leaving, changing = line.draw.sample(sorted(line.people), 3)
        line.people[moving]["year"] ^= 1
        line.people[changing]["job"] = "job 9"
        del line.people[leaving]
        first = 100 * (version + 1)
        line.people |= {
            first + n: line.person(
                first + n, year=2020 + n % 2, job=f"job {(n // 2 + version) % 4}"
            )
            for n in range(4)
        }
        facts.add(line)
    assert len(facts.versions) == 3
    assert any(people.upper() != people for people, _ in facts.versions[-1])
    possible, chances = candidates(facts.versions), posterior(facts.versions)
    for people, values in (group for version in facts.versions for group in version):
        for person in people.upper():
            assert possible[person] == set(values)
            shares = {value: values.count(value) / len(values) for value in values}
            assert {value: float(chance) for value, chance in chances[person].items()} == shares
    assert min(map(len, possible.values())) >= 2
