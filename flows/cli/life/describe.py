"""`sfumato describe`: the words of a line's page, corrected without a new version."""

from pathlib import Path

import click

from sfumato.flows.cli import show
from sfumato.flows.cli.options import as_document


@click.command()
@click.argument("line", type=click.Path(path_type=Path))
@click.option("--title", help="a title in place of that of its versions")
@click.option("--description", help="paragraphs, with an empty line between")
@click.option("--contact", help="a name, an e-mail address, or an address on the web")
@click.option("--licence", help="a name, or an address on the web")
@click.option("--publisher", help="the name of its publisher")
@as_document
def describe(line: Path, as_json: bool, **words: str | None) -> None:
    """Correct the description on the page of LINE, a line's public directory or its spec.

    No version changes. An empty text removes one; without any option the description is printed.
    """
    from sfumato.flows.life.description import describe_line

    description = describe_line(line, words)
    for notice in description.notices:
        show.say(notice)
    document = {
        "title": description.words.title,
        **_words(description.words.shown_words.model_dump()),
    }
    show.document(document, "json" if as_json else "text")


def _words(words: dict[str, str | None]) -> dict[str, str | None]:
    return {name: text for name, text in words.items() if name != "title"}
