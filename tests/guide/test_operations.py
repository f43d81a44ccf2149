"""The operator's guide: every command of it is run, and ends as the page says."""

import re

import pyarrow.parquet as pq
import pytest

from sfumato.expectations.shared.errors import InputError
from sfumato.flows.inputs.resolved import resolve_run
from sfumato.flows.life.lines import forget
from sfumato.tasks.private.keys import line_key
from sfumato.tasks.private.people.backup import unpack
from sfumato.tasks.private.people.identity import unit_hash
from sfumato.tasks.private.people.keys import name_of, people_key
from sfumato.tasks.terms.opened import open_release
from tests.fork_server import ROOT
from tests.guide.machine import ERASED, GuideMachine
from tests.guide.page import PAGES, blocks, commands, sections
from tests.guide.shell import assert_ended_as_told
from tests.release.small import people

pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.timeout(900)]
PAGE = PAGES / "operations.md"
TOLD = {heading: commands(text) for heading, text in sections(PAGE).items() if commands(text)}


@pytest.fixture(scope="module")
def machine(prefect_api, forks, tmp_path_factory):
    return GuideMachine(tmp_path_factory.mktemp("guide")).prepare(forks, prefect_api)


@pytest.fixture(scope="module")
def ran(machine):
    """Return the commands of each section as they ran, all in the order of the page."""
    return machine.run(TOLD)


@pytest.mark.parametrize("heading", TOLD)
def test_every_command_ends_as_the_page_says(ran, heading):
    assert_ended_as_told(ran[heading])


def test_commands_are_read_as_they_stand():
    text = (
        "```console\nfirst \\\n  --on\n#> said\n#> more\nsecond    # exit 3\n```\n```sh\nno\n```\n"
    )
    first, second = commands(text)
    assert (first.command, first.code, first.prints) == ("first   --on", 0, ("said", "more"))
    assert (second.command, second.code, second.prints) == ("second", 3, ())


def test_every_place_is_named_at_the_top(machine):
    (top,) = blocks(sections(PAGE)[""], "sh")
    named = set(re.findall(r"\b([A-Z_]+)=", top))
    assert named == {*machine.places, "PREFECT_API_URL", "SFUMATO_SIGNING_PASSPHRASE"}
    text = "".join(command.command + "\n" for section in TOLD.values() for command in section)
    assert set(re.findall(r"\$([A-Z_]+)", text)) <= named | set(
        re.findall(r"^([A-Z]+)=", text, re.M)
    )


def test_no_block_is_neither_run_nor_said_not_to_be():
    kinds = re.findall(r"^```(\w+)$", PAGE.read_text(encoding="utf-8"), re.M)
    assert set(kinds) == {"console", "sh"}


def test_settings_and_targets_that_are_not_run_are_there():
    from prefect import settings

    text = "".join(block for part in sections(PAGE).values() for block in blocks(part, "sh"))
    named = set(re.findall(r"\b(PREFECT_[A-Z_]+)=", text)) - {"PREFECT_DATABASE_PASSWORD"}
    assert all(hasattr(settings, name) for name in named)
    makefile = (ROOT / "Makefile").read_text()
    assert all(f"\n{target}: " in makefile for target in re.findall(r"\bmake (\w+)", text))
    for file in re.findall(r"deployments/[\w./]+", text):
        assert (ROOT / file).is_file()


def test_the_readme_leads_here():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert PAGE.relative_to(ROOT).as_posix() in readme


@pytest.fixture
def machine_after(machine, ran, monkeypatch):
    """The machine after the last page."""
    for name, value in machine.variables.items():
        monkeypatch.setenv(name, value)
    return machine


def hashes(machine):
    """The person's name in maps, and its hash among units."""
    line = resolve_run(machine.places["SPECS"] / "wages.yaml").line
    return name_of(ERASED, people_key(line.work)), bytes(unit_hash(ERASED, line_key(line.private)))


def test_what_stays_of_a_person(machine_after):
    """As the table of the page says it: keyed hashes, and a slot without a name."""
    name, unit = hashes(machine_after)
    state = machine_after.work / "wages"
    files = {
        path.relative_to(state).as_posix(): path.read_bytes()
        for path in state.rglob("*")
        if path.is_file()
    }
    assert {path for path, content in files.items() if name in content} == {"map/erased"}
    having = {path for path, content in files.items() if unit in content}
    assert having == {f"units/{number}" for number in ("0001", "0002", "0003")}
    maps = [pq.read_table(path) for path in sorted((state / "map").glob("[0-9]*"))]
    assert [slots["key"].null_count for slots in maps] == [1, 1]
    backup = machine_after.places["SAFE"] / "wages.backup"
    contents = unpack(backup, backup.read_bytes(), "wages")
    assert {path for path, content in contents.items() if name in content} == {"map/erased"}
    assert not (machine_after.places["SAFE"] / "units.txt").exists()


def wages(release):
    """The values that a version shows, beside people and vacant."""
    return [
        row["wage"] for name in ("microdata", "vacant") for row in release.table(name).to_pylist()
    ]


def test_the_value_stays_beside_nobody(machine_after):
    line = machine_after.places["PUBLIC"] / "wages"
    before, later = (open_release(line / number) for number in ("0003", "0004"))
    assert later.table("microdata").num_rows == before.table("microdata").num_rows - 1
    assert sorted(wages(later)) == sorted(wages(before))


def test_a_line_that_remembers_units_has_nothing_to_forget(small, tmp_path):
    small.write(people(), remember="units").publish("one")
    (tmp_path / "units.txt").write_text(ERASED)
    with pytest.raises(InputError, match="is not known in this release line"):
        forget(small.spec, tmp_path / "units.txt")
