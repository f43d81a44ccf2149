"""The meaning of promises over people: the guide's sentences in fractions, person by person.

Rows are `(group, person, value)`, values whole numbers. Nothing here is the product's: whoever
changes a promise over people finds the guide's words for it here, and attackers who list all
worlds, that is who may own which rows.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import reduce
from itertools import permutations, product
from math import lcm

Row = tuple[int, int, int]
Shares = Mapping[int, Fraction]
_DIGITS = 40  # of a logarithm, which equals no fraction


def groups_in(rows: list[Row]) -> list[list[Row]]:
    """The rows of each group, in the order of their numbers."""
    return [
        [row for row in rows if row[0] == number] for number in sorted({row[0] for row in rows})
    ]


def people_in(rows: list[Row]) -> list[int]:
    """Whoever has a row."""
    return sorted({person for _, person, _ in rows})


def values_in(rows: list[Row]) -> list[int]:
    """The different values of rows, in order."""
    return sorted({value for *_, value in rows})


def rows_of(rows: list[Row], person: int) -> list[Row]:
    """The rows of one person."""
    return [row for row in rows if row[1] == person]


# The two readings of a group.


def shares_of_people(rows: list[Row]) -> Shares:
    """Any of: the share of people who have a value in any of their rows."""
    people = people_in(rows)
    return {
        value: Fraction(
            sum(value in values_in(rows_of(rows, person)) for person in people), len(people)
        )
        for value in values_in(rows)
    }


def masses(rows: list[Row]) -> Shares:
    """Weight one: each person has the mass 1, spread evenly over the rows there."""
    mass_of_value = dict.fromkeys(values_in(rows), Fraction(0))
    for person in people_in(rows):
        theirs = rows_of(rows, person)
        for *_, value in theirs:
            mass_of_value[value] += Fraction(1, len(theirs))
    return mass_of_value


def chances_of_person(rows: list[Row]) -> Shares:
    """The chances of values: of a person drawn from the group, and of one of the person's rows."""
    return {value: mass / len(people_in(rows)) for value, mass in masses(rows).items()}


def of_all_groups(rows: list[Row], reading: str) -> Shares:
    """The same of the people of all groups together, each once in each of their groups."""
    shares = shares_of_people if reading == "any-of" else chances_of_person
    mass_of_value = dict.fromkeys(values_in(rows), Fraction(0))
    people = sum(len(people_in(group_rows)) for group_rows in groups_in(rows))
    for group_rows in groups_in(rows):
        for value, share in shares(group_rows).items():
            mass_of_value[value] += share * len(people_in(group_rows)) / people
    return mass_of_value


# What each promise is about: the number that a group shows, and whether it may.


def least_without_one_person(rows: list[Row]) -> int:
    """The range of a group after any one person's rows are taken away; none, 0, without others."""
    rows_of_others = [[row for row in rows if row[1] != gone] for gone in people_in(rows)]
    return min(
        max(values) - min(values) if (values := values_in(remaining_rows)) else 0
        for remaining_rows in rows_of_others
    )


def least_alike(rows: list[Row]) -> list[int]:
    """Of each group, the fewest owners who are like anybody there in all their rows."""
    looks = {
        person: sorted(group for group, *_ in rows_of(rows, person)) for person in people_in(rows)
    }
    like = {
        person: sum(other == look for other in looks.values()) for person, look in looks.items()
    }
    return [min(like[person] for person in people_in(group_rows)) for group_rows in groups_in(rows)]


def recursive_sides(shares_found: Shares, l: int) -> tuple[Fraction, Fraction]:
    """The most frequent value, and all from the l-th on."""
    ordered = sorted(shares_found.values(), reverse=True)
    return ordered[0], sum(ordered[l - 1 :], Fraction(0))


def equal_distance(shares_found: Shares, everybody: Shares) -> Fraction:
    """Half of what the shares differ."""
    return (
        sum(
            (abs(shares_found.get(v, Fraction(0)) - share) for v, share in everybody.items()),
            Fraction(0),
        )
        / 2
    )


def ordered_distance(shares_found: Shares, everybody: Shares) -> Fraction:
    """Return the share that has to be moved, times the ranks it is moved by, of all ranks."""
    moved, below = Fraction(0), Fraction(0)
    for value in sorted(everybody):
        below += shares_found.get(value, Fraction(0)) - everybody[value]
        moved += abs(below)
    return moved / (len(everybody) - 1) if len(everybody) > 1 else Fraction(0)


DISTANCES = {"equal": equal_distance, "ordered": ordered_distance}


def gain(shares_found: Shares, everybody: Shares) -> Fraction:
    """Return how much larger a value's share is than among everybody, at most, relative to that."""
    return max(
        (share - everybody[value]) / everybody[value] for value, share in shares_found.items()
    )


def is_as_uncertain(shares_found: Shares, l: int) -> bool:
    """Entropy of at least ln l: the product of p^-p over all values is at least l, in integers."""
    denominator = reduce(lcm, (share.denominator for share in shares_found.values()))
    counts = [int(share * denominator) for share in shares_found.values()]
    power = reduce(lambda whole, count: whole * count**count, counts, 1)
    return denominator**denominator >= l**denominator * power


def discloses_less(shares_found: Shares, everybody: Shares, delta: Decimal) -> bool:
    """Every value's share differs from everybody's by less than a factor of e to the delta."""
    with localcontext(prec=_DIGITS):
        factor = delta.exp()
        for value, share in everybody.items():
            times = shares_found.get(value, Fraction(0)) / share
            quotient = Decimal(times.numerator) / Decimal(times.denominator)
            if not 1 / factor < quotient < factor:
                return False
    return True


# Attackers, who know how many rows each person has, and list who may own which.


def worlds(rows: list[Row]) -> Iterator[list[Row]]:
    """Every way of giving each group's values to its rows, whose owners are known."""
    ways = [
        [
            [(group, person, value) for (group, person, _), value in zip(world, way, strict=True)]
            for way in permutations([value for *_, value in world])
        ]
        for world in groups_in(rows)
    ]
    for world in product(*ways):
        yield [row for part in world for row in part]


def values_faced(rows: list[Row], person: int) -> tuple[set[int], set[int]]:
    """The values that a person may have in some world, and those that the person has in all."""
    values_of_worlds = [set(values_in(rows_of(world, person))) for world in worlds(rows)]
    return set.union(*values_of_worlds), set.intersection(*values_of_worlds)


def least_faced_by_insiders(rows: list[Row]) -> int:
    """The narrowest range of what anybody may have, to one of the group who knows the own rows."""
    ranges = [0] if len(people_in(rows)) == 1 else []
    for insider in people_in(rows):
        others = [row for row in rows if row[1] != insider]
        for person in people_in(others):
            possible, _ = values_faced(others, person)
            ranges.append(max(possible) - min(possible))
    return min(ranges)


def households_found(published: list[Row], household: int) -> int:
    """The households that one may be who knows all its members, and which rows are of one.

    The attacker sees the rows of unnamed households, and looks for one whose members could be those
    who are looked for, in some order: each in the group of the labels that the member has.
    """
    expected = [group for group, *_ in rows_of(published, household)]
    groups_of_person = [
        [group for group, *_ in rows_of(published, person)] for person in people_in(published)
    ]
    return sum(
        any(list(way) == expected for way in permutations(groups)) for groups in groups_of_person
    )


def belief(rows: list[Row], person: int, value: int) -> Fraction:
    """In what share of all worlds a person has a value, whoever has the others."""
    has_value = [value in values_in(rows_of(world, person)) for world in worlds(rows)]
    return Fraction(sum(has_value), len(has_value))
