"""The tutorial: its files are written and its commands run, and end as the page says."""

import re
import shutil

import pytest

from sfumato.flows.inputs.spec import read_spec
from tests.guide.page import PAGES, blocks, commands, sections
from tests.guide.shell import PageShell, assert_ended_as_told

pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.timeout(600)]
PAGE = PAGES / "tutorial" / "index.md"
TABLES = ("patients.csv", "patients-june.csv")
SECTIONS = sections(PAGE)
TOLD = {heading: commands(text) for heading, text in SECTIONS.items() if commands(text)}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """The directory in which the commands run, with the tables of the page."""
    place = tmp_path_factory.mktemp("tutorial") / "place"
    place.mkdir()
    for table in TABLES:
        shutil.copy(PAGE.with_name(table), place)
    return place


@pytest.fixture(scope="module")
def ran(prefect_api, forks, place):
    """Return the commands of each section as they ran."""
    folder = place.parent
    variables = {"SFUMATO_WORK": str(folder / "private"), "PREFECT_API_URL": prefect_api}
    shell = PageShell.prepare(folder, forks, variables)
    return shell.run(TOLD, place, {})


@pytest.mark.parametrize("heading", TOLD)
def test_every_command_ends_as_the_page_says(ran, heading):
    assert_ended_as_told(ran[heading])


def test_the_sections_are_in_order_and_most_have_commands():
    numbers = [int(heading.partition(".")[0]) for heading in SECTIONS if heading[:1].isdigit()]
    assert numbers == list(range(1, 10))
    assert len(TOLD) == 8


def test_no_block_is_neither_run_nor_said_not_to_be():
    kinds = re.findall(r"^```(\w+)", PAGE.read_text(encoding="utf-8"), re.M)
    assert set(kinds) == {"console", "sh", "yaml"}


def test_the_method_of_the_page_is_that_of_the_draft(ran, place):
    (method,) = blocks("".join(SECTIONS.values()), "yaml")
    assert method in (place / "patients.yaml").read_text(encoding="utf-8")
    spec = read_spec(place / "patients.yaml")
    assert (spec.people, [promise.name for promise in spec.promises]) == (
        "patients",
        ["ke-anonymity"],
    )


def test_its_tables_have_what_the_page_tells_of_them():
    may, june = (
        {line.partition(",")[0] for line in PAGE.with_name(t).read_text().splitlines()[1:]}
        for t in TABLES
    )
    assert (len(may), len(may - june), len(june - may)) == (400, 30, 40)


def test_the_start_page_ends_as_it_says(prefect_api, forks, tmp_path):
    shutil.copytree(PAGES.parents[1], tmp_path / "deployments")
    commands_of_page = commands((PAGES / "index.md").read_text(encoding="utf-8"))
    variables = {"SFUMATO_WORK": str(tmp_path / ".sfumato"), "PREFECT_API_URL": prefect_api}
    ran = PageShell.prepare(tmp_path, forks, variables).run({"": commands_of_page}, tmp_path, {})
    assert len(commands_of_page) == 3
    assert_ended_as_told(ran[""])
