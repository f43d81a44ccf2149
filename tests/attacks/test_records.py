"""Attacks on records by others' definitions, against every pair of a row and a person."""

import operator
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from itertools import permutations, product
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.flows.inputs.overrides import Overrides
from sfumato.flows.life.evaluation import attack_again
from sfumato.tasks.attacks.records import matches, nearest, shuffled
from sfumato.tasks.attacks.records.columns import (
    ExactColumn,
    Fits,
    LabelColumn,
    PlacedNumbers,
    common_places,
    runs_of,
)
from sfumato.tasks.attacks.records.nearest import some_people, upper_limit
from sfumato.tasks.attacks.records.records import ComparedRecords
from sfumato.tasks.attacks.shared.attack import AttackedRelease
from sfumato.tasks.forms.labels import Anything, Between, ListedValues
from sfumato.tasks.microdata.table import encode
from sfumato.tasks.query.accuracy.vectors import rank_together
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.tables import read_tables
from tests.attacks.test_linkage import WAYS, fits, publish_as, rows
from tests.attacks.test_minimality import MONDRIAN, diverse, release_of

AGE, TOWN, WAGE = (st.integers(0, 3), st.sampled_from("ab") | st.none(), st.integers(0, 2))
TABLE = st.lists(st.tuples(AGE, TOWN, WAGE), min_size=2, max_size=9)


def exact_column(published, people):
    """A column of published values, and those of people, of one type."""
    own = encode("", "sensitive", people)
    return ExactColumn(rank_together(published, own, published.type), len(published))


def target(rows, people, group=None):
    """Records, (age, town, wage) each, whose wages stay where they are, or are in some group."""
    types = pa.int64(), pa.string(), pa.int64()
    columns = [
        exact_column(pa.array(a, type_), pa.array(b, type_))
        for a, b, type_ in zip(
            *(zip(*table_rows, strict=True) for table_rows in (rows, people)), types, strict=True
        )
    ]
    group = np.arange(len(rows)) if group is None else np.array(group)
    known_columns, sensitive = tuple(columns[:-1]), columns[-1]
    records = ComparedRecords(known_columns, sensitive, len(rows), len(people), group)
    return AttackedRelease(None, {}, None, "wage", learned={"records": records})


def share(hits, people):
    return float(Fraction(hits, len(people)))


@given(TABLE, TABLE)
def test_matches_by_hand(rows, people):
    scores = {score.measure: score for score in matches.attack(target(rows, people))}
    alone, whole = Counter(people), set(rows)
    unlike = [person for person in people if alone[person] == 1]
    exact = scores["record like nobody else's, and published as it is"]
    assert exact.share == share(sum(person in whole for person in unlike), people)
    assert list(exact.references.values()) == [share(len(unlike), people)]
    rows_of, people_of = (Counter(row[:2] for row in table_rows) for table_rows in (rows, people))
    pairs = [
        (row, person)
        for row in rows
        for person in people
        if row[:2] == person[:2] and rows_of[row[:2]] == people_of[row[:2]] == 1
    ]
    match = scores["apparent match: alone with their quasi-identifiers"]
    assert match.share == share(len(pairs), people)
    agree = scores.get("own value in the apparent match, of these")
    assert (agree is None) == (not pairs)
    if agree is not None:
        assert agree.share == sum(r[2] == p[2] for r, p in pairs) / len(pairs)


def shuffles(rows, group):
    """All ways to give the wages of each group to its rows, each as often as it is drawn."""
    members = [
        [position for position, number_ in enumerate(group) if number_ == number]
        for number in sorted({*group})
    ]
    for orders in product(*map(permutations, members)):
        table = list(rows)
        for rows_, from_ in zip(members, orders, strict=True):
            for row, taken in zip(rows_, from_, strict=True):
                table[row] = (*rows[row][:2], rows[taken][2])
        yield table


def on_average(shares):
    """The mean of fractions, of which each shuffle has one."""
    shares = list(shares)
    return float(sum(shares, Fraction(0)) / len(shares))


GROUPED = st.lists(st.tuples(AGE, TOWN, WAGE, st.integers(0, 2)), min_size=2, max_size=6)


@given(GROUPED, TABLE)
def test_no_draw_counts_but_all_of_them(grouped, people):
    """A bar is judged on the mean over all shuffles of what each of them would show."""
    rows, group = [row[:3] for row in grouped], [row[3] for row in grouped]
    _, group = np.unique(group, return_inverse=True)
    release, tables = target(rows, people, group), list(shuffles(rows, group.tolist()))
    exact, _, *agree = (score.share for score in matches.attack(release))
    alone = [person for person, times in Counter(people).items() if times == 1]
    published = [Fraction(len({*alone} & {*table}), len(people)) for table in tables]
    assert exact == on_average(published)
    with patch.object(shuffled, "_AT_ONCE", 1):
        assert matches.successes(release).share == exact, "some people at a time"
    counts = [agreeing(table, people) for table in tables]
    assert agree == ([] if None in counts else [on_average(counts)])
    (own,) = nearest.infer(release)
    inferred = on_average(Fraction(nearest_right(table, people)) for table in tables)
    assert own.share == nearest.successes_of_inference(release).share == inferred


def agreeing(rows, people):
    """Of rows and people who are alone with the same quasi-identifiers, the share who agree."""
    rows_of, people_of = (Counter(row[:2] for row in table_rows) for table_rows in (rows, people))
    pairs = [
        Fraction(row[2] == person[2])
        for row, person in product(rows, people)
        if row[:2] == person[:2] and rows_of[row[:2]] == people_of[row[:2]] == 1
    ]
    return sum(pairs) / len(pairs) if pairs else None


def nearest_right(rows, people):
    """The share of people whose value is in a nearest row, of which each is as likely."""
    ages, right = [row[0] for row in rows + people], Fraction(0)
    for person in people:
        near = closest([sum(gower(row, person, ages)) for row in rows])
        right += Fraction(sum(rows[position][2] == person[2] for position in near), len(near))
    return right / len(people)


def gower(first, other, ages):
    spread = max(ages) - min(ages) or 1
    return Fraction(abs(first[0] - other[0]), spread), Fraction(int(first[1] != other[1]))


def closest(distances):
    return {position for position, far in enumerate(distances) if far == min(distances)}


@given(TABLE, TABLE)
def test_nearest_by_hand(rows, people):
    ages = [row[0] for row in rows + people]
    linked, inferred, chance = Fraction(0), Fraction(0), Fraction(0)
    for person in people:
        far = [gower(row, person, ages) for row in rows]
        first, second = (closest([distance[half] for distance in far]) for half in (0, 1))
        linked += Fraction(len(first & second), len(first) * len(second))
        near = closest([sum(distance) for distance in far])
        inferred += Fraction(sum(rows[position][2] == person[2] for position in near), len(near))
        chance += Fraction(sum(row[2] == person[2] for row in rows), len(rows))
    (halves,), (own,) = (do(target(rows, people)) for do in (nearest.link_halves, nearest.infer))
    assert halves.share == pytest.approx(float(linked / len(people)))
    assert halves.references == {"by chance": 1 / len(rows)}
    assert own.share == pytest.approx(float(inferred / len(people)))
    assert own.references["in any published row"] == pytest.approx(float(chance / len(people)))


@given(st.data())
def test_the_nearest_records_are_those_of_a_search_one_by_one(data):
    number, columns = data.draw(st.integers(1, 40)), data.draw(st.integers(1, 4))
    seed, halves = data.draw(st.integers(0, 2**32 - 1)), data.draw(st.integers(1, columns))
    rng = np.random.default_rng(seed)
    cells = [rng.integers(0, 5, number) for _ in range(columns)]
    far = [rng.integers(0, 4, 5) / 3 for _ in range(columns)]
    total = [sum(distances[cell] for distances, cell in zip(far, row, strict=True)) for row in
             zip(*(column.tolist() for column in cells), strict=True)]  # fmt: skip
    expected = [place for place, each in enumerate(total) if each <= min(total) + 1e-9]
    parts = [slice(None, halves), slice(halves, None)] if halves < columns else [slice(None)]
    few = data.draw(st.sampled_from([0, 20]))  # records that are all compared
    with patch.object(nearest, "_SAMPLE", 3), patch.object(nearest, "_FEW", few):
        placed = [PlacedNumbers(column) for column in cells]
        near = nearest.nearest_records(
            [far[part] for part in parts], [placed[part] for part in parts]
        )
    assert near.tolist() == expected


def test_numbers_are_inferred_about_as_they_are():
    values = pa.array([Decimal("100.0"), Decimal("-100.0"), None])
    people = pa.array([Decimal("105.0"), Decimal("105.1"), Decimal("-95.0"), None])
    column = exact_column(values, people)
    hits = [column.are_right(person, 0.05)[column.cells].tolist() for person in range(4)]
    assert hits == [[True, False, False], [False] * 3, [False, True, False], [False, False, True]]


def test_whoever_is_like_a_row():
    column = exact_column(pa.array([1, 2, 3, None]), pa.array([0, 1, 2, 3, 4, None]))
    assert people_like(column) == [[0, 1], [0, 1, 2], [3, 4], [5]]
    texts = exact_column(pa.array(["a", "b", None]), pa.array(["b", None, "c"]))
    assert people_like(texts) == [[], [0], [1]]


def people_like(column):
    """Return the people who are like each row (lists of positions)."""
    lows, highs = column.spans(column.cells)
    spans = [column.spans_of_people(span) for span in zip(lows, highs, strict=True)]
    return [sorted(column.placed_people.list_places(each).tolist()) for each in spans]


@given(st.lists(st.integers(0, 5), min_size=1), st.lists(st.booleans(), min_size=7, max_size=7))
def test_places_are_those_of_a_search_row_by_row(numbers, admitted):
    placed, spans = PlacedNumbers(np.array(numbers, dtype=np.int16)), runs_of(np.array(admitted))
    expected = [place for place, number in enumerate(numbers) if admitted[number]]
    assert sorted(placed.list_places(spans).tolist()) == expected
    assert placed.count(spans) == len(expected)
    assert np.flatnonzero(placed.test_places(np.arange(len(numbers)), spans)).tolist() == expected
    other = PlacedNumbers(np.arange(len(numbers), dtype=np.int32))
    both, tested = common_places([(placed, spans), (other, [(0, 2)])])
    assert sorted(both.tolist()) == [place for place in expected if place < 2]
    assert tested == min(len(expected), 2, len(numbers))


def test_labels_admit_values():
    labels = [ListedValues((2,)), Between(1, 3), Between(2, 2), ListedValues((), null=True)]
    labels += [Anything(null=True), ListedValues((9,))]
    admits = np.array(
        [[0, 1, 0, 0], [1, 1, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1], [1, 1, 1, 1], [0, 0, 0, 0]], bool
    )
    people = Fits(admits, np.array([0, 1, 2, -1]))
    column = LabelColumn(labels, np.array([0, 1, 2, 3, 4, 5]), people)
    assert column.single.tolist() == [1, -1, 1, 3, -1, -1]
    assert column.distances(3)[column.cells].tolist() == [1, 1, 1, 0, 0, 1]
    assert [part.tolist() for part in column.spans(np.array([1]))] == [[1], [2]]
    assert people_like(column) == [[1], [0, 1, 2], [1], [3], [0, 1, 2, 3], []]


@given(TABLE, st.integers(0, 10))
def test_conditions_drawn_at_random_are_comparisons(people, seed):
    """Each is met by whoever compares so with a published value; null with numbers never does."""
    columns = target(people, people).learned["records"].columns
    for column, own in zip(columns, zip(*people, strict=True), strict=True):
        spans = column.draw_condition(np.random.default_rng(seed))
        met = set(column.placed_people.list_places(spans).tolist())
        assert any(
            met == {place for place, value in enumerate(own) if compare(value, published)}
            for published in set(own)
            for compare in (operator.eq, operator.ne, *ORDERS * (published is not None))
        )


ORDERS = [
    lambda value, published, way=way: value is not None and way(value, published)
    for way in (operator.gt, operator.lt, operator.ge, operator.le)
]


def test_tables_without_a_tie_are_found_again():
    people = [(age, "a", age % 7) for age in range(0, 80, 2)]
    sorted_again = sorted(people, key=lambda row: row[2])
    assert matches.attack(target(sorted_again, people))[2].share == 1
    assert nearest.infer(target(sorted_again, people))[0].share == 1


def test_samples_are_those_of_the_release():
    """One release is always attacked in the same way, and another one in another."""
    first, another = (
        AttackedRelease(None, {}, None, "wage", digest=digest) for digest in ("aa", "bb")
    )
    numbers = [sample.drawing("nearest").integers(2**40) for sample in (first, first, another)]
    assert numbers[0] == numbers[1] != numbers[2]
    assert first.drawing("nearest").integers(2**40) != first.drawing("definetti").integers(2**40)


def test_many_people_are_sampled():
    drawing = np.random.default_rng(1)
    assert some_people(500, 500, drawing).tolist() == list(range(500))
    assert len(set(some_people(501, 100, drawing).tolist())) == 100
    assert upper_limit(0, 500) == pytest.approx(1 - 0.05 ** (1 / 500))
    assert upper_limit(500, 500) == 1


def distance(way, row, person, ages):
    """Of numbers where they are published, otherwise of labels that do not fit."""
    if way == "permuted":
        return sum(gower((int(row[0]), row[1]), (int(person[0]), person[1]), ages))
    return sum(not fits(cell, own) for cell, own in zip(row[:2], person[:2], strict=True))


@pytest.mark.parametrize("way", WAYS)
def test_releases_are_read_as_records(small, way):
    directory = publish_as(small, way)
    scores, _ = attack_again(directory, small.spec, Overrides())
    shares = {score.measure: score.share for score in scores["wage"]}
    release = open_release(directory)
    table = read_tables(release.declared, directory / "data")["microdata"].to_pylist()
    rows_ = [(str(row["age"]), row["town"], str(row["wage"])) for row in table]
    group = [row.get("group_id", position) for position, row in enumerate(table)]
    people = [(row["age"], row["town"], row["wage"]) for row in rows()]
    people = [(str(age), town, str(Decimal(wage))) for age, town, wage in people]
    alone = [person for person, times in Counter(people).items() if times == 1]
    exact = sum(1 - miss_share(rows_, group, person) for person in alone)
    exact_share = shares["record like nobody else's, and published as it is"]
    assert exact_share == pytest.approx(float(exact / len(people)))
    right, ages = Fraction(0), [int(row["age"]) for row in rows()]
    wages = [
        [row[2] for row, group in zip(rows_, group, strict=True) if group == number]
        for number in group
    ]
    for person in people:
        far = [distance(way, row, person, ages) for row in rows_]
        near = closest(far)
        close = [
            Fraction(sum(is_near(w, person[2]) for w in wages[n]), len(wages[n])) for n in near
        ]
        right += sum(close) / len(near)
    guessed = shares["own value in the nearest row, of numbers about it (5 %)"]
    assert guessed == pytest.approx(float(right / len(people)))


def is_near(wage, own):
    return abs(Decimal(wage) - Decimal(own)) <= Decimal("0.05") * Decimal(wage)


def miss_share(rows, group, person):
    """The share of shuffles in which nobody's record is a person's, from those of each group."""
    share_ = Fraction(1)
    for number in {*group}:
        records = [row for row, number_ in zip(rows, group, strict=True) if number_ == number]
        tables = [set(table) for table in shuffles(records, [0] * len(records))]
        share_ *= Fraction(sum(person not in table for table in tables), len(tables))
    return share_


def test_another_draw_of_the_same_groups_is_judged_alike(tmp_path):
    """The published rows differ from one draw to the next; what bars are judged on does not."""
    arrays = {"a": [5 * n for n in range(120)], "s": [n % 7 for n in range(120)]}
    releases = [
        release_of(tmp_path / str(seed), arrays, [diverse(2)], MONDRIAN, seed=seed)
        for seed in range(3)
    ]
    values = [release.tables["microdata"]["s"].to_pylist() for release in releases]
    assert values[0] != values[1] != values[2]
    for figure in (matches.successes, nearest.successes_of_inference):
        first, *others = map(figure, releases)
        assert 0 < first.share < 1
        assert others == [first, first]
