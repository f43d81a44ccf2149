"""The picture of a release page in the README: `python -m tests.guide.page_picture RELEASE`."""

import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from tests.guide.page import PAGES

PICTURE = PAGES / "pictures" / "release-page.png"
WIDTH, HEIGHT, COLOURS = 1100, 880, 128
_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--hide-scrollbars"]


def take_picture(release: Path, picture: Path) -> None:
    """Save the first screen of a release's page, as Chromium shows it, as a PNG file."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=_ARGUMENTS
        )
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto((release / "index.html").resolve().as_uri())
        page.screenshot(path=picture)
        browser.close()
    with Image.open(picture) as taken:
        reduced = taken.convert("P", palette=Image.Palette.ADAPTIVE, colors=COLOURS)
    reduced.save(picture, optimize=True)


if __name__ == "__main__":
    take_picture(Path(sys.argv[1]), PICTURE)
