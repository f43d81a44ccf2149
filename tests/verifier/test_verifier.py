"""The second verifier, which shares no code with ours, agrees with it: in Node and in a browser."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from sfumato.flows.cli.main import run
from tests.browser.test_page import browser
from tests.corpus.archives import extract
from tests.corpus.lines import CORPUS, FORMATS
from tests.release.small import Small, people

__all__ = ["browser"]
ROOT = Path(__file__).parents[2]
VERIFIER = ROOT / "deployments" / "verifier"
_EXAMPLES = 37
_ENDS = re.compile("^(Valid|Refused|Not judged|Not checked|Nothing was checked)$")
EXAMPLES = ROOT / "deployments/guide/pages/reference/release-format/examples.tar.gz"


@pytest.fixture(scope="module")
def frozen_publications(tmp_path_factory):
    """The public directories of all frozen lines."""
    folder = tmp_path_factory.mktemp("published")
    for name in FORMATS:
        (folder / name).symlink_to(CORPUS / name / "public")
    return folder


@pytest.mark.node
@pytest.mark.parametrize("file", ["units", "changes", "log", "examples"])
def test_it_passes_its_own_tests(file, frozen_publications):
    """Units, changed releases, the specification's examples, and all that was ever published."""
    done = subprocess.run(
        [
            "node",
            "--test",
            "--test-reporter=tap",
            str(Path(__file__).with_name(f"{file}.test.mjs")),
        ],
        env={**os.environ, "CORPUS": str(frozen_publications)},
        capture_output=True,
        text=True,
        timeout=280,
    )
    faults = re.findall(r"^ *not ok.*", done.stdout, re.MULTILINE)
    assert (done.returncode, faults) == (0, []), done.stdout[-2000:]
    assert "# skipped 0" in done.stdout
    if file == "examples":
        places = [CORPUS / name / "public" for name in FORMATS]
        releases = [path for place in places for path in place.rglob("datapackage.json")]
        assert int(re.search(r"# tests (\d+)", done.stdout)[1]) >= len(releases) + _EXAMPLES


def test_what_it_comes_with_is_what_its_list_says():
    listed = re.findall(
        r"^\| `(\S+)` \| `\S+` \| `([0-9a-f]{64})` \|",
        (VERIFIER / "vendor" / "README.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    code = [path for path in (VERIFIER / "vendor").rglob("*") if path.suffix in (".js", ".mjs")]
    assert {name for name, _ in listed} == {
        path.relative_to(VERIFIER / "vendor").as_posix() for path in code
    }
    for name, digest in listed:
        assert hashlib.sha256((VERIFIER / "vendor" / name).read_bytes()).hexdigest() == digest
        assert (VERIFIER / "vendor" / name).with_name("LICENSE").is_file()


def _other_root(head):
    document = json.loads(head.read_bytes())
    document["root"] = "0" * 64
    head.write_text(json.dumps(document), encoding="utf-8")


def _forget_a_version(version):
    place = version.parent / "releases.json"
    document = json.loads(place.read_bytes())
    del document["versions"]["0001"]
    place.write_text(json.dumps(document), encoding="utf-8")


def _roll_back(version):
    """The log and the record of the first version, and the head of both."""
    for name in ("releases.json", "log.json"):
        shutil.copy(version.parents[1] / "before" / name, version.parent / name)


LOGS = {
    "as it is": (lambda *_: None, None),
    "rolled back": (lambda version, _: _roll_back(version), "log-rolled-back"),
    "another root": (lambda _, head: _other_root(head), "log-forked"),
    "a version left out": (lambda version, _: _forget_a_version(version), "log-differs"),
    "no log": (lambda version, _: (version.parent / "log.json").unlink(), "log-missing"),
    "no JSON": (
        lambda version, _: (version.parent / "log.json").write_bytes(b"{"),
        "record-unreadable",
    ),
}


@pytest.fixture(scope="module")
def published_twice(tmp_path_factory):
    """A line of two versions, its first state beside it, and a head of each."""
    folder = tmp_path_factory.mktemp("log")
    small = Small(folder / "line")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SFUMATO_WORK", str(folder / "work"))
        patch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
        for number, name in enumerate(("one", "two")):
            version = small.write(people(1000 * number)).publish(name).directory
            head = folder / "line" / f"{name}.json"
            assert run(["check", str(version), "--write-head", str(head)]) == 0
            if number == 0:
                shutil.copytree(version.parent, version.parents[1] / "before")
    return folder / "line"


@pytest.mark.node
@pytest.mark.parametrize("name", LOGS)
def test_both_verifiers_agree_about_a_log(name, published_twice, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr("sfumato.tasks.verification.log_check._PAUSE", 0)
    shutil.copytree(published_twice, tmp_path / "line")
    version, heads = (
        tmp_path / "line" / "public" / "wages" / "0002",
        [tmp_path / "line" / "one.json", tmp_path / "line" / "two.json"],
    )
    change, reason = LOGS[name]
    change(version, heads[0])
    if reason == "log-missing":  # the newer head includes the release by itself
        heads = heads[:1]
    options = [part for head in heads for part in ("--head", str(head))]
    done = subprocess.run(
        ["node", str(VERIFIER / "verify.mjs"), str(version), *options, "--json"],
        capture_output=True,
        text=True,
    )
    report = json.loads(done.stdout)
    assert [entry["reason"] for entry in report["reasons"]] == ([reason] if reason else [])
    assert run(["check", str(version), *options]) == done.returncode == (3 if reason else 0)


@pytest.mark.browser
class TestPage:
    """The page that checks a release in a browser."""

    @pytest.fixture
    def site_and_address(self, tmp_path):
        """The page beside the examples, served on this machine."""
        shutil.copytree(VERIFIER, tmp_path / "site")
        with tarfile.open(EXAMPLES) as archive:
            extract(archive, tmp_path / "site" / "examples")
        handler = partial(SimpleHTTPRequestHandler, directory=tmp_path / "site")
        with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            Thread(target=server.serve_forever, daemon=True).start()
            yield f"http://127.0.0.1:{server.server_port}/", tmp_path / "site"
            server.shutdown()

    @staticmethod
    def verdict(page):
        page.click("#check")
        page.locator("#verdict", has_text=_ENDS).wait_for()
        return page.text_content("#verdict")

    def test_files_and_addresses_are_checked(self, browser, site_and_address):
        address, site = site_and_address
        context = browser.new_context(viewport={"width": 390, "height": 800})
        page, complaints = context.new_page(), []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{address}index.html")
        page.set_input_files("#directory", site / "examples" / "valid" / "split")
        assert self.verdict(page) == "Valid"
        assert "Measured over 2 groups" in page.text_content("#report")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        for place, expected in (
            ("examples/refused/11-entropy", "Refused"),
            ("examples/valid/parts/", "Valid"),
            ("examples/refused/25-newer/", "Not judged"),
        ):
            page.fill("#address", place)
            assert self.verdict(page) == expected
        assert complaints == []
        context.close()

    def test_without_cryptography_it_says_so(self, browser, site_and_address):
        _, site = site_and_address
        page = browser.new_context().new_page()
        page.route(
            "http://insecure.test/**",
            lambda route: route.fulfill(path=site / route.request.url.rpartition(".test/")[2]),
        )
        page.goto("http://insecure.test/index.html")
        page.locator("#start-state", has_text="no cryptography").wait_for()
        assert not page.is_visible("#form")
