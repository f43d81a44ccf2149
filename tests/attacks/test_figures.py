"""The figures that bars are judged on, attack by attack, against people counted one by one."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.shared.errors import InputError, SpecError
from sfumato.flows.cli.main import run
from sfumato.tasks.attacks.bars import judge_bars
from sfumato.tasks.attacks.group import known_people, similarity, skewness, small_range
from sfumato.tasks.attacks.linking import linkage
from sfumato.tasks.attacks.records import matches, nearest, singling_out
from sfumato.tasks.attacks.records.nearest import upper_limit
from sfumato.tasks.attacks.registry import targets_of
from sfumato.tasks.microdata.table import load
from sfumato.tasks.publication.check import check
from sfumato.tasks.schema.stated import KeptBar
from sfumato.tasks.terms.opened import MANIFEST, PAGE, open_release
from sfumato.tasks.terms.tables import read_tables
from tests.attacks.test_attacks import KINDS, MEMBERS, of_numbers, release_showing
from tests.attacks.test_bars import L3, attack, bars, line  # noqa: F401 - a fixture
from tests.attacks.test_linkage import WAYS, fits, register_of
from tests.attacks.test_linkage import rows as linked_rows
from tests.attacks.test_records import TABLE, target
from tests.release.small import SPEC, people

NUMBERS = st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=8), min_size=1, max_size=5)
DIVERSE = {"promises": L3, "partition": {"method": "anatomy"}}


def everybody(members):
    return [(group, value) for group in members for value in group]


@given(members=NUMBERS)
def test_windows_around_every_number(groups_of, members):
    counts = of_numbers(groups_of, members)
    units = np.array(counts.numbers.units)
    for width in (0, 1, 3, 20):
        expected = [
            max(
                sum(low <= v <= low + width for v in group)
                for low in group
                if own - width <= low <= own
            )
            for group in members
            for own in sorted({*group})
        ]
        assert small_range.densest_around(counts, units, width).tolist() == expected


def test_the_largest_of_many_entries():
    rng = np.random.default_rng(3)
    numbers = rng.integers(0, 100, 300)
    first = np.array([rng.integers(0, i + 1) for i in range(300)])
    expected = [max(numbers[low : i + 1]) for i, low in enumerate(first)]
    assert small_range._largest(numbers, first).tolist() == expected


@given(members=MEMBERS, count=st.integers(1, 3))
def test_known_people_are_taken_out_of_groups(groups_of, members, count):
    beliefs_found = known_people.beliefs(release_showing(of_numbers(groups_of, members)), count)
    beliefs = [
        Fraction(group.count(v), max(len(group) - count, group.count(v)))
        for group, v in everybody(members)
    ]
    for least in (Fraction(1, 2), Fraction(1)):
        expected = sum(belief >= least for belief in beliefs) / len(beliefs)
        assert beliefs_found.share_above(float(least)) == pytest.approx(expected)


@given(members=MEMBERS)
def test_kinds_are_believed_as_groups_show_them(groups_of, members):
    members = [[0, 1, 2, 3], *members]
    counts = replace(of_numbers(groups_of, members), ancestors=KINDS)
    beliefs = similarity.beliefs(release_showing(counts), 1)
    alike = [
        Fraction(sum(other // 2 == v // 2 for other in group), len(group))
        for group, v in everybody(members)
    ]
    for least in (Fraction(1, 2), Fraction(1)):
        expected = sum(belief >= least for belief in alike) / len(alike)
        assert beliefs.share_above(float(least)) == pytest.approx(expected)
    assert similarity.beliefs(release_showing(counts), 2) is None, (
        "everything is of the root's kind"
    )


@given(members=MEMBERS, times=st.sampled_from(["1.5", "2", "3.25"]))
def test_skewness_by_any_factor(groups_of, members, times):
    values = [v for _, v in everybody(members)]
    likelier = [
        Fraction(group.count(v), len(group))
        >= Fraction(times) * Fraction(values.count(v), len(values))
        for group, v in everybody(members)
    ]
    successes = skewness.successes(release_showing(of_numbers(groups_of, members)), float(times))
    assert (successes.number, successes.share) == (len(values), sum(likelier) / len(values))


def test_skewness_of_more_people_than_fit_into_64_bits(groups_of):
    counts = of_numbers(groups_of, [[0, 1], [0, 0]])
    many = replace(counts, count=counts.count * 10**9)
    for times, expected in (1.3333333333333332, 0.75), (1.34, 0.25), (1.99999, 0.25), (2.5, 0):
        assert skewness.share_as_likely(many, times) == expected


LIMIT = KeptBar(attack="matches", limit="max-share", most=0.1)


@given(TABLE, TABLE)
def test_tries_count_as_what_they_leave_open(rows, people_):
    release = target(rows, people_)
    exact, *_ = matches.attack(release)
    assert matches.successes(release).figure_for(LIMIT) == exact.share
    (halves,), (own,) = nearest.link_halves(release), nearest.infer(release)
    assert nearest.successes_of_halves(release).figure_for(LIMIT) == halves.share
    assert nearest.successes_of_inference(release).figure_for(LIMIT) == own.share
    (singled,) = singling_out.attack(release)
    successes = singling_out.successes(release)
    assert successes.number == len(people_)
    assert successes.figure_for(LIMIT) == singled.references["at most, with 95 %"] >= singled.share


def test_of_some_people_the_limit_counts(tmp_path, monkeypatch):
    rows = [(age, "a", age % 3) for age in range(30)]
    monkeypatch.setattr(nearest, "ATTEMPTS", 10)
    successes = nearest.successes_of_inference(target(rows, rows))
    assert successes.figure_for(LIMIT) == upper_limit(10, 10) == 1.0
    others = [(age, "a", 9) for age in range(30)]
    assert nearest.successes_of_inference(target(rows, others)).share == upper_limit(0, 10) > 0


@pytest.mark.parametrize("way", WAYS)
def test_registers_as_every_pair_of_a_person_and_a_row(small, tmp_path, way):
    promises, partition, form = WAYS[way]
    ours = [(str(row["age"]), row["town"]) for row in linked_rows()]
    register_rows = ours + [(str(age), town) for age in range(19, 61, 3) for town in ("Aa", "Bee")]
    terms = {"promises": promises, "partition": partition, "form": form, "nulls": "refuse"}
    columns = {
        **SPEC["columns"],
        "age": {
            "role": "quasi-identifier",
            "type": "integer",
            "hierarchy": {"intervals": [5, 10, 20]},
        },
        "town": {"role": "quasi-identifier"},
    }
    small.write(linked_rows(), columns=columns, **terms, evaluate={"workloads": []})
    release = open_release(small.publish("one").directory)
    tables = read_tables(release.declared, release.directory / "data")
    rows = list(
        zip(
            *(map(str, tables["microdata"][name].to_pylist()) for name in ("age", "town")),
            strict=True,
        )
    )
    register = register_of(tmp_path, register_rows)
    own = load(small.folder / "one" / "deidentified")
    (attacked,) = targets_of(release.declared, tables, own)
    own_rows, there = linkage.own_rows(attacked, register), linkage.presence(attacked, register)
    fitting = [sum(all(map(fits, row, person)) for row in rows) for person in ours]
    assert own_rows.number == there.number == len(ours)
    for least in (0.1, 0.25, 1.0):
        expected = sum(1 / rows >= least for rows in fitting) / len(ours)
        assert own_rows.share_above(least) == pytest.approx(expected)
    fit = {row: sum(all(map(fits, row, person)) for person in register_rows) for row in {*rows}}
    chance = [
        sum(Fraction(1, fit[row]) for row in rows if all(map(fits, row, person))) for person in ours
    ]
    for least in (0.4, 0.9, 1.0):
        expected = sum(float(share) >= least - 1e-12 for share in chance) / len(ours)
        assert there.share_above(least - 1e-9) == pytest.approx(expected)


class TestStage:
    """Bars of each kind on candidates."""

    @pytest.mark.parametrize(
        ("written", "is_kept"),
        [
            (
                {"small-range": {"width": 900, "max-share-above": {"belief": 1, "share": 0.9}}},
                False,
            ),
            ({"small-range": {"width": 0.05, "max-share-above": {"belief": 1, "share": 0}}}, True),
            ({"skewness": {"times": 2, "max-share": 0.2}}, False),
            ({"known-people": {"known": 2, "max-share-above": {"belief": 0.9, "share": 0}}}, False),
            ({"matches": {"max-share": 1}}, True),
            ({"singling-out": {"max-share": 0}}, False),
            ({"linkability": {"max-share": 1}}, True),
            ({"inference": {"max-share": 0}}, False),
        ],
    )
    def test_each_is_judged(self, line, small, written, is_kept):  # noqa: F811
        bars_that_tell = {name: {**bar, "on-failure": "tell"} for name, bar in written.items()}
        line(bars_that_tell)
        (judged,) = attack(small)
        assert judged.observed is not None
        assert judged.is_kept is is_kept

    def test_a_register_is_read_beside_the_spec(self, line, small):  # noqa: F811
        bar = {"register": "register.csv", "on-failure": "tell"}
        limit = {"max-share-above": {"belief": 0.5, "share": 0}}
        line({name: {**bar, **limit} for name in ("linkage", "presence")})
        with pytest.raises(InputError, match=r"register\.csv"):
            attack(small, "one")
        ours = [(row["age"], row["town"]) for row in people(rows=300)]
        register_of(small.folder, ours)
        judged = attack(small, "two")
        assert [verdict.limit.attack for verdict in judged] == ["linkage", "presence"]
        assert not any(verdict.is_kept for verdict in judged), "everybody of the register is there"
        assert "register.csv" not in " ".join(verdict.words for verdict in judged)

    def test_kinds_need_a_hierarchy(self, line, small):  # noqa: F811
        line({"similarity": {"level": 1, "max-share-above": {"belief": 1, "share": 0}}})
        with pytest.raises(
            SpecError, match=r"attacks\.similarity: needs a sensitive column with a hierarchy"
        ):
            small.plan()

    def test_versions_together_need_people_who_may_be_in_several(self, line, small):  # noqa: F811
        line({"composition": {"max-share": 0}})
        with pytest.raises(SpecError, match="which this spec does not accept"):
            small.plan()
        line({"composition": {"max-share": 0}}, versions="accepted-risk", remember="units")
        with pytest.raises(SpecError, match="who is in which group"):
            small.plan()

    def test_versions_together_are_judged(self, line, small):  # noqa: F811
        accepted = {"versions": "accepted-risk"}
        line({"composition": {"max-share": 0}}, **accepted)
        (judged,) = attack(small, "one")
        assert (judged.observed, judged.is_kept) == (0, True)
        small.publish("first")
        line({"composition": {"max-share": 0.001, "on-failure": "tell"}}, rows=299, **accepted)
        (judged,) = attack(small, "two")
        (exposed_column,) = open_release(
            small.folder / "two" / "candidate" / "release"
        ).declared.exposure.columns
        alone = (
            exposed_column.intersection.one
            + exposed_column.newcomers.one
            + exposed_column.leavers.one
        )
        assert judged.observed == alone / exposed_column.intersection.people > 0.001
        assert not judged.is_kept


class TestWidth:
    """A declared width of small ranges."""

    WIDE = {"small-range": {"width": 50.5}}  # noqa: RUF012 - not changed

    def test_the_page_and_check_know_it(self, line, small):  # noqa: F811
        directory = line(self.WIDE).publish("one").directory
        page = " ".join((directory / PAGE).read_text(encoding="utf-8").split())
        assert "within a window of the declared width of 50.5, the densest of the group" in page
        assert open_release(directory).declared.window == Decimal("50.5")
        assert open_release(directory).declared.bars is None
        assert '"window":"50.5"' in (directory / MANIFEST).read_text(encoding="utf-8")
        assert check(directory, None)
        plain = line({}).plan().terms.digest()
        assert line(self.WIDE).plan().terms.digest() == plain, "it is no term"

    def test_it_is_of_one_column(self, line, small):  # noqa: F811
        columns = {**SPEC["columns"], "age": {"role": "sensitive", "type": "integer"}}
        line(
            self.WIDE,
            columns=columns,
            evaluate={"workloads": []},
            promises=[{**L3[0], "sensitive": name} for name in ("wage", "age")],
        )
        with pytest.raises(
            SpecError, match=("width: is measured in the unit of one column, and there")
        ):
            small.plan()

    def test_without_a_limit_nothing_is_judged(self, line, small):  # noqa: F811
        line(self.WIDE)
        assert attack(small) == []


def test_a_column_of_which_nothing_can_be_judged_is_not_kept(line, small):  # noqa: F811
    release = open_release(line({}).publish("one").directory)
    tables = read_tables(release.declared, release.directory / "data")
    bars_asked = bars(similarity={"level": 1, "max-share-above": {"belief": 1, "share": 1}})
    own = load(small.folder / "one" / "deidentified")
    (judged,) = judge_bars(bars_asked.root, targets_of(release.declared, tables, own))
    assert (judged.observed, judged.is_kept) == (None, False)


def test_the_command_judges_by_a_register(line, small, capsys):  # noqa: F811
    ours = [(row["age"], row["town"]) for row in people(rows=300)]
    bar = {"presence": {"register": "register.csv", "max-share-above": {"belief": 1, "share": 0}}}
    line(bar)
    register_of(small.folder, ours)
    version = small.publish("one").directory
    assert run(["attack", str(version), "--truth", str(small.spec)]) == 3
    assert "not kept: attacks.presence.max-share-above: 0 of 'wage'" in capsys.readouterr().err
