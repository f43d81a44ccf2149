"""Distributions that groups are declared to have, in parts: over the values of all of them."""

import json
import pickle
import shutil
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.parts.anonymize import PartToAnonymize
from sfumato.tasks.publication.check import check
from sfumato.tasks.publication.files import write_release
from sfumato.tasks.query.ask import files_of_tables
from sfumato.tasks.query.engines.engine import read_table
from sfumato.tasks.schema.names import AIMS, TARGETS
from sfumato.tasks.terms.assessment import assess
from sfumato.tasks.terms.opened import MANIFEST, open_release
from sfumato.tasks.terms.tables import read_tables
from sfumato.tasks.workers.workers import InTurn
from tests.parts.divided import Divided, visits
from tests.parts.test_answers import FORMS
from tests.release.forge import edit

TARGETED = {
    "uniform": {"target": "uniform"},
    "all rows": {"target": "source", "per": "table"},
    "stratum": {"target": "source"},
    "zipf": {"target": {"zipf": 0.5}},
}


def spec_of(target, partition="stratum", **changes):
    return {
        **FORMS["stratum"],
        "promises": [{"model": "p-privacy", **TARGETED[target]}],
        "partition": {"method": partition},
        "form": {"method": "redistributed", "denominator": "exact"},
        **changes,
    }


def rows_of(number=400):
    """Few different costs, of which no stratum has all."""
    table = visits(number)
    cents = np.where(
        np.array(table["year"]) == 2020,
        np.random.default_rng(3).integers(0, 5, number),
        np.random.default_rng(4).integers(2, 9, number),
    )
    cost = pa.array(cents).cast(pa.decimal128(38, 0)).cast(pa.decimal128(38, 2))
    return table.set_column(table.column_names.index("cost"), "cost", cost)


def shares_by_year(release):
    """Return the probabilities of values that each stratum's groups are declared to have."""
    files = files_of_tables(open_release(release), [])
    qit, aims, targets = (read_table(files[name]) for name in ("qit", AIMS, TARGETS))
    aim = dict(zip(aims["group_id"].to_pylist(), aims["target"].to_pylist(), strict=True))
    years = dict(zip(qit["group_id"].to_pylist(), qit["year"].to_pylist(), strict=True))
    chances = {number: chances_of(targets, number) for number in set(aim.values())}
    assert set(chances) == set(range(len(chances)))
    return {(year, tuple(chances[aim[group]].items())) for group, year in years.items()}


def chances_of(targets, number):
    """The product of the shares from the root down to each leaf."""
    nodes = [
        (row["lower"], row["upper"], row["weight"])
        for row in targets.filter(pc.equal(targets["target"], number)).to_pylist()
    ]
    chances = {}
    for low, high, _ in nodes:
        if low == high:
            above = [n for n in nodes if n[0] <= low and high <= n[1] and n[:2] != (low, high)]
            path = sorted([*above, (low, high, None)], key=lambda n: n[1] - n[0], reverse=True)
            chance = Fraction(1)
            for (a, b, _), (c, d, _) in pairwise(path):
                siblings = [
                    n
                    for n in nodes
                    if a <= n[0] and n[1] <= b and n[:2] != (a, b) and not is_below(n, nodes, a, b)
                ]
                weight = {n[:2]: n[2] for n in siblings}
                chance *= Fraction(weight[c, d], sum(weight.values()) or 1)
            chances[low] = chance
    return chances


def is_below(node, nodes, a, b):
    """Tell if some node inside of [a, b] has another one inside of it."""
    return any(
        n[0] <= node[0] and node[1] <= n[1] and n[:2] not in (node[:2], (a, b))
        for n in nodes
        if a <= n[0] and n[1] <= b
    )


@pytest.mark.parametrize("target", TARGETED)
@pytest.mark.parametrize("partition", ["stratum", "exact-qi"])
def test_targets_are_those_of_one_table(divided_line, target, partition, tmp_path, monkeypatch):
    spec = spec_of(target, partition, parts={"rows": 10_000})
    whole = divided_line.write(rows_of(), **spec).publish("one").directory
    assert len(open_release(whole).declared.made_of) == 1
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "other"))
    cut = (
        Divided(tmp_path / "cut")
        .write(rows_of(), **{**spec, "parts": {"rows": 100}})
        .publish("two")
        .directory
    )
    assert len(open_release(cut).declared.made_of) > 4
    assert len(check(cut).verdicts) == 1
    shares_found, expected = shares_by_year(cut), shares_by_year(whole)
    assert len({shares for _, shares in expected}) == (4 if target == "stratum" else 1)
    assert shares_found == expected


@pytest.mark.parametrize("partition", ["mondrian", "full-domain"])
@pytest.mark.parametrize("target", TARGETED)
def test_groups_of_other_partitions_have_the_targets_of_one_table(
    divided_line, target, partition, tmp_path, monkeypatch
):
    """Groups are made part by part, or once for all; targets are over the rows of all parts."""
    form = {"method": "redistributed", "denominator": "exact", "rows": 8}
    whole_spec = spec_of(target, parts={"rows": 10_000})
    whole = divided_line.write(rows_of(), **whole_spec).publish("one").directory
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "other"))
    spec = spec_of(target, partition, form=form, parts={"rows": 100})
    cut = Divided(tmp_path / "cut").write(rows_of(), **spec).publish("two").directory
    assert len(open_release(cut).declared.made_of) > 4
    assert len(check(cut).verdicts) == 1
    assert shares_by_year(cut) == shares_by_year(whole)
    for part in (cut / "parts").iterdir():
        groups = pq.read_table(part / "data" / "qit.parquet")["group_id"].to_numpy()
        assert np.bincount(groups).min() >= 8


@pytest.fixture
def cut(divided_line):
    """A version whose parts have targets of their own, the second one no 0."""
    return divided_line.write(rows_of(), **spec_of("stratum")).publish("one").directory


def test_numbers_of_targets_run_on_in_the_lowest_format_that_says_so(cut):
    document = json.loads((cut / MANIFEST).read_bytes())["sfumato"]
    firsts = [part.first_target for part in open_release(cut).declared.made_of]
    targets = [
        pc.count_distinct(pq.read_table(part / "data" / "targets.parquet")["target"]).as_py()
        for part in sorted((cut / "parts").iterdir())
    ]
    assert firsts == [sum(targets[:n]) for n in range(len(targets))]
    assert document["format"] == 7
    assert [part.get("first-target") for part in document["made_of"]] == [None, *firsts[1:]]


@pytest.mark.parametrize("first", [0, 7])
def test_a_part_begins_where_the_one_before_it_ends(cut, first):
    edit(cut, lambda document: document["sfumato"]["made_of"][1].update({"first-target": first}))
    with pytest.raises(PromiseError, match=r"parts/0002: its place|made_of is not as"):
        check(cut)


def test_parts_over_their_own_values_are_no_release(cut):
    """A part of a release about other people, whose targets are over other values."""
    part = cut / "parts" / "0002"
    declared = open_release(part).declared
    tables = read_tables(declared, part / "data")
    for name in (TARGETS, "st"):
        table = tables[name]
        for bound in ("lower", "upper"):
            position = table.column_names.index(bound)
            moved = pa.array([value + 1 for value in table[bound].to_pylist()], table[bound].type)
            table = table.set_column(position, table.schema.field(position), moved)
        tables = {**tables, name: table}
    shutil.rmtree(part)
    write_release(part, assess(declared, tables))
    digest = open_release(part).manifest["sfumato"]["digest"]
    edit(cut, lambda document: document["sfumato"]["made_of"][1].update({"digest": digest}))
    with pytest.raises(
        PromiseError, match=("targets: are about other values than in the parts before")
    ):
        check(cut)


def test_workers_are_told_of_a_file_and_of_no_value(divided_line):
    """Paths, counts and what is declared go over a wire; nothing of it stays."""
    jobs_seen = []

    class Listening(InTurn):
        def each(self, work, jobs):
            jobs = list(jobs)
            jobs_seen.extend(jobs)
            return super().each(work, jobs)

    divided_line.write(rows_of(), **spec_of("all rows"))
    divided_line.publish("one", Listening())
    making = [job for job in jobs_seen if isinstance(job, PartToAnonymize)]
    assert len(making) > 1
    for job in making:
        wire = pickle.dumps(replace(job, randomness=None))
        assert [kind for kind in (b"pyarrow", b"numpy", b"0.0") if kind in wire] == []
        assert not job.values.all.exists()


def test_values_are_gone_where_a_part_fails(divided_line):
    class Failing(InTurn):
        def each(self, work, jobs):
            self.paths = [job.values.all for job in jobs]
            assert all(path.is_file() for path in self.paths)
            raise PromiseError("a part fails")

    failing = Failing()
    divided_line.write(rows_of(), **spec_of("all rows"))
    with pytest.raises(PromiseError, match="a part fails"):
        divided_line.publish("one", failing)
    assert [path for path in failing.paths if path.exists()] == []
