"""The picture of a release page in the README: `python -m tests.guide.page_picture RELEASE`.

The page has answered a question about the losses of the demonstration.
"""

import shutil
import sys
from pathlib import Path
from urllib.parse import quote

from PIL import Image
from playwright.sync_api import sync_playwright

from tests.guide.page import PAGES

PICTURE = PAGES / "pictures" / "release-page.png"
WIDTH, HEIGHT, COLOURS = 1100, 990, 128
QUESTION = 'SELECT sex, AVG("capital-loss") FROM microdata WHERE age >= 30 GROUP BY sex'
_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--hide-scrollbars"]


def take_picture(release: Path, picture: Path) -> None:
    """Save the first screen of a release's page, as Chromium shows it, as a PNG file."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=_ARGUMENTS
        )
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(f"{(release / 'index.html').resolve().as_uri()}#ask={quote(QUESTION)}")
        page.evaluate("window.scrollTo(0, 0)")
        page.screenshot(path=picture)
        browser.close()
    with Image.open(picture) as taken:
        reduced = taken.convert("P", palette=Image.Palette.ADAPTIVE, colors=COLOURS)
    reduced.save(picture, optimize=True)


if __name__ == "__main__":
    take_picture(Path(sys.argv[1]), PICTURE)
