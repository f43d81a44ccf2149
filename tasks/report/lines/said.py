"""What the owner says of a line, as the page of a version shows it."""

from dataclasses import dataclass

from sfumato.tasks.schema.stated.words import PublishedWords, link_of

_FACTS = ("publisher", "contact", "licence")


@dataclass(frozen=True)
class SaidWords:
    """The words of a line.

    Attributes:
        paragraphs: its description.
        facts: publisher, contact and licence, each as a text and the address behind it.
        columns: what is said of columns by name, where no codebook has it.
    """

    paragraphs: tuple[str, ...]
    facts: tuple[tuple[str, tuple[str, str | None]], ...]
    columns: tuple[tuple[str, str], ...] = ()


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
    return SaidWords(paragraphs, facts, columns) if paragraphs or facts or columns else None
