"""The page in the place of a version that was withdrawn."""

from sfumato.tasks.report.rendering import environment, stylesheet
from sfumato.tasks.terms.tombstone import Tombstone


def tombstone_page(tombstone: Tombstone, title: str) -> str:
    """The page as HTML: which version it was, when it was withdrawn, and why.

    Args:
        tombstone: what it says.
        title: what the line is called.
    """
    style = stylesheet()
    return (
        environment()
        .get_template("lines/tombstone.html.j2")
        .render(css=style.css, css_hash=style.sha256, tombstone=tombstone, title=title)
    )
