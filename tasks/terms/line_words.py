"""line.json: the words that a line's page says of it, beside `releases.json`.

No version has them, and no digest: a typo or another contact is corrected without a new version.
They have their own file, so that software that knows no words still reads the record.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from sfumato.expectations.shared.errors import SpecError
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.schema.files import canonical_json
from sfumato.tasks.schema.formats import read_document
from sfumato.tasks.schema.stated import OneLine, SaidOfLine, Text
from sfumato.tasks.terms.terms import Title

WORDS = "line.json"
_FORMAT = 2


class LineWords(BaseModel):
    """Words about a line; a key is None if nothing is said.

    Attributes:
        title: in place of the one that its current version has.
        description: paragraphs, with an empty line between.
        contact: of the publisher: a name, an e-mail address, or an address on the web.
        licence: a name, or an address on the web.
        publisher: the name of who publishes it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    title: Title | None = None
    description: Text | None = None
    contact: OneLine | None = None
    licence: OneLine | None = None
    publisher: OneLine | None = None


class WordsOfLine(BaseModel):
    """The content of line.json.

    Attributes:
        line: the line's name.
        declared: the title of its current version, or of the last one that was.
        words: as a steward corrected them.
        said: as the line's spec said when it was last run.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    format: Literal[1, 2] = 1
    line: OneLine
    declared: Title | None = None
    words: LineWords = LineWords()
    said: SaidOfLine = SaidOfLine()

    @property
    def shown_words(self) -> LineWords:
        """The words to show: a steward's corrections, otherwise those of the spec."""
        corrected = self.words.model_dump(exclude_none=True)
        return LineWords.model_validate({**self.said.model_dump(), **corrected})

    @property
    def title(self) -> str:
        """The title of the line."""
        return self.words.title or self.declared or self.line


def read_words(line: Path) -> WordsOfLine:
    """Read the words in a line's public directory; empty if the file is missing.

    Raises:
        InputError: where newer software wrote them.
        PromiseError: where they cannot be read.
    """
    words = read_document(line / WORDS, WordsOfLine, _FORMAT, "the words of a line")
    return words or WordsOfLine(line=line.name)


def write_words(line: Path, words: WordsOfLine) -> None:
    """Replace the words atomically, in the lowest format that can say them."""
    newer = words.said != SaidOfLine() or words.words.publisher is not None
    document = json.loads(words.model_dump_json(exclude_none=True, exclude={"said", "format"}))
    document["format"] = _FORMAT if newer else 1
    if words.said != SaidOfLine():
        document["said"] = words.said.model_dump(mode="json", exclude_none=True)
    write_atomically(line / WORDS, canonical_json(document), mode=0o644)


def with_corrections(words: LineWords, changes: Mapping[str, str | None]) -> LineWords:
    """Return words with changes: an empty text takes one back, None leaves it.

    Raises:
        SpecError: where a text is too long, or has characters that no line of text has.
    """
    corrections = {name: text or None for name, text in changes.items() if text is not None}
    document = {**words.model_dump(), **corrections}
    try:
        return LineWords.model_validate(document)
    except ValidationError as error:
        name = str(error.errors()[0]["loc"][0])
        raise SpecError(
            f"{name}: is too long, or has control characters. Write a shorter text without them"
        ) from None
