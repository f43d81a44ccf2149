"""Pictures of the server's pages, for people to look at."""

import os
import shutil
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.harness.machine import Machine

_PATIENCE = 120_000  # milliseconds: the server also runs what is due, and the machine tests
_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]


def picture_folder(otherwise: Path) -> Path:
    """Return the folder of pictures: `$SFUMATO_PICTURES` names a place that outlives a test run."""
    folder = Path(os.environ.get("SFUMATO_PICTURES") or otherwise)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def take_pictures(machine: Machine, pages: dict[str, tuple[str, str]], folder: Path) -> None:
    """Take a picture of each page once a text is seen on it.

    Args:
        machine: whose server runs.
        pages: the path of each, and the text, by the name of its picture.
        folder: gets the pictures.
    """
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=_ARGUMENTS
        )
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.set_default_timeout(_PATIENCE)
        for name, (path, text) in pages.items():
            page.goto(machine.api.removesuffix("/api") + path, wait_until="domcontentloaded")
            page.get_by_text(text).first.wait_for()
            page.wait_for_timeout(500)
            page.screenshot(path=folder / f"{name}.png")
        browser.close()
