"""What the owner of a line says of it and of its columns: words that no table shows.

They are no terms of a release: other words make no other release.
"""

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from sfumato.tasks.schema.formats import since

OneLine = Annotated[str, Field(min_length=1, max_length=300, pattern=r"^[^\x00-\x1f\x7f]+$")]
Code = Annotated[str, Field(min_length=1, max_length=60, pattern=r"^[^\x00-\x1f\x7f]+$")]
Text = Annotated[str, Field(min_length=1, max_length=4000, pattern=r"^[^\x00-\x09\x0b-\x1f\x7f]+$")]
Paragraphs = Annotated[Text, StringConstraints(strip_whitespace=True)]

_WEB = re.compile(r"https?://[^\s<>\"'`{}|\\^]+")
_MAIL = re.compile(r"[^\s@<>\"']+@[^\s@<>\"']+\.[^\s@<>\"']+")
_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def web_address(text: str | None) -> str | None:
    """The text, where all of it is an address on the web."""
    return text if text is not None and _WEB.fullmatch(text) else None


def mail_address(text: str | None) -> str | None:
    """The text, where all of it is an e-mail address."""
    return text if text is not None and _MAIL.fullmatch(text) else None


def link_of(text: str) -> str | None:
    """The address behind a text that is one, None where it is none."""
    return f"mailto:{text}" if mail_address(text) else web_address(text)


def _licence(text: str) -> str:
    if web_address(text) is None and not _IDENTIFIER.fullmatch(text):
        raise ValueError("is the short name of a licence (CC-BY-4.0), or its address on the web")
    return text


class SaidOfLine(BaseModel):
    """What is said of a line; None where nothing is."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    publisher: Annotated[OneLine | None, Field(description="the name of who publishes it")] = None
    contact: Annotated[
        OneLine | None,
        Field(description="a name, an e-mail address, or an address on the web"),
    ] = None
    licence: Annotated[
        Annotated[OneLine, AfterValidator(_licence)] | None,
        Field(description="its short name (CC-BY-4.0), or its address on the web"),
    ] = None
    description: Annotated[
        Paragraphs | None,
        Field(description="paragraphs, with an empty line between"),
    ] = None


class CodeLabels(BaseModel):
    """What codes of a column mean: all of a declared list, or those of them that are published."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    codes: dict[Code, OneLine]
    whole: Annotated[
        bool, Field(description="the list as declared; otherwise the published codes alone")
    ] = False


class PublishedWords(SaidOfLine):
    """What a version says of its line, and of its columns by their names."""

    columns: dict[str, OneLine] = {}
    labels: dict[str, CodeLabels] = since(6, {}, "what codes of columns mean")
    key: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")] | None = since(
        6, None, "the fingerprint of the key that the line's versions were signed with"
    )
