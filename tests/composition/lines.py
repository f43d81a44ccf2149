"""Lines in letters as what the gate is shown."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from sfumato.expectations.composition.gate import Passed, gate
from sfumato.expectations.composition.state import Atoms, Refused, Shown
from sfumato.expectations.groups.counting import Coded, count, numbers_of
from sfumato.expectations.models.model import PrivacyModel
from tests.composition.oracle import Group, Line, read

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
DIGITS = pa.array(range(10))
NUMBERS = numbers_of(DIGITS, False, "s")


def show_version(version: Sequence[Group], slots: Mapping[str, int] | None = None) -> Shown:
    """A version: persons are places in the alphabet, values digits."""
    members = [(g, person) for g, (people, _) in enumerate(version) for person in people]
    values = [(g, int(value)) for g, (_, values) in enumerate(version) for value in values]
    key, codes = np.array(values, dtype=np.int64).T
    return Shown(
        np.array([LETTERS.index(person.upper()) for _, person in members]),
        np.array([g for g, _ in members]),
        count(key, len(version), {"s": Coded(codes, 10, NUMBERS, DIGITS)}),
        np.array([person.isupper() for _, person in members]),
        slots and np.array([slots.get(person.upper(), -1) for _, person in members]),
    )


def judge(
    line: str | Line,
    promises: Sequence[PrivacyModel],
    slots: Mapping[str, int] | None = None,
    units: Mapping[str, str] | None = None,
) -> list[Passed | Refused]:
    """The verdict on each version of a line, up to the first that is refused."""
    versions = read(line) if isinstance(line, str) else line
    units_of_people = (
        None if units is None else np.array([LETTERS.index(units.get(u, u)) for u in LETTERS])
    )
    verdicts: list[Passed | Refused] = []
    before: Atoms | None = None
    for version in versions:
        verdict = gate(before, show_version(version, slots), promises, units_of_people)
        verdicts.append(verdict)
        if isinstance(verdict, Refused):
            break
        before = verdict.atoms
    return verdicts


def atoms_of(atoms: Atoms) -> dict[frozenset[str], str]:
    """The people of each atom, and its values."""
    counts = atoms.groups.counts_of("s")
    people: dict[int, set[str]] = {}
    for person, atom in enumerate(atoms.atom_of.tolist()):
        if atom >= 0:
            people.setdefault(atom, set()).add(LETTERS[person])
    values: dict[int, str] = {}
    for atom, value, times in zip(counts.group, counts.value, counts.count, strict=True):
        values[atom] = values.get(atom, "") + str(value) * times
    return {frozenset(members): values[atom] for atom, members in people.items()}
