"""The guide builds without a warning, loads nothing from elsewhere, and leads nowhere wrong."""

import html
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

import click
import pytest

from sfumato.deployments.guide.generated.experiments import LEDGER
from sfumato.deployments.guide.generated.ledger_changes import MEASURED
from sfumato.expectations.models.promises import PROMISES
from sfumato.flows.cli.main import cli
from sfumato.tasks.experiments.registry import EXPERIMENTS
from sfumato.tasks.experiments.shared.described import PAPERS
from sfumato.tasks.forms.parameters import FORM_PARAMETERS
from sfumato.tasks.partitions.parameters import PARTITION_PARAMETERS
from tests.fork_server import ROOT
from tests.guide.page import PAGES
from tests.guide.site import SitePage, build, copy_guide

README = ROOT / "README.md"
ONE_SCREEN = 80


@pytest.fixture(scope="module")
def site(guide):
    """The guide's pages by their place."""
    place, output = guide
    assert "WARNING" not in output
    pages = {path.relative_to(place).as_posix(): path for path in place.rglob("*.html")}
    assert len(pages) > 40
    return {name: SitePage(path) for name, path in pages.items()}


def test_every_page_is_built(site):
    written = {path.relative_to(PAGES).with_suffix(".html").as_posix() for path in written_pages()}
    assert set(site) == written


def written_pages():
    return list(PAGES.rglob("*.md"))


def test_nothing_is_loaded_from_elsewhere(site):
    elsewhere = {
        (name, address)
        for name, page in site.items()
        for address in page.loads
        if urlsplit(address).scheme not in ("", "data") or address.startswith("//")
    }
    assert elsewhere == set()
    assert all(page.loads for page in site.values())


def test_no_style_loads_anything_from_elsewhere(site):
    (root,) = {page.path for name, page in site.items() if name == "index.html"}
    styles = list(root.parent.rglob("*.css"))
    assert len(styles) >= 3
    for style in styles:
        text = style.read_text(encoding="utf-8")
        loaded = re.findall(r"(?:url\(|@import\s+)[\"']?((?:https?:)?//[^\"')]+)", text)
        assert loaded == [], style


def test_every_link_inside_leads_somewhere(site):
    broken = [
        (name, link)
        for name, page in site.items()
        for link in page.links
        if not urlsplit(link).scheme and not leads(site, page, link)
    ]
    assert broken == []


def leads(site, page, link):
    """True where the file of a link is there, and its anchor in it."""
    parts = urlsplit(link)
    target = (page.path.parent / unquote(parts.path)).resolve() if parts.path else page.path
    if parts.fragment and target.suffix == ".html" and target.is_file():
        anchors = next(page.anchors for page in site.values() if page.path.resolve() == target)
        return unquote(parts.fragment) in anchors
    return target.is_file()


def test_the_navigation_has_every_page_once(site):
    start = site["index.html"]
    places = [start.path.parent / urlsplit(link).path for link in start.in_nav if "#" not in link]
    assert {page.path for page in site.values()} <= set(places)


def test_a_page_that_the_navigation_does_not_name_stands_in_its_section(tmp_path):
    guide = copy_guide(tmp_path)
    new = guide / "pages" / "how-to" / "brew-tea.md"
    new.write_text("# Brew tea\n\nBoil water.\n", encoding="utf-8")
    done = build(tmp_path / "built", guide)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "how-to/brew-tea.html" in SitePage(tmp_path / "built" / "index.html").in_nav


WRONG = {
    "concepts/glossary.md": "[nowhere](nowhere.md)",
    "concepts/forms.md": "[no such anchor](../index.md#nowhere)",
    "concepts/promises.md": "[at](/index.md)",
}


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """Return the output for a guide with three broken links, each of another kind."""
    folder = tmp_path_factory.mktemp("broken")
    guide = copy_guide(folder)
    for page, link in WRONG.items():
        (guide / "pages" / page).write_text(f"# Wrong\n\n{link}\n", encoding="utf-8")
    done = build(folder / "built", guide)
    assert done.returncode != 0
    return done.stdout + done.stderr


@pytest.mark.parametrize("page", WRONG)
def test_a_broken_link_fails_the_build(broken, page):
    """In strict mode a build fails by each of its warnings."""
    warned = [line for line in broken.splitlines() if line.startswith("WARNING") and page in line]
    assert [WRONG[page].partition("(")[2].rstrip(")") in line for line in warned] == [True]


def keys(schema: Any) -> Iterator[str]:
    """Every key that a schema has anywhere."""
    if isinstance(schema, Mapping):
        properties = schema.get("properties")
        if isinstance(properties, Mapping):
            yield from properties
        for inner in schema.values():
            yield from keys(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from keys(inner)


def schema_of_its_own() -> Any:
    """The schema of specs in another process: a test of this one may have added promises."""
    code = "from sfumato.flows.inputs.spec import json_schema; print(json.dumps(json_schema()))"
    called = [sys.executable, "-c", f"import json; {code}"]
    done = subprocess.run(called, capture_output=True, check=True)
    return json.loads(done.stdout)


def test_the_reference_has_every_key_of_a_spec(site):
    keys_expected = set(keys(schema_of_its_own()))
    assert len(keys_expected) > 150
    text = site["reference/spec.html"].path.read_text(encoding="utf-8")
    assert [key for key in keys_expected if f"<code>{key}</code>" not in text] == []


def test_the_reference_has_every_object_once(site):
    page = site["reference/spec.html"]
    titles = {
        json.dumps(definition["title"]) for definition in schema_of_its_own()["$defs"].values()
    }
    headings = re.findall(r'<h2 id="([^"]+)"', page.path.read_text(encoding="utf-8"))
    assert len(headings) == len(set(headings)) > len(titles)


def test_the_papers_page_has_a_line_for_every_experiment(site):
    text = site["comparison/experiments.html"].path.read_text(encoding="utf-8")
    lines = re.findall(r"<td>([^<]*)</td>\s*<td><code>([^<]*)</code></td>", text)
    assert lines == [
        (html.escape(experiment.shows, quote=False), experiment.name)
        for experiment in EXPERIMENTS.values()
    ]
    for paper in PAPERS.values():
        for shows, reason in paper.without:
            assert f"<td>{html.escape(shows, quote=False)}</td>" in text
            assert f"none. {html.escape(reason, quote=False)}" in text


def test_the_papers_page_shows_a_ledger_of_the_claims_as_they_are():
    """If claims have changed, run `sfumato experiment all` and keep its ledger."""
    ledger = json.loads(LEDGER.read_text(encoding="utf-8"))
    claims = [
        (name, claim.text, claim.by, claim.data, claim.test.words)
        for name, experiment in EXPERIMENTS.items()
        for claim in experiment.claims
    ]
    names = ("experiment", "claim", "by", "data", "test")
    assert [tuple(claim[name] for name in names) for claim in ledger["claims"]] == claims
    assert (ledger["run"]["size"], ledger["run"]["seeds"]) == ("full", 13)


def test_the_page_of_changes_has_a_reason_for_every_claim_that_has_changed(site):
    before = json.loads(LEDGER.with_name("ledger_before.json").read_text(encoding="utf-8"))
    ledger = json.loads(LEDGER.read_text(encoding="utf-8"))["claims"]
    now = {(c["experiment"], c["claim"], c["data"]): c["outcome"] for c in ledger}
    changed = [
        claim
        for claim in before
        if not now.get((claim["experiment"], claim["now"], claim["data"]), "removed").startswith(
            claim["outcome"]
        )
    ]
    text = site["comparison/ledger-changes.html"].path.read_text(encoding="utf-8")
    rows = re.findall(r"<tr>\s*<td><code>([^<]*)</code></td>(.*?)</tr>", text, re.DOTALL)
    assert [name for name, _ in rows] == [claim["experiment"] for claim in changed]
    assert all(re.findall(r"<td>([^<]*)</td>", cells)[-1] for _, cells in rows)
    assert set(MEASURED) <= set(EXPERIMENTS)
    assert len(before) == 139


def every_command(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from every_command(command, f"{path} {name}")


def test_the_reference_has_every_command_and_option(site):
    page = site["reference/commands.html"]
    commands_found = dict(every_command(cli, "sfumato"))
    assert len(commands_found) > 35
    headings = re.findall(
        r"<h[23] id=[^>]*><code>([^<]+)</code>", page.path.read_text(encoding="utf-8")
    )
    assert set(headings) == set(commands_found)
    params = (param for command in commands_found.values() for param in command.params)
    assert "\\|" not in page.text
    options = {option for param in params for option in param.opts if option.startswith("--")}
    assert len(options) > 50
    assert [name for name in options if name not in page.text] == []


def test_the_reference_has_every_name_of_the_python_api(site):
    import sfumato

    text = site["reference/python.html"].path.read_text(encoding="utf-8")
    names = getattr(sfumato, "__all__", ())
    assert [name for name in names if f"<code>{name}</code>" not in text] == []


def test_every_spec_that_is_shipped_is_shown_whole(site):
    examples = " ".join(site["reference/examples.html"].text.split())
    for folder in ("releases", "examples"):
        for path in (ROOT / "deployments" / folder).glob("*.yaml"):
            assert " ".join(path.read_text(encoding="utf-8").split()) in examples, path


KINDS = {
    "concepts/promises.md": set(PROMISES),
    "concepts/partitions.md": set(PARTITION_PARAMETERS),
    "concepts/forms.md": set(FORM_PARAMETERS),
    "reference/commands.md": {f"sfumato {name}" for name in cli.list_commands(click.Context(cli))},
}


@pytest.mark.parametrize("page", KINDS)
def test_pages_that_list_all_of_a_kind_lack_none(page):
    text = (PAGES / page).read_text(encoding="utf-8")
    assert len(KINDS[page]) > 5
    assert [name for name in sorted(KINDS[page]) if not re.search(rf"`{name}[`, ]", text)] == []


def test_the_readme_is_one_screen_and_leads_into_the_guide():
    text = README.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= ONE_SCREEN
    links = re.findall(r"\]\(([^)#]+)\)|src=\"([^\"]+)\"", text)
    links = [link or picture for link, picture in links]
    links = [link for link in links if not link.startswith("https://")]
    assert [link for link in links if not (ROOT / link).is_file()] == []
    assert {PAGES / "index.md", PAGES / "tutorial" / "index.md"} & {ROOT / link for link in links}
