"""Changes between two versions: totals that they publish, and nothing of people."""

import json
import shutil

import pytest

from sfumato.expectations.shared.errors import InputError
from sfumato.flows.cli.main import run
from sfumato.tasks.lines.difference import difference
from sfumato.tasks.lines.versions import read_record, write_record
from sfumato.tasks.terms.opened import open_release
from tests.release.evolving import evolve
from tests.release.forge import edit
from tests.release.small import people


@pytest.fixture(scope="module")
def versions(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evolving")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SFUMATO_WORK", str(folder / "work"))
        return evolve(folder, "permuted").versions


def difference_between(*directories):
    return difference(*map(open_release, directories))


def test_what_follows_is_told_in_groups(versions):
    first, second, _ = versions
    changes_found = difference_between(first, second)
    rows = [open_release(directory).declared.rows for directory in (first, second)]
    assert changes_found["follows"]
    assert (changes_found["before"]["version"], changes_found["now"]["version"]) == ("0001", "0002")
    assert changes_found["rows"]["published"] == {
        "before": rows[0].published,
        "now": rows[1].published,
    }
    assert changes_found["rows"]["vacant"] == {"before": 0, "now": 6}
    assert changes_found["groups"]["continued"] == 24
    assert changes_found["groups"]["new"] == 8
    assert changes_found["groups"]["ended"] == 0
    assert 1 <= changes_found["groups"]["left_by_somebody"] <= 6
    (promise,) = changes_found["promises"]
    assert promise["groups"] == {"before": 24, "now": 32}
    assert promise["observed"] == {"l": {"before": 3, "now": 3}}
    assert changes_found["accuracy"] == []


def test_a_version_follows_whichever_is_named_first(versions):
    assert difference_between(versions[1], versions[0]) == difference_between(
        versions[0], versions[1]
    )


def test_versions_further_apart_are_told_without_groups(versions):
    diff = difference_between(versions[0], versions[2])
    assert not diff["follows"]
    assert diff["groups"] is None


def test_versions_that_were_not_made_to_be_combined(small, release, tmp_path):
    small.write(people(first=1_000, rows=80, seed=3))
    second = small.publish("two").directory
    diff = difference_between(release, second)
    assert diff["rows"]["published"]["now"] > diff["rows"]["published"]["before"]
    assert "vacant" not in diff["rows"]
    assert diff["groups"] is None


def test_a_promise_of_one_of_them_has_one_side(small, release):
    promises = [{"model": "ke-anonymity", "k": 4, "e": 10.5}]
    small.write(people(first=1_000, rows=80, seed=3), promises=promises)
    was, is_ = difference_between(release, small.publish("two").directory)["promises"]
    assert (was["promise"]["k"], was["groups"]["now"]) == (3, None)
    assert (is_["promise"]["k"], is_["observed"]["k"]["before"]) == (4, None)


def test_accuracy_is_that_of_the_public_record(versions, tmp_path):
    line = tmp_path / "line"
    shutil.copytree(versions[0].parent, line)
    measured = {"workload": "count by age", "level": 5, "queries": 9, "median": 0.5}
    record = read_record(line).with_accuracy("0001", [measured])
    write_record(line, record.with_accuracy("0002", [{**measured, "median": 0.25}]))
    (workload,) = difference_between(line / "0001", line / "0002")["accuracy"]
    assert workload["workload"] == "count by age"
    assert workload["widths"] == {"median": {"before": 0.5, "now": 0.25}}
    (line / "releases.json").write_text("no record")
    assert difference_between(line / "0001", line / "0002")["accuracy"] == []


def test_two_lines_and_one_version_are_refused(versions, release):
    with pytest.raises(InputError, match="belongs to another line"):
        difference_between(versions[0], release)
    with pytest.raises(InputError, match="is the same version"):
        difference_between(versions[0], versions[0])


@pytest.mark.parametrize("observed", [None, "CANARY", [{"promise": 3}], [{"groups": 3}]])
def test_manifests_that_do_not_say_what_was_observed(versions, tmp_path, observed):
    copy = tmp_path / "copy"
    shutil.copytree(versions[0], copy, copy_function=shutil.copyfile)
    edit(copy, lambda document: document["sfumato"].update(observed=observed))
    with pytest.raises(InputError, match="does not contain the observations"):
        difference_between(copy, versions[1])


def test_the_command(versions, capsys):
    first, second, third = map(str, versions)
    assert run(["diff", first, second]) == 0
    output = capsys.readouterr()
    lines = [line.split() for line in output.out.splitlines()]
    assert lines[0] == ["coming-and-going:", "0002", "continues", "0001"]
    assert ["rows", "vacant", "0", "6", "+6"] in lines
    assert ["groups", "continued", "-", "24"] in lines
    assert ["l-diversity", "job:", "l", "observed", "3", "3"] in lines
    assert output.err.count("; not signed") == 2
    assert run(["diff", second, third, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["groups"]["continued"] == 32
    assert run(["diff", first, first]) == 2
    assert run(["diff", first, str(versions[0] / "data")]) == 2
    capsys.readouterr()
    assert run(["diff", first, str(versions[0].parent)]) == 0  # the line's current version
    assert "coming-and-going: 0003 is compared with 0001" in capsys.readouterr().out
