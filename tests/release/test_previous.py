"""A version held against those before it: what contradicts them is found from files alone."""

import random
import shutil
from collections import Counter, defaultdict
from dataclasses import replace
from decimal import Decimal

import pyarrow as pa
import pytest

from sfumato.expectations.models.alpha_beta import AlphaBeta
from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.flows.cli.main import run
from sfumato.tasks.lines.all_versions import count_grown, joint_verdicts
from sfumato.tasks.lines.previous import hold_against
from sfumato.tasks.lines.shown import ShownVersion
from sfumato.tasks.publication.check import check
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.tables import read_tables
from tests.release.evolving import KINDS, Evolving, digest_of, evolve, forge
from tests.release.forge import rebuilt


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    """A line of each kind with three versions, made when it is asked for."""
    made = {}

    def lines_of_kind(kind):
        if kind not in made:
            folder = tmp_path_factory.mktemp(kind)
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("SFUMATO_WORK", str(folder / "work"))
                made[kind] = evolve(folder, kind).versions
        return made[kind]

    return lines_of_kind


def verified(directory):
    check(directory)
    return open_release(directory)


def compare(directory, *previous):
    return hold_against(verified(directory), previous, verified)


def lineages(directory):
    declared = open_release(directory).declared
    return read_tables(declared, directory / "data")["lineage"].to_pylist()


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_published_contradicts_nothing(lines, kind):
    first, second, third = lines(kind)
    comparison = compare(third, second, first)
    assert comparison.whole
    assert [(step.before, step.now) for step in comparison.steps] == [
        (first, second),
        (second, third),
    ]
    for step in comparison.steps:
        before, now = lineages(step.before), lineages(step.now)
        goes_on = [row for row in now if row["previous_group_id"] is not None]
        assert step.moved.continued == len(goes_on)
        assert step.moved.new == len(now) - len(goes_on)
        assert step.moved.ended == len(before) - len(goes_on)
        assert step.moved.new > 0
        if kind in ("permuted", "ranges", "split", "redistributed"):
            assert step.moved.unique > 20
            assert step.moved.regrouped <= 3
        else:
            assert step.moved.unique is None


def test_the_page_counts_groups_that_go_on(lines):
    first, second, _ = lines("permuted")
    heading = "What changed since the version before"
    assert heading not in (first / "index.html").read_text(encoding="utf-8")
    page = (second / "index.html").read_text(encoding="utf-8").split(heading)[1]
    moved = compare(second, first).steps[0].moved
    assert f">{moved.continued}</td>" in page
    assert f">{moved.new}</td>" in page


@pytest.mark.parametrize("kind", ["permuted", "split", "ambiguous"])
def test_who_disappears_leaves_a_value(lines, kind):
    for step in compare(lines(kind)[2], *lines(kind)[:2]).steps:
        assert step.moved.disappeared == step.moved.vacated > 0


def test_versions_may_be_some_of_them_in_any_order(lines):
    first, second, third = lines("permuted")
    assert compare(third, first, second) == compare(third, second, first)
    assert not compare(third, second).whole
    assert compare(second, first).whole
    assert compare(first).whole


def test_a_gap_names_the_digest_that_is_missing(lines):
    first, second, third = lines("permuted")
    with pytest.raises(InputError, match=digest_of(second)):
        compare(third, first)


def test_a_version_given_twice(lines, tmp_path):
    _, second, third = lines("permuted")
    shutil.copytree(second, tmp_path / "copy")
    for other in (second, tmp_path / "copy"):
        with pytest.raises(InputError, match=f"{digest_of(second)} is given twice"):
            compare(third, second, other)
    with pytest.raises(InputError, match="given twice"):
        compare(third, third)


def test_a_foreign_line(lines):
    first, second, third = lines("permuted")
    foreign = lines("split")[0]
    with pytest.raises(InputError, match="which is the first version of the line"):
        compare(third, second, first, foreign)
    with pytest.raises(InputError, match=digest_of(first)):
        compare(third, second, foreign)
    with pytest.raises(InputError, match="which is the first version of the line"):
        compare(first, foreign)


def test_versions_that_were_not_made_to_be_combined(lines, release):
    with pytest.raises(InputError, match="not made to be combined"):
        compare(release, release)
    with pytest.raises(InputError, match="not made to be combined"):
        compare(lines("permuted")[1], release)


def test_every_version_is_verified(lines, tmp_path):
    first, second, _ = lines("permuted")
    copy = tmp_path / "copy"
    shutil.copytree(first, copy, copy_function=shutil.copyfile)
    (copy / "data/vacant.csv").write_text("other\n")
    with pytest.raises(PromiseError, match=r"vacant\.csv"):
        compare(second, copy)


def broken(directory, *previous):
    """Return what is found in a forged version, which is one by itself."""
    check(directory)
    with pytest.raises(PromiseError, match="versions: composed is broken") as error:
        compare(directory, *previous)
    return str(error.value)


def by_group(rows):
    rows_by_group = defaultdict(list)
    for row in rows:
        rows_by_group[row["group_id"]].append(row)
    return rows_by_group


def continued_groups(tables):
    return [r["group_id"] for r in tables["lineage"] if r["previous_group_id"] is not None]


def other_job(rows):
    """A value that stands nowhere in a group."""
    seen = {row["job"] for row in rows}
    return next(job for job in (f"job {n}" for n in range(9)) if job not in seen)


QI = ("age", "zip", "edu")
HIDDEN = [("ranges", "hours", "vacant"), ("generalized", "job", "microdata")]
VALUES = {"permuted": "microdata", "generalized": "microdata", "split": "st", "ambiguous": "st"}


@pytest.mark.parametrize("kind", VALUES)
def test_a_value_replaced_in_a_group_that_goes_on(lines, tmp_path, kind):
    def change(tables):
        group = by_group(tables[VALUES[kind]])[continued_groups(tables)[0]]
        group[0]["job"] = other_job(group)

    forged = forge(lines(kind)[2], tmp_path / "forged", change)
    assert "1 group with other values than before" in broken(forged, lines(kind)[1])


def test_other_subdomains_under_a_lineage(lines, tmp_path):
    first, second, _ = lines("redistributed")

    def redraw(tables):
        for row in tables["lineage"]:
            if row["previous_group_id"] is None:
                row["previous_group_id"] = 0
            else:
                row["previous_group_id"] = None

    assert "other values than before" in broken(forge(second, tmp_path / "f", redraw), first)


@pytest.mark.parametrize(
    ("kind", "name", "least"), [("ranges", "hours", 1), ("generalized", "job", 3)]
)
def test_a_row_moved_to_another_group_with_its_lineage_kept(lines, tmp_path, kind, name, least):
    def move(tables):
        rows, lineage = by_group(tables["microdata"]), {r["group_id"]: r for r in tables["lineage"]}
        vacant = by_group(tables.get("vacant", ()))
        groups = continued_groups(tables)
        for group, row in ((number, row) for number in groups for row in rows[number]):
            values_left = {r[name] for r in (*rows[group], *vacant[group]) if r is not row}
            if len(values_left) >= 3 and lineage[group]["rows"] > least:
                other = next(g for g in groups if g != group)
                same = {n: rows[other][0][n] for n in QI} if kind == "generalized" else {}
                row.update(same, group_id=other)
                lineage[group]["rows"] -= 1
                lineage[other]["rows"] += 1
                return
        pytest.fail("no group can spare a row")

    forged = forge(lines(kind)[2], tmp_path / "forged", move)
    problems = broken(forged, lines(kind)[1])
    assert "2 groups with more or fewer people and vacant values" in problems
    assert "2 groups with other values" in problems


def changed_at_random(draw, qi):
    """Another value, or group, of a row of a group that goes on; quasi-identifiers stay."""

    def change(tables):
        names = [n for n, rows in tables.items() if rows and n != "lineage"]
        group = set(continued_groups(tables))
        rows = [row for row in tables[draw.choice(names)] if row["group_id"] in group]
        first, other = draw.choice(rows), draw.choice(rows)
        name = draw.choice([name for name in first if name not in qi])
        if draw.random() < 0.5 and name != "group_id":
            first[name], other[name] = other[name], first[name]
        else:
            first[name] = other[name]

    return change


@pytest.mark.parametrize("kind", ["permuted", "split", "generalized", "ambiguous"])
def test_whatever_is_changed_in_a_group_that_goes_on(lines, tmp_path, kind):
    _, second, third = lines(kind)
    draw, counts_found = random.Random(5), Counter()
    qi = () if kind == "ambiguous" else QI
    for _ in range(25):
        try:
            forged = forge(third, tmp_path / "forged", changed_at_random(draw, qi))
            check(forged)
        except (PromiseError, ValueError):
            counts_found["by itself"] += 1
            continue
        if same_groups(third, forged):
            continue
        with pytest.raises(PromiseError, match="versions: composed is broken"):
            compare(forged, second)
        counts_found["beside the version before"] += 1
    assert counts_found["beside the version before"] > 0


def same_groups(directory, other):
    """Decide whether two releases show the same values of each group."""
    versions_shown = [ShownVersion.read(open_release(place)) for place in (directory, other)]
    tables = (
        [Counter(map(repr, t.to_pylist())) for t in values_of(version)]
        for version in versions_shown
    )
    return next(tables) == next(tables)


def values_of(version):
    return version.vacancies.lasting(
        version.tables, version.declared.columns, version.declared.form
    )


def test_people_exchanged_between_groups_are_told(lines, tmp_path):
    """No file can show whose a value is: the exchange is told, not judged."""

    def exchange(tables):
        rows, (first, other) = by_group(tables["microdata"]), continued_groups(tables)[:2]
        for name in QI:
            a, b = rows[first][0], rows[other][0]
            a[name], b[name] = b[name], a[name]

    _, second, third = lines("permuted")
    before = compare(third, second).steps[0].moved
    moved = compare(forge(third, tmp_path / "forged", exchange), second).steps[0].moved
    assert moved.regrouped > before.regrouped
    assert moved.disappeared > moved.vacated == before.vacated


@pytest.mark.parametrize(("kind", "name", "table"), HIDDEN)
def test_a_vacancy_that_is_hidden(lines, tmp_path, kind, name, table):
    def hide(tables):
        """In the largest group that somebody left."""
        rows = by_group(tables["microdata"])
        lineage_left = [row for row in tables["lineage"] if row["vacant"]]
        lineage = max(lineage_left, key=lambda row: len({r[name] for r in rows[row["group_id"]]}))
        lineage["vacant"] -= 1
        seen = Counter(row[name] for row in rows[lineage["group_id"]])
        rows_shown = [row for row in tables[table] if row["group_id"] == lineage["group_id"]]
        tables[table].remove(max(rows_shown, key=lambda row: seen[row[name]]))

    _, second, third = lines(kind)
    problems = broken(forge(third, tmp_path / "forged", hide, vacant=-1), second)
    assert "1 group with more or fewer people and vacant values than before" in problems
    assert "1 group with other values than before" in problems


def test_newcomers_among_whom_somebody_left(lines, tmp_path):
    def leave(tables):
        (new, *_) = [r for r in tables["lineage"] if r["previous_group_id"] is None]
        row = by_group(tables["microdata"])[new["group_id"]][0]
        tables["microdata"].remove(row)
        tables["vacant"].append({"group_id": row["group_id"], "job": row["job"]})
        new["rows"], new["vacant"] = new["rows"] - 1, new["vacant"] + 1

    _, second, third = lines("permuted")
    counts = {"published": -1, "vacant": 1, "not_represented_versions": 1}
    forged = forge(third, tmp_path / "forged", leave, **counts)
    assert "1 group of new people with values of people who left" in broken(forged, second)


def test_a_lineage_doubled(lines, tmp_path):
    def double(tables):
        new = next(r for r in tables["lineage"] if r["previous_group_id"] is None)
        new["previous_group_id"] = tables["lineage"][continued_groups(tables)[0]][
            "previous_group_id"
        ]

    forged = forge(lines("permuted")[2], tmp_path / "forged", double)
    with pytest.raises(PromiseError, match="lineage"):
        check(forged)
    with pytest.raises(PromiseError, match="1 group of the last version continued more than"):
        hold_against(open_release(forged), lines("permuted")[1:2], verified)


def test_a_lineage_from_nowhere(lines, tmp_path):
    def invent(tables):
        next(r for r in tables["lineage"] if r["previous_group_id"] is None)[
            "previous_group_id"
        ] = 10_000

    _, second, third = lines("permuted")
    problems = broken(forge(third, tmp_path / "forged", invent), second)
    assert "1 group continuing no group of the last version" in problems


@pytest.mark.parametrize("kind", ["permuted", "split", "generalized", "ambiguous"])
def test_a_redraw_with_an_invented_lineage(lines, tmp_path, kind, monkeypatch):
    """The same people drawn anew, and groups of like size said to go on."""
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    _, second, third = lines(kind)
    redrawn = Evolving(tmp_path / "again", kind, seed=8).publish()
    predecessor = open_release(third).declared.predecessor
    sizes = defaultdict(list)
    for row in lineages(second):
        sizes[row["rows"] + row["vacant"]].append(row["group_id"])

    def invent(tables):
        for row in tables["lineage"]:
            if sizes[row["rows"]]:
                row["previous_group_id"] = sizes[row["rows"]].pop()

    forged = forge(redrawn, tmp_path / "forged", invent)
    rebuilt(forged, predecessor=predecessor)
    assert "with other values than before" in broken(forged, second)


def test_presence_over_all_versions(lines, tmp_path):
    """Each version may keep α by itself: together its groups that are shown no more count, too."""
    first, second, _ = lines("ambiguous")
    ((_, verdict),) = compare(second, first).together
    assert verdict.holds
    assert verdict.groups == len(lineages(second))

    def forget(tables):
        for row in tables["lineage"]:
            row["previous_group_id"] = None
            row["rows"], row["vacant"] = row["rows"] + row["vacant"], 0

    rows = open_release(second).declared.rows
    counts = {"published": rows.vacant, "vacant": -rows.vacant, "read": rows.vacant}
    forged = forge(second, tmp_path / "forged", forget, **counts)
    ((_, joint),) = compare(forged, first).together
    assert joint.groups == len(lineages(first)) + len(lineages(second))
    assert joint.observed["alpha"] > verdict.observed["alpha"]
    versions = [ShownVersion.read(open_release(place)) for place in (first, forged)]
    (promise,) = versions[1].declared.promises
    assert isinstance(promise, AlphaBeta)
    less = Decimal("0.999") * Decimal(joint.observed["alpha"].numerator)
    lower = round(less / joint.observed["alpha"].denominator, 6)
    stricter = versions[1].declared.model_copy(
        update={"promises": (replace(promise, alpha=lower),)}
    )
    ((_, broken_one),) = joint_verdicts([versions[0], ShownVersion(stricter, versions[1].tables)])
    assert not broken_one.holds
    ((_, alone),) = joint_verdicts([ShownVersion(stricter, versions[1].tables)])
    assert alone.holds


def test_a_form_that_shows_people_beside_one_that_hides_them(lines):
    versions = [ShownVersion.read(open_release(lines(kind)[0])) for kind in ("split", "ambiguous")]
    with pytest.raises(PromiseError, match="earlier versions in another form may show it"):
        list(joint_verdicts(versions))


def test_more_people_than_ever_were_in_a_group(lines):
    """The vacant slots are not told here: rows alone show it."""
    first, second, third = (
        ShownVersion.read(open_release(place)) for place in lines("redistributed")
    )
    assert count_grown([first, second, third]) == count_grown([second, third]) == 0
    rows = third.lineage.to_pylist()
    came = next(r for r in rows if r["previous_group_id"] == 0)
    came["rows"] = int(first.rows[second.previous[0]]) + 1
    more = {**third.tables, "lineage": pa.Table.from_pylist(rows, schema=third.lineage.schema)}
    assert count_grown([first, second, ShownVersion(third.declared, more)]) == 1


def test_groups_that_grew_are_found(lines, monkeypatch):
    first, second, _ = lines("permuted")
    monkeypatch.setattr(
        "sfumato.tasks.lines.all_versions.count_grown",
        lambda versions: len(versions),
    )
    with pytest.raises(PromiseError, match="2 groups with more people than ever before"):
        compare(second, first)


def test_a_version_that_only_a_signature_vouches_for_keeps_its_promises(lines, tmp_path):
    def repeat(tables):
        group = by_group(tables["microdata"])[0]
        for row in group:
            row["job"] = group[0]["job"]

    first, second, _ = lines("permuted")
    weak = forge(first, tmp_path / "weak", repeat)
    after = tmp_path / "after"
    shutil.copytree(second, after, copy_function=shutil.copyfile)
    rebuilt(after, predecessor=digest_of(weak))
    with pytest.raises(PromiseError, match="l-diversity"):
        hold_against(open_release(after), [weak], open_release)


def test_another_form_is_compared_by_values(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    line = Evolving(tmp_path / "line", "permuted")
    first = line.publish()
    line.move()
    second = line.publish(form={"method": "split"})
    assert compare(second, first).steps[0].moved.continued == len(lineages(first))

    def change(tables):
        group = by_group(tables["st"])[continued_groups(tables)[0]]
        group[0]["job"] = other_job(group)

    forged = forge(second, tmp_path / "forged", change)
    assert "1 group with other values than before" in broken(forged, first)


def test_the_command(lines, capsys):
    first, second, third = map(str, lines("permuted"))
    assert run(["check", third, "--previous", first, "--previous", second]) == 0
    out = capsys.readouterr().out
    assert f"{third} continues {second}: " in out
    assert out.endswith("  - what other lines reveal about the same people\n")
    assert run(["check", third, "--previous", second]) == 0
    assert "Versions before these were not named, so nothing was" in capsys.readouterr().out
    assert run(["check", third, "--previous", first]) == 2
    assert digest_of(lines("permuted")[1]) in capsys.readouterr().err


def test_the_command_on_what_was_forged(lines, tmp_path, capsys):
    def change(tables):
        group = by_group(tables["microdata"])[continued_groups(tables)[0]]
        group[0]["job"] = other_job(group)

    _, second, third = lines("permuted")
    forged = forge(third, tmp_path / "forged", change)
    assert run(["check", str(forged)]) == 0
    capsys.readouterr()
    assert run(["check", str(forged), "--previous", str(second)]) == 3
    assert "1 group with other values than before" in capsys.readouterr().err
