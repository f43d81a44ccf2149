"""The second verifier, which shares no code with ours, agrees with it: in Node and in a browser."""

import hashlib
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

from tests.browser.test_page import browser
from tests.corpus.lines import CORPUS, FORMATS

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
@pytest.mark.parametrize("file", ["units", "changes", "examples"])
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


@pytest.mark.browser
class TestPage:
    """The page that checks a release in a browser."""

    @pytest.fixture
    def site_and_address(self, tmp_path):
        """The page beside the examples, served on this machine."""
        shutil.copytree(VERIFIER, tmp_path / "site")
        with tarfile.open(EXAMPLES) as archive:
            archive.extractall(tmp_path / "site" / "examples", filter="data")
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
