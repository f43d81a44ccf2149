"""The guide as a site: built as `make guide` builds it, and read page by page."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

from tests.fork_server import ROOT

GUIDE = ROOT / "deployments" / "guide"
LOADING = {"script", "img", "iframe", "source", "link", "video", "audio", "embed", "object"}
NOT_LOADED = {"canonical", "next", "prev", "alternate"}


def build(place: Path, guide: Path = GUIDE) -> subprocess.CompletedProcess[str]:
    """Build the guide into a place; what mkdocs says of it."""
    command = [*(sys.executable, "-m", "mkdocs", "build", "--strict")]
    options = ["--config-file", str(guide / "mkdocs.yml"), "--site-dir", str(place)]
    environment = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    environ = environment | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [*command, *options], env=environ, cwd=ROOT, capture_output=True, text=True, timeout=240
    )


def copy_guide(place: Path) -> Path:
    """A copy of the guide's sources to break."""
    return Path(shutil.copytree(GUIDE, place / "guide", ignore=shutil.ignore_patterns("__py*")))


@dataclass
class SitePage(HTMLParser):
    """A page of the site: what it loads, where its links lead, and which anchors it has."""

    path: Path
    loads: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    in_nav: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)
    text: str = ""

    def __post_init__(self) -> None:
        super().__init__()
        self._navs = 0
        self.feed(self.path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self._navs += tag == "nav"
        self.anchors |= {attributes[name] for name in ("id", "name") if name in attributes}
        address = attributes.get("src") or attributes.get("href") or attributes.get("data") or ""
        if tag == "a" and address:
            self.links.append(address)
            self.in_nav += [address] if self._navs else []
        elif tag in LOADING and address and attributes.get("rel") not in NOT_LOADED:
            self.loads.append(address)

    def handle_endtag(self, tag: str) -> None:
        self._navs -= tag == "nav"

    def handle_data(self, data: str) -> None:
        self.text += data
