"""An upgrade, rehearsed as the guide says it: from every format, with a backup, and back."""

import json
import shutil

import pytest

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.lines.versions import read_record
from sfumato.tasks.microdata.table import seeded_keys
from sfumato.tasks.private.state import read_state
from tests.corpus.lines import (
    CONTINUED,
    FORMATS,
    PASSPHRASE,
    VERSIONS,
    FrozenLine,
    as_told,
    frozen_lines,
    under_names,
)

FORMS = {  # of each format the line with the most state
    "format-1": "permuted",  # signed
    "format-2": "redistributed",  # composed, with maps
    "format-3": "permuted",  # in parts, with cuts
    "format-4": "permuted",  # with thresholds of codings
    "format-5": "hybrid",  # with factors
    "format-6": "generalized",
    "format-6-labels": "permuted",  # with a bar on attacks
    "format-6-people": "suppressed",  # with maps of people
    "format-7": "redistributed",  # in parts, with targets
    "format-8": "permuted",  # with factors of spreads, medians and quantiles
    "format-9": "permuted",  # composed in parts, with one map of all
    "format-9-names": "permuted",  # with units and rows in their normal forms
    "format-10": "generalized",  # with spellings that were made one
    "format-11": "ambiguous",  # with frequencies that are fitted column by column
    "format-12": "generalized",  # under a policy
    "format-13": "redistributed",  # with targets of the least ranges
    "format-14": "ambiguous",  # beside marginals
    "format-15": "apart",
}
LINES = [
    line
    for line in frozen_lines()
    if line.folder.name == "format-0" or FORMS.get(line.folder.name) == line.form
]


@pytest.fixture(params=LINES, ids=lambda line: f"{line.folder.name}-{line.form}")
def line(request, few_queries, tmp_path, monkeypatch):
    copy: FrozenLine = request.param.copy(tmp_path)
    monkeypatch.setenv("SFUMATO_WORK", str(copy.folder / "private"))
    monkeypatch.setenv("SFUMATO_SIGNING_PASSPHRASE", PASSPHRASE)
    return copy


@pytest.fixture
def call(line, call):
    """Commands about the line's own work directory."""
    return call


@pytest.fixture
def stands(line, tmp_path):
    """Return a check that each version is found again by its source and spec, undrawn."""
    tried = iter(range(9))

    def require_versions(*versions):
        for number, source in versions:
            again = line.run(source, tmp_path / f"try-{next(tried)}", seeded_keys(99))
            assert (again.existed, again.directory.name) == (True, number)

    return require_versions


def test_no_format_is_left_out():
    assert {line.folder.name for line in LINES} == set(FORMATS)


def test_a_line_is_upgraded_and_brought_back(line, call, stands, tmp_path):
    spec = line.folder / f"{line.form}.yaml"
    state, record = (line.private / "state.json"), (line.public / "releases.json")
    before = {"state": state.read_bytes(), "releases": record.read_bytes()}
    written = {name: json.loads(content).get("format", 0) for name, content in before.items()}
    counter = read_state(line.private).counter

    # A backup before; the state is lost, and put back.
    assert call("line", "backup", spec, tmp_path / "before")[0] == 0
    shutil.rmtree(line.private)
    with pytest.raises(PromiseError, match=r"not known here|restore the line.s private state"):
        line.run("first", tmp_path / "lost", seeded_keys(1))
    shutil.rmtree(line.private)
    assert call("line", "restore", spec, tmp_path / "before")[0] == 0

    # What stands is recognised, checked and asked, and is no change of the state.
    stands(*VERSIONS.items())
    for number in VERSIONS:
        assert call("check", line.public / number)[0] == 0
        code, out, _ = call("query", line.public / number, line.queries[0], "--format", "json")
        upgrade = json.loads(out)
        typed = under_names(line.answers[number][0], upgrade["columns"])
        assert all(name in line.queries[0] for name in typed["columns"])
        expected = as_told({**typed, "verified": True})
        assert (code, {name: upgrade[name] for name in expected}) == (0, expected)
    assert (state.read_bytes(), record.read_bytes()) == (before["state"], before["releases"])

    # The line goes on; an older backup than that is refused.
    assert line.run(CONTINUED, tmp_path / "next", seeded_keys(3)).directory.name == "0003"
    counters = read_state(line.private).counter, read_record(line.public).counter
    assert counters == (counter + 1, counter + 1)
    code, _, error = call("line", "restore", spec, tmp_path / "before")
    assert (code, "is older than the line" in error) == (3, True)

    # A backup after, and a state lost once more.
    assert call("line", "backup", spec, tmp_path / "after")[0] == 0
    shutil.rmtree(line.private)
    assert call("line", "restore", spec, tmp_path / "after")[0] == 0
    stands(*VERSIONS.items(), ("0003", CONTINUED))

    # The way back: what older software wrote is kept as it was.
    for name, path in (("state", state), ("releases", record)):
        saved_file = line.private / f"{name}.format-{written[name]}.json"
        if json.loads(path.read_bytes())["format"] == written[name]:
            assert not saved_file.exists()  # that software reads what there is
        else:
            assert saved_file.read_bytes() == before[name]
