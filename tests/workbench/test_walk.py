"""A walk through every step in Chromium: from a file to a published release, without a keyboard."""

import re
import shutil
import time
from contextlib import contextmanager
from threading import Thread

import pyarrow.csv
import pytest
import yaml

from sfumato.flows.workbench import counts
from sfumato.flows.workbench.serve import open_workbench
from tests.benchmarks.workbench import (
    LARGE,
    OTHERS,
    WIDE,
    document_of,
    large_table,
    wide_table,
)
from tests.browser.chromium import running_chromium
from tests.workbench.conftest import TUTORIAL

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
WIDTH = 390
FIELDS = {"button", "checkbox", "combobox", "radio", "slider", "spinbutton", "textbox"}
ALL_RULES = {"preload": False, "resultTypes": ["violations"]}
STEPS = (
    *("Hierarchies", "Promise", "Form and partition", "Questions", "Preview", "Release"),
    "Lines",
)


@pytest.fixture(scope="module")
def browser():
    with running_chromium() as started:
        yield started


@pytest.fixture
def page(browser):
    context = browser.new_context(viewport={"width": WIDTH, "height": 900})
    page = context.new_page()
    page.set_default_timeout(120_000)
    yield page
    context.close()


class Watched:
    """A page with everything that it asks for, complains of, and breaks of the rules of axe."""

    def __init__(self, page):
        self.page, self.hosts, self.complaints, self.dark = page, set(), [], False
        self.axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
        page.on("request", lambda request: self.hosts.add(request.url.split("/")[2]))
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def look(self):
        """Look at the page as on a telephone, in turn in the light and in the dark."""
        self.page.wait_for_load_state()
        self.page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        self.dark = not self.dark
        self.page.emulate_media(color_scheme="dark" if self.dark else "light")
        assert self.page.evaluate("document.documentElement.scrollWidth") <= WIDTH
        violations = self.axe.run(self.page, options=ALL_RULES).response["violations"]
        assert [(v["id"], v["nodes"][0]["html"]) for v in violations] == []
        self.hear()
        assert self.page.evaluate("localStorage.length + sessionStorage.length") == 0
        assert self.page.evaluate("document.cookie") == ""

    def hear(self):
        """Read the tree that screen readers get: fields and buttons have names that differ."""
        session = self.page.context.new_cdp_session(self.page)
        nodes = session.send("Accessibility.getFullAXTree")["nodes"]
        session.detach()
        named = [
            (node["role"]["value"], node.get("name", {}).get("value", "").strip())
            for node in nodes
            if node.get("role", {}).get("value") in FIELDS and not node["ignored"]
        ]
        assert [role for role, name in named if not name] == []
        twice = {pair for pair in named if named.count(pair) > 1}
        assert twice == set()
        roles = {node.get("role", {}).get("value") for node in nodes}
        assert roles >= {"main", "navigation", "heading"}

    def press(self, name, address):
        self.page.get_by_role("button", name=name).first.click()
        self.page.wait_for_url(address)


def test_from_a_file_to_a_release(page, tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    folder = tmp_path / "folder"
    folder.mkdir()
    shutil.copy(TUTORIAL / "patients.csv", folder)
    watched = Watched(page)
    environ = {"SFUMATO_WORK": str(tmp_path / "work")}
    with open_workbench(folder / "patients.csv", environ) as workbench:
        serving = Thread(target=workbench.run, daemon=True)
        serving.start()
        page.goto(workbench.opening.as_uri())
        page.wait_for_url("**/table?file=patients.csv")
        watched.look()
        watched.press("Draft the spec", "**/columns/patients.yaml")
        without_questions(folder / "patients.yaml")
        page.reload()
        watched.look()
        watched.press("Confirm the roles", "**/hierarchies/patients.yaml")
        for name in STEPS:
            if name != "Hierarchies":
                page.get_by_role("link", name=f"Next: {name}").click()
                page.get_by_role("heading", name=name, level=1).wait_for()
            STAYS.get(name, lambda _: None)(watched)
            watched.look()
        page.get_by_role("link", name="Back to Release").click()
        page.get_by_role("heading", name="Release", level=1).wait_for()
        page.go_back()
        page.get_by_role("heading", name="Lines", level=1).wait_for()
        page.go_forward()
        page.get_by_role("heading", name="Release", level=1).wait_for()
        workbench.server.stop()
        serving.join(20)
    assert (folder / "releases" / "patients" / "0001" / "index.html").is_file()
    assert len(watched.hosts) == 2  # the file, and the server
    assert [
        text for text in watched.complaints if "favicon" not in text and "404" not in text
    ] == []
    assert capfd.readouterr() == ("", "")
    spec = (folder / "patients.yaml").read_text(encoding="utf-8")
    assert "roles: confirmed" in spec
    assert "k: 4}" in spec


def without_questions(spec):
    """Leave out the questions of a draft, on which measuring takes most of the time."""
    text = spec.read_text(encoding="utf-8")
    line = "people: patients\nversions: composed\n"
    spec.write_text(text[: text.index("evaluate:")] + line, encoding="utf-8")


def promise(watched):
    """Move a slider, which is answered from counts, and save it with the keyboard."""
    slider = watched.page.get_by_label("k-anonymity, k")
    slider.press("ArrowLeft")
    watched.page.get_by_text("rows in groups of fewer than 4 now").wait_for()
    watched.page.get_by_role("button", name="Save the numbers").press("Enter")
    watched.page.get_by_role("button", name="Undo: numbers of promises").wait_for()


def hierarchies(watched):
    """Drag a town onto another one, so that both have the same label."""
    section = watched.page.locator("section", has=watched.page.get_by_role("heading", name="town"))
    section.get_by_text("Change the hierarchy of town").click()
    section.locator("li", has_text="Leiden").drag_to(section.locator("li", has_text="Gouda"))
    assert section.get_by_label("Leiden").input_value() == "Gouda"
    section.get_by_role("button", name="Use these groups").click()
    watched.page.get_by_text("Level 1 of town: 4 labels").wait_for()


def preview(watched):
    watched.press("Make a draft", re.compile("/jobs/"))
    watched.page.wait_for_url("**/preview/patients.yaml")
    watched.page.get_by_role("link", name="The page as it would be published").click()
    watched.page.wait_for_url("**/release/index.html")
    assert watched.page.get_by_role("heading", level=1).text_content() == "Patients"
    watched.page.go_back()
    watched.page.get_by_role("heading", name="Who is left out").wait_for()


def release(watched):
    watched.press("Publish the next version", re.compile("/jobs/"))
    watched.page.wait_for_url("**/release/patients.yaml")
    watched.page.get_by_role("heading", name="Published").wait_for()


def lines(watched):
    """Take next month's table into the private work directory, and rehearse it."""
    watched.page.locator("#file").set_input_files(TUTORIAL / "patients-june.csv")
    watched.page.get_by_label("Place of patients-june.csv in the folder").wait_for()
    watched.press("Put it there, and rehearse", re.compile("/jobs/"))
    watched.page.wait_for_url("**/lines/patients.yaml")
    watched.page.get_by_text("people who stay").wait_for()
    watched.page.get_by_text("people who wait for a later version").wait_for()


def questions(watched):
    watched.page.get_by_label("question", exact=True).fill("SELECT COUNT(*) FROM microdata")
    watched.page.get_by_role("button", name="Ask").click()
    watched.page.get_by_text("1 question waits").wait_for()


STAYS = {
    "Hierarchies": hierarchies,
    "Promise": promise,
    "Questions": questions,
    "Preview": preview,
    "Release": release,
    "Lines": lines,
}


@contextmanager
def walking(page, place, work):
    """Serve a place, and let the page in, until the block ends."""
    with open_workbench(place, {"SFUMATO_WORK": str(work)}) as workbench:
        serving = Thread(target=workbench.run, daemon=True)
        serving.start()
        page.goto(workbench.opening.as_uri())
        page.wait_for_url(f"**/{place.name}")
        yield
        workbench.server.stop()
        serving.join(20)


def write_spec(folder, name, columns, table):
    """Write a table and a spec that generalizes it."""
    document = document_of(columns)
    document |= {"name": name, "source": {"uri": f"{name}.csv"}}
    pyarrow.csv.write_csv(table, folder / f"{name}.csv")
    spec = folder / f"{name}.yaml"
    spec.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    return spec


def test_a_large_table_is_counted_while_the_steward_works(page, tmp_path, monkeypatch):
    """Choices outlast the counts that come, and are not left without a question."""
    spec = write_spec(tmp_path, "large", LARGE, large_table(100_000))
    counted = counts._count

    def count_late(declared, note):
        note("the file is being read")
        time.sleep(3)
        return counted(declared, note)

    monkeypatch.setattr(counts, "_count", count_late)
    with walking(page, spec, tmp_path / "work"):
        page.get_by_text("The rows are being counted: the file is being read").wait_for()
        page.get_by_label("role of town").select_option("insensitive")
        page.get_by_text("100,000 rows were read").wait_for()
        assert page.get_by_label("role of town").input_value() == "insensitive"
        questions = []
        page.once("dialog", lambda dialog: questions.append(dialog.type) or dialog.dismiss())
        page.get_by_role("link", name="Next: Hierarchies").click()
        assert questions == ["beforeunload"]
        page.get_by_role("button", name="Save the roles").click()
        page.get_by_role("button", name="Undo: roles of columns").wait_for()
        assert yaml.safe_load(spec.read_text())["columns"]["town"] == {"role": "insensitive"}
        page.goto(page.url.replace("/columns/", "/promise/"))
        page.get_by_label("t-closeness, t").press("ArrowRight")  # moved before the counts are known
        page.get_by_text("of illness now (t 0.21)").wait_for()
        page.get_by_label("ke-anonymity, e").press("ArrowRight")
        page.get_by_text(re.compile(r"of income now \(k 5, e (?!2000\))")).wait_for()


def test_sixty_columns_are_decided_in_the_browser(page, tmp_path):
    spec = write_spec(tmp_path, "wide", WIDE, wide_table(500))
    with walking(page, spec, tmp_path / "work"):
        page.get_by_text("500 rows were read").wait_for()
        assert page.locator("select[name^='role:']").count() == len(WIDE) == 60
        assert page.evaluate("document.documentElement.scrollWidth") <= WIDTH
        page.locator(f"select[name='role:{OTHERS[-1]}']").select_option("drop")
        page.get_by_role("button", name="Save the roles").click()
        page.get_by_role("button", name="Undo: roles of columns").wait_for()
        changed = yaml.safe_load(spec.read_text())["columns"][OTHERS[-1]]
        assert changed == {"role": "drop", "type": "integer"}
