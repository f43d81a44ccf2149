"""What the owner says of a line, as the page of a version shows it."""

import re
from dataclasses import dataclass

from sfumato.tasks.schema.stated.words import CodeLabels, PublishedWords, link_of

NO_LABELS = CodeLabels(codes={})
_FACTS = ("publisher", "contact", "licence")


@dataclass(frozen=True)
class SaidWords:
    """The words of a line.

    Attributes:
        paragraphs: its description.
        facts: publisher, contact and licence, each as a text and the address behind it.
        columns: what is said of columns by name, where no codebook has it.
        labels: what codes mean by column, there, too.
    """

    paragraphs: tuple[str, ...]
    facts: tuple[tuple[str, tuple[str, str | None]], ...]
    columns: tuple[tuple[str, str], ...] = ()
    labels: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()


def said_of_line(words: PublishedWords, *, codebook: bool) -> SaidWords | None:
    """The words that are said of the line, None where none are.

    Args:
        words: of the version.
        codebook: whether the page has one, which says what is said of columns.
    """
    paragraphs = tuple(p for p in (words.description or "").split("\n\n") if p.strip())
    told = [(name, getattr(words, name)) for name in _FACTS]
    facts = tuple((name.title(), (text, link_of(text))) for name, text in told if text)
    columns = () if codebook else tuple(sorted(words.columns.items()))
    labels = () if codebook else tuple((c, labels_in_order(of)) for c, of in _sorted(words))
    found = SaidWords(paragraphs, facts, columns, labels)
    return found if found != SaidWords((), ()) else None


def labels_in_order(of: CodeLabels) -> tuple[tuple[str, str], ...]:
    """Codes with their labels: whole numbers first and as numbers, then texts."""
    return tuple(sorted(of.codes.items(), key=lambda pair: _place(pair[0])))


def _place(code: str) -> tuple[bool, int, str]:
    number = re.fullmatch(r"-?[0-9]+", code, re.ASCII) is not None
    return not number, int(code) if number else 0, code


def _sorted(words: PublishedWords) -> list[tuple[str, CodeLabels]]:
    return sorted(words.labels.items())
