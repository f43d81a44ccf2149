"""Targets of groups' own: published after any partition, checked, asked, and what they tell."""

import csv
import json
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest

from sfumato.expectations.groups.groups import Target
from sfumato.expectations.models.l_diversity import DistinctLDiversity, RecursiveLDiversity
from sfumato.expectations.shared.errors import PromiseError, SpecError
from sfumato.tasks.microdata.table import load, seeded_keys
from sfumato.tasks.partitions.targets.minimum import minimum
from sfumato.tasks.partitions.targets.nearest import as_groups, nearest_ranked, ways_of_writing
from sfumato.tasks.publication.check import check
from sfumato.tasks.query.ask import answer
from sfumato.tasks.stages.evaluate import evaluate_release
from sfumato.tasks.terms.opened import MANIFEST, open_release
from tests.release.small import SPEC, people

OWN = {"model": "p-privacy", "target": {"nearest": "own"}}
CLOSE = {"model": "t-closeness", "t": 0.3, "distance": "ordered"}
EQUAL = {"model": "t-closeness", "t": 0.35, "distance": "equal"}
L3 = {"model": "l-diversity", "variant": "distinct", "l": 3}
SPREAD = {"model": "l-diversity", "variant": "recursive", "l": 2, "c": 2}
ALIKE = {"model": "beta-likeness", "beta": 3}
EVEN = {"model": "l-diversity", "variant": "entropy", "l": 2.5}
BANDS = [{"column": "age", "bands": [30, 45]}]
KINDS = ("cold", "flu", "none", "pain", "rash")
ASKED = {
    "workloads": [
        {"kind": "range", "aggregate": "avg", "over": "age", "spans": [5, 20], "queries": 5},
        {"kind": "range", "aggregate": "count", "over": "age", "spans": [9], "queries": 5},
        {"kind": "arbitrary", "aggregate": "sum", "selected": [10], "queries": 5},
        {"kind": "counts", "attributes": 1, "selectivity": [50], "queries": 5},
    ]
}
COUNTED = {"workloads": ASKED["workloads"][1::2]}
COMBINED = {
    "strata, close": ({"method": "stratum"}, {}, [CLOSE], BANDS),
    "strata, diverse": ({"method": "stratum"}, {}, [L3, SPREAD], BANDS),
    "exact": ({"method": "exact-qi"}, {"fakes": 0.2}, [L3], []),
    "mondrian": ({"method": "mondrian"}, {"rows": 6}, [EQUAL], []),
    "mondrian, diverse": ({"method": "mondrian"}, {"rows": 4, "fakes": 2}, [EVEN], BANDS),
    "relaxed": ({"method": "mondrian", "mode": "relaxed"}, {"rows": 5}, [SPREAD], []),
    "full-domain": ({"method": "full-domain"}, {"rows": 5}, [L3], []),
    "forest": ({"method": "forest"}, {"rows": 4}, [SPREAD], []),
    "by their values": ({"method": "mondrian"}, {}, [L3], []),
    "alike": ({"method": "mondrian"}, {"rows": 6, "denominator": 40}, [ALIKE], []),
    "anatomy": ({"method": "anatomy"}, {}, [L3], []),
}


def rows():
    """People whose complaints go with their ages: many of their groups are far from all."""
    made = []
    for number, row in enumerate(people()):
        kind = KINDS[(number // 2) % 5 if number % 3 else (0 if int(row["age"]) < 40 else 1)]
        made.append({**row, "kind": kind, "level": str(KINDS.index(kind) * 10 + number % 2)})
    return made


def changes(partition, form, promises, strata, sensitive="level", **more):
    columns = json.loads(json.dumps(SPEC["columns"]))
    columns["age"]["hierarchy"] = {"intervals": [5, 10, 20]}
    changed_columns = {"kind": {"role": "drop"}, "level": {"role": "drop", "type": "integer"}}
    changed_columns[sensitive]["role"] = "sensitive"
    columns |= {**changed_columns, "wage": {"role": "drop", "type": "decimal"}}
    return {
        "columns": columns,
        "promises": [OWN, *promises],
        "partition": partition,
        "form": {"method": "redistributed", "denominator": 12, **form},
        "strata": strata,
        "evaluate": ASKED if sensitive == "level" else COUNTED,
        **more,
    }


@pytest.fixture
def publish(small):
    def publish_nearest(*combined, **more):
        small.write(rows(), **changes(*combined, **more))
        return small.publish("one").directory

    return publish_nearest


def declared_shares(directory):
    """By group its rows and the distribution that the published files declare, by hand."""
    data = {}
    for name in ("qit", "aims", "targets"):
        with (directory / "data" / f"{name}.csv").open(encoding="utf-8") as file:
            data[name] = list(csv.DictReader(file))
    nodes = defaultdict(list)
    for row in data["targets"]:
        ends = (int(row["lower"]), int(row["upper"]))
        nodes[row["target"]].append((ends, int(row["weight"])))

    def chance(group_id, leaf):
        """The product of shares of all nodes that a value is in."""
        inside = [pair for pair in nodes[group_id] if pair[0][0] <= leaf <= pair[0][1]]
        chance_found = Fraction(1)
        for (low, high), weight in inside[1:]:
            above = max(
                (
                    pair
                    for pair in inside
                    if pair[0][0] <= low and high <= pair[0][1] and pair[0] != (low, high)
                ),
                key=lambda pair: (pair[0][0], -pair[0][1]),
            )[0]
            siblings = sum(w for (a, b), w in nodes[group_id] if parent(group_id, (a, b)) == above)
            chance_found *= Fraction(weight, siblings) if weight else 0
        return chance_found

    def parent(group_id, ends):
        around = [
            e for e, _ in nodes[group_id] if e[0] <= ends[0] and ends[1] <= e[1] and e != ends
        ]
        return min(around, key=lambda e: e[1] - e[0], default=None)

    leaves = sorted({ends[0] for ends, _ in nodes["0"] if ends[0] == ends[1]})
    sizes = Counter(row["group_id"] for row in data["qit"])
    shares = {t: [chance(t, leaf) for leaf in leaves] for t in nodes}
    return [(sizes[row["group_id"]], shares[row["target"]]) for row in data["aims"]]


def far(chances, mixture, *, ordered):
    """Return how far a declared distribution is from that of all rows."""
    off = [p - q for p, q in zip(chances, mixture, strict=True)]
    if not ordered:
        return sum(map(abs, off)) / 2
    possible = [position for position, q in enumerate(mixture) if q > 0]
    return sum(abs(sum(off[: position + 1])) for position in possible[:-1]) / (len(possible) - 1)


LIMITS = {
    str(L3): lambda chances, _: sum(p > 0 for p in chances) >= 3,
    str(SPREAD): lambda chances, _: max(chances) < 2 * (1 - max(chances)),
    str(EVEN): lambda chances, _: (
        -sum(float(p) * np.log(float(p)) for p in chances if p) >= np.log(2.5) - 1e-9
    ),
    str(CLOSE): lambda chances, all_: far(chances, all_, ordered=True) <= Fraction("0.3"),
    str(ALIKE): lambda chances, all_: all(
        float(p / q) - 1 <= min(3, -np.log(float(q))) + 1e-9
        for p, q in zip(chances, all_, strict=True)
        if q
    ),
    str(EQUAL): lambda chances, all_: far(chances, all_, ordered=False) <= Fraction("0.35"),
}


def holds(promise, groups_found):
    """Tell if a promise holds of declared distributions, by its definition."""
    total = sum(size for size, _ in groups_found)
    mixture = [
        sum(s * p[v] for s, p in groups_found) / total for v in range(len(groups_found[0][1]))
    ]
    return all(LIMITS[str(promise)](chances, mixture) for _, chances in groups_found)


@pytest.mark.parametrize("combined", COMBINED)
def test_published_checked_asked_and_evaluated(publish, small, combined):
    partition, form, promises, strata = COMBINED[combined]
    directory = publish(partition, form, promises, strata)
    verdicts = check(directory).verdicts
    assert len(verdicts) == len(promises) + 1
    assert all(verdict.holds for _, verdict in verdicts)
    shares = declared_shares(directory)
    assert all(sum(chances) == 1 for _, chances in shares)
    assert all(holds(promise, shares) for promise in promises)
    opened, plan = open_release(directory), small.plan()
    assert opened.manifest["sfumato"]["format"] == 6
    (row,) = answer(opened, "SELECT COUNT(*), SUM(level) FROM microdata").rows
    assert (row["count(*)"].lower, row["count(*)"].upper) == (61, 61)
    original = load(small.folder / "one" / "deidentified")
    measured = evaluate_release(  # a truth outside of its bounds is a fault
        directory, original, plan.spec.evaluate, plan.line, seeded_keys(3), lambda *_: None
    )
    assert sum(query["queries"] for query in measured.public) == 25


def test_groups_that_keep_the_promise_keep_their_own_distribution(publish, small):
    directory = publish({"method": "stratum"}, {}, [L3], BANDS)
    facts = json.loads((small.plan().line.reports("0001") / "partition.json").read_bytes())
    groups = len(declared_shares(directory))
    assert facts["groups that keep their own distribution"] == groups == 3
    assert (facts["rows that targets move"], facts["sum_of_ranges"]) == (0, 0)


def test_other_groups_have_the_nearest_of_their_denominator(publish, small):
    directory = publish({"method": "mondrian"}, {"rows": 6}, [EQUAL], [])
    facts = json.loads((small.plan().line.reports("0001") / "partition.json").read_bytes())
    shares = declared_shares(directory)
    assert facts["groups that keep their own distribution"] < len(shares)
    assert facts["rows that targets move"] > 0
    assert 0 < float(facts["held to"]) <= 0.35
    for size, chances in shares:
        parts = {p.denominator for p in chances if p}
        assert any(all(unit % p == 0 for p in parts) for unit in (12, size))


PAPER = [
    *((1, "91110", "F", 30), (2, "91110", "M", 40), (3, "91110", "M", 50), (4, "91130", "F", 60)),
    *((5, "91210", "F", 40), (6, "91220", "F", 30), (7, "91240", "F", 50)),
    *((8, "91310", "M", 40), (9, "91320", "M", 60), (10, "91330", "M", 60), (11, "91340", "F", 60)),
]
COLUMNS = {
    "id": {"role": "identifier", "unit": True},
    "area": {"role": "insensitive"},
    "zip": {"role": "quasi-identifier"},
    "gender": {"role": "quasi-identifier"},
    "salary": {"role": "sensitive", "type": "integer"},
}


@pytest.fixture
def paper(small):
    """The paper's running table, its owner groups the first three digits, four salaries each."""
    written = [{"id": i, "zip": z[:3], "gender": g, "salary": s} for i, z, g, s in PAPER]
    small.write(
        written,
        source={"uri": "people.csv"},
        columns={name: column for name, column in COLUMNS.items() if name != "area"},
        promises=[OWN, {**L3, "l": 4}],
        partition={"method": "stratum"},
        form={"method": "redistributed", "denominator": 4},
        strata=["zip"],
        evaluate={"workloads": []},
    )
    return small.publish("one").directory


def test_the_papers_table(paper):
    with (paper / "data" / "st.csv").open(encoding="utf-8") as file:
        ends_by_group = defaultdict(dict)
        for row in csv.DictReader(file):
            ends = int(row["lower"]), int(row["upper"])
            ends_by_group[row["group_id"]][ends] = int(row["count"])
    assert sorted(ends_by_group.values(), key=str) == sorted(
        [
            {(30, 30): 1, (40, 40): 1, (50, 50): 1, (60, 60): 1},
            {(30, 40): 1, (50, 60): 1, (30, 60): 1},
            {(30, 40): 1, (50, 60): 1, (30, 60): 2},
        ],
        key=str,
    )


def worlds(paper):
    """Every table of rows that the published files admit, by group."""
    with (paper / "data" / "qit.csv").open(encoding="utf-8") as file:
        people_of = defaultdict(list)
        for row in csv.DictReader(file):
            people_of[row["group_id"]].append(row["gender"])
    with (paper / "data" / "st.csv").open(encoding="utf-8") as file:
        ranges = defaultdict(list)
        for row in csv.DictReader(file):
            values = [s for s in (30, 40, 50, 60) if int(row["lower"]) <= s <= int(row["upper"])]
            ranges[row["group_id"]] += [values] * int(row["count"])
    of_group = {}
    for group, genders in people_of.items():
        orders = {order for values in product(*ranges[group]) for order in permutations(values)}
        of_group[group] = [list(zip(genders, salaries, strict=True)) for salaries in orders]
    return of_group


QUERIES = {
    "SUM(salary)": (lambda rows: sum(s for g, s in rows if g == "F"), "gender = 'F'"),
    "COUNT(*)": (
        lambda rows: sum(g == "F" and s > 40 for g, s in rows),
        "gender = 'F' AND salary > 40",
    ),
}


@pytest.mark.parametrize("aggregate", QUERIES)
def test_bounds_are_those_of_all_worlds(paper, aggregate):
    value, condition = QUERIES[aggregate]
    low = high = 0
    for tables in worlds(paper).values():
        values_of_worlds = [value(rows) for rows in tables]
        low, high = low + min(values_of_worlds), high + max(values_of_worlds)
    sql = f"SELECT {aggregate} FROM microdata WHERE {condition}"
    (row,) = answer(open_release(paper), sql).rows
    (bounds,) = row.values()
    assert (bounds.lower, bounds.upper) == (low, high)
    truth = value([(g, s) for _, _, g, s in PAPER])
    assert bounds.lower <= truth <= bounds.upper


def target_of_counts(counts, promise, denominator):
    """The target and the subdomains that a group of two values gets, by the known rules."""
    judged = as_groups(ways_of_writing(denominator), "s")
    ways = ways_of_writing(denominator)[~promise.failing(judged)]
    own = not promise.failing(as_groups(np.array([sorted(counts, reverse=True)]), "s"))[0]
    target = list(counts) if own else nearest_ranked(np.array(counts), ways, np.array([9, 9]))
    weights = [int(w) for w in np.array(target) // np.gcd.reduce(np.array(target))]
    tree = Target(np.array([-1, 0, 0]), np.array([1, *weights]))
    return tuple(weights), tuple(minimum(tree, np.array([0, *counts])).tolist())


@pytest.mark.parametrize(("denominator", "belief"), [(16, Fraction(4, 5)), (3, Fraction(1))])
def test_what_a_target_tells_to_whom_knows_how_it_is_chosen(denominator, belief):
    """Why the page says that promises hold of what is declared, and not against that reader.

    Four people, each of whom has either value with the same chance: what is shown of the group is
    a function of all four values, and a reader who knows it goes through all sixteen tables.
    """
    promise = RecursiveLDiversity(l=2, c=3)  # neither value in three quarters of a group, or more
    tables = defaultdict(list)
    for values in product((0, 1), repeat=4):
        counts = (values.count(0), values.count(1))
        tables[target_of_counts(counts, promise, denominator)].append(values)
    believed = {
        ends_shown: Fraction(sum(values[0] == 0 for values in those), len(those))
        for ends_shown, those in tables.items()
    }
    declared = {
        ends_shown: Fraction(ends_shown[0][0], sum(ends_shown[0])) for ends_shown in believed
    }
    assert believed[(1, 1), (0, 2, 2)] == declared[(1, 1), (0, 2, 2)] == Fraction(1, 2)
    assert max(declared.values()) < Fraction(3, 4) < max(believed.values()) == belief


def test_the_page_says_whom_targets_tell_more(publish):
    own = publish({"method": "stratum"}, {}, [L3], BANDS)
    page = (own / "index.html").read_text(encoding="utf-8")
    assert "of those with chances in parts of 12" in page
    assert "They do not cover an attacker who retraces how the tables were made" in page
    assert "still faces at least 3 different values of level" in page


def test_the_page_of_other_targets_is_as_it_was(small):
    terms = {"promises": [{"model": "p-privacy", "target": "uniform"}], "form": {}}
    small.write(
        rows(),
        **changes({"method": "stratum"}, {}, [], BANDS)
        | terms
        | {"form": {"method": "redistributed", "denominator": 12}},
    )
    directory = small.publish("one").directory
    assert "retraces" not in (directory / "index.html").read_text(encoding="utf-8")
    assert "format" not in json.loads((directory / MANIFEST).read_bytes())["sfumato"]


def test_the_partition_of_the_page_tells_of_sizes(publish):
    page = (publish({"method": "mondrian"}, {"rows": 6}, [EQUAL], []) / "index.html").read_text()
    assert "for as long as every part has at least 6 rows (Mondrian)" in page


def test_a_target_that_no_denominator_has_is_refused(small):
    small.write(rows(), **changes({"method": "stratum"}, {"denominator": 2}, [L3], ["town", "age"]))
    with pytest.raises(PromiseError, match="no target with this denominator keeps it"):
        small.publish("one")


REFUSED = {
    "alone": (({"method": "stratum"}, {}, [], []), "also needs exactly one t-closeness"),
    "both": (
        ({"method": "stratum"}, {}, [CLOSE, L3], []),
        "exactly one t-closeness or beta-likeness promise",
    ),
    "exact": (
        ({"method": "stratum"}, {"denominator": "exact"}, [L3], []),
        "must be a number up to",
    ),
    "large": (({"method": "stratum"}, {"denominator": 64}, [L3], []), "must be a number up to 40"),
    "rows of strata": (({"method": "stratum"}, {"rows": 5}, [L3], []), "form.rows: partition str"),
    "budget": (
        ({"method": "full-domain", "suppression": 0.1}, {"rows": 5}, [L3], []),
        "suppress no rows",
    ),
    "listed": (
        ({"method": "stratum"}, {}, [{**EVEN, "dont-care": ["1"]}], []),
        "promises.1: no method finds the nearest target for entropy-l-diversity as it is",
    ),
    "ke": (({"method": "ke"}, {}, [L3], []), "partition: ke needs a"),
    "forest": (({"method": "forest"}, {}, [L3], []), "partition: forest needs a k-anonymity"),
}


@pytest.mark.parametrize(("combined", "words"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_go_with_targets_of_groups(small, combined, words):
    small.write(rows(), **changes(*combined))
    with pytest.raises(SpecError, match=words):
        small.plan()


def test_too_many_targets_are_refused(small, monkeypatch):
    small.write(rows(), **changes({"method": "mondrian"}, {"rows": 6}, [EQUAL], []))
    where = "sfumato.tasks.partitions.distribution.own_targets._MOST_NODES"
    monkeypatch.setattr(where, 20)
    with pytest.raises(PromiseError, match="more than 2 targets over 10 values"):
        small.publish("one")


def test_what_goes_with_them_alone(small):
    uniform = {"model": "p-privacy", "target": "uniform"}
    wrong = {"promises": [uniform], "form": {"method": "redistributed", "rows": 5}}
    small.write(rows(), **changes({"method": "stratum"}, {}, [], []) | wrong)
    with pytest.raises(SpecError, match=r"form\.rows: partition stratum makes groups of any size"):
        small.plan()
    composed = changes({"method": "stratum"}, {}, [L3], [], versions="composed")
    small.write(rows(), **composed)
    with pytest.raises(SpecError, match="p-privacy is about one version of one line"):
        small.plan()


def test_texts_have_targets_too(publish):
    directory = publish({"method": "mondrian"}, {"rows": 5}, [EQUAL], [], sensitive="kind")
    assert all(verdict.holds for _, verdict in check(directory).verdicts)


def test_l_diversity_of_declared_distributions_is_that_of_the_same_counts(publish):
    directory = publish({"method": "stratum"}, {}, [L3], BANDS)
    (verdict,) = (v for p, v in check(directory).verdicts if isinstance(p, DistinctLDiversity))
    shares = declared_shares(directory)
    assert verdict.observed["l"] == min(sum(p > 0 for p in chances) for _, chances in shares)


LEAST = {"model": "p-privacy", "target": {"nearest": "own", "objective": "ranges"}}


def with_least_ranges(partition, form, promises, strata):
    """The same spec with targets that are chosen by the sum of ranges."""
    spec = changes(partition, form, promises, strata)
    return {**spec, "promises": [LEAST, *promises]}


@pytest.mark.parametrize(
    "combined",
    ["strata, close", "mondrian", "relaxed", "alike", "strata, diverse"],
)
def test_least_ranges_are_narrower_and_keep_the_promises(publish, small, combined):
    partition, form, promises, strata = COMBINED[combined]
    small.write(rows(), **with_least_ranges(partition, form, promises, strata))
    directory = small.publish("one").directory
    assert open_release(directory).declared.format == 13
    assert all(verdict.holds for _, verdict in check(directory).verdicts)
    assert all(holds(promise, declared_shares(directory)) for promise in promises)
    facts = json.loads((small.plan().line.reports("0001") / "partition.json").read_bytes())
    nearest = facts["sum of ranges, nearest targets"]
    assert facts["sum_of_ranges"] == min(nearest, facts["sum of ranges, least targets"])
    if combined == "mondrian":
        assert facts["sum_of_ranges"] < nearest
    page = " ".join((directory / "index.html").read_text(encoding="utf-8").split())
    assert "chosen so that the ranges of all groups are as narrow as possible together" in page


def test_the_shares_of_a_group_are_told_where_a_target_lacks_its_value(publish, small):
    small.write(rows(), **with_least_ranges({"method": "mondrian"}, {"rows": 6}, [EQUAL], []))
    directory = small.publish("one").directory
    facts = json.loads((small.plan().line.reports("0001") / "partition.json").read_bytes())
    assert (
        0 < facts["groups with a value that their target lacks"] <= len(declared_shares(directory))
    )


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"tree": "median"}, r"form\.tree: median depends on the target"),
        ({"fakes": 2}, r"form\.fakes: `objective: ranges` finds"),
        ({"denominator": 41}, r"form\.denominator: must be a number up to 40"),
    ],
)
def test_what_does_not_go_with_least_ranges(small, form, words):
    small.write(rows(), **with_least_ranges({"method": "stratum"}, form, [L3], BANDS))
    with pytest.raises(SpecError, match=words):
        small.plan()


def test_an_unknown_objective_is_refused_by_name(small):
    target = {"nearest": "own", "objective": "widths"}
    spec = changes({"method": "stratum"}, {}, [L3], BANDS)
    small.write(rows(), **{**spec, "promises": [{**OWN, "target": target}, L3]})
    with pytest.raises(SpecError, match=r"promises\.0\..*objective"):
        small.plan()
