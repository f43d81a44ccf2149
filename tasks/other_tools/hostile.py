"""Files of strangers, read within limits: archives, XML, texts and numbers.

A project file may be made to exhaust whoever opens it. So an archive is counted before it is
opened, only entries with expected names are read, none is written to disk, and what unpacks to
much more than its size is refused. XML has no document type, so no entity, and little depth.
"""

import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from io import BufferedReader
from pathlib import Path
from typing import Any, NoReturn

from sfumato.expectations.machine.fault import reason_of, require_machine
from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.schema.files import UnfitFileError, open_file, read_bytes

MOST_TEXT = 1 << 20
"""Bytes of a script or a metadata file."""
MOST_REPORT = 1 << 24
"""Bytes of a report, which may have pictures within it."""
MOST_OF_ENTRY = 1 << 24
"""Bytes of one entry of an archive, unpacked."""
MOST_OF_ENTRIES = 1 << 26
"""Bytes of all entries that are read of one archive, unpacked."""
MOST_ARCHIVE = 1 << 30
"""Bytes of an archive: its data, which are never read, may be large."""
MOST_ENTRIES = 5_000
"""Entries of an archive: a project of 1,000 columns has some 2,000."""
MOST_RATIO = 200
"""Bytes that one byte may unpack to, in entries that unpack to a mebibyte or more."""
DEEPEST_XML = 20
"""Levels of elements."""
MOST_ELEMENTS = 100_000
"""Elements of one XML document."""
_DIRECTORY = 1 << 22  # bytes of the list of entries
_END = struct.Struct("<4s4H2LH")
_END_MARK, _END64_MARK = b"PK\x05\x06", b"PK\x06\x07"
_TAIL = (1 << 16) + _END.size + 20
_NUMBER = re.compile(r"[+-]?[0-9]{1,15}(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?")
_ENCRYPTED = 0x1
_LARGEST = 12  # digits before the point

Element = tuple[tuple[str, ...], str]
"""The path of an element from the root, and its text."""


def read_foreign_text(path: Path, file: str, most: int = MOST_TEXT) -> str:
    """Return the text of a file in UTF-8.

    Args:
        path: of the file.
        file: its name in errors.
        most: bytes that it may have.

    Raises:
        InputError: if it cannot be read, is larger, or is not UTF-8.
    """
    try:
        content = read_bytes(path, most)
    except OSError as error:
        raise InputError(f"{file}: {_reason(error)}") from None
    return decode_foreign(content, file)


def decode_foreign(content: bytes, file: str) -> str:
    """Return bytes as text, the ends of lines as one character.

    Raises:
        InputError: if they are not UTF-8, or no text.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{file}: is not UTF-8 (byte {error.start + 1:,}). Save it again in UTF-8"
        ) from None
    if "\0" in text:
        raise InputError(f"{file}: is no text: it contains a zero byte")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _reason(error: OSError) -> str:
    if isinstance(error, UnfitFileError):
        return f"{error.strerror}. No set-up needs that much" if error.strerror else "unfit"
    return f"cannot be read ({reason_of(error)})"


class Archive:
    """A ZIP archive of a stranger, of which single entries are read into memory.

    Attributes:
        names: the names of its entries, in order.
    """

    def __init__(self, archive: zipfile.ZipFile, file: str) -> None:
        self._archive, self._file = archive, file
        self._unread = MOST_OF_ENTRIES
        self.names: tuple[str, ...] = tuple(info.filename for info in archive.infolist())

    def read(self, name: str) -> bytes:
        """Return the content of an entry.

        Raises:
            InputError: if it is not there, is damaged or encrypted, or unpacks to too much.
        """
        called = f"{self._file}: {name}"
        if name not in self.names:
            raise InputError(f"{called}: is missing in the archive. Save the project again")
        info = self._archive.getinfo(name)
        _require_fit(info, called)
        most = min(MOST_OF_ENTRY, self._unread)
        try:
            with self._archive.open(info) as stream:
                content = stream.read(most + 1)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError) as error:
            require_machine(error)
            raise InputError(f"{called}: is damaged. Save the project again") from None
        if len(content) > most:
            raise InputError(f"{called}: unpacks to more than {most:,} bytes")
        self._unread -= len(content)
        return content

    def text(self, name: str) -> str:
        """Return an entry as text.

        Raises:
            InputError: as `read`, or if it is not UTF-8.
        """
        return decode_foreign(self.read(name), f"{self._file}: {name}")


@contextmanager
def open_archive(path: Path, file: str) -> Iterator[Archive]:
    """Open a ZIP archive for as long as the block lasts.

    Args:
        path: of the archive.
        file: its name in errors.

    Raises:
        InputError: if it is no archive, is cut off, has too many entries, or names of entries
            that are there twice or lead elsewhere.
    """
    try:
        with open_file(path, MOST_ARCHIVE) as stream:
            _require_small_directory(stream, file)
            with zipfile.ZipFile(stream) as archive:
                _require_plain_names(archive.infolist(), file)
                yield Archive(archive, file)
    except (zipfile.BadZipFile, struct.error, UnicodeDecodeError, ValueError):
        _refuse_archive(file)
    except OSError as error:
        raise InputError(f"{file}: {_reason(error)}") from None


def _refuse_archive(file: str) -> NoReturn:
    raise InputError(
        f"{file}: is no whole ZIP archive. It may have been cut off; copy or save it again"
    )


def _require_small_directory(stream: BufferedReader, file: str) -> None:
    """Refuse an archive by the end of its file, before the list of its entries is read."""
    size = stream.seek(0, 2)
    stream.seek(max(0, size - _TAIL))
    tail = stream.read(_TAIL)
    stream.seek(0)
    start = tail.rfind(_END_MARK)
    if start < 0:
        _refuse_archive(file)
    _, _, _, _, entries, length, _, _ = _END.unpack_from(tail, start)
    if _END64_MARK in tail:
        raise InputError(f"{file}: is a ZIP64 archive, which no project needs")
    if entries > MOST_ENTRIES:
        raise InputError(
            f"{file}: has {entries:,} entries, and no project has more than {MOST_ENTRIES:,}"
        )
    if length > _DIRECTORY:
        raise InputError(f"{file}: the list of its entries is larger than {_DIRECTORY:,} bytes")


def _require_plain_names(entries: list[zipfile.ZipInfo], file: str) -> None:
    """Refuse names that lead out of the archive, or that are there twice."""
    if len(entries) > MOST_ENTRIES:
        raise InputError(f"{file}: has more than {MOST_ENTRIES:,} entries")
    for number, entry in enumerate(entries, start=1):
        name = entry.filename.replace("\\", "/")
        if name.startswith("/") or ".." in name.split("/") or re.match("[A-Za-z]:", name):
            raise InputError(
                f"{file}: entry {number} has a path that leads out of the archive. "
                "No project of ARX has one"
            )
    if len({entry.filename for entry in entries}) < len(entries):
        raise InputError(f"{file}: has two entries with the same name, which can be read two ways")


def _require_fit(info: zipfile.ZipInfo, called: str) -> None:
    if info.flag_bits & _ENCRYPTED:
        raise InputError(f"{called}: is encrypted. Save the project without a password")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise InputError(f"{called}: is packed in a way that ARX does not use")
    if info.file_size > MOST_OF_ENTRY:
        raise InputError(f"{called}: unpacks to more than {MOST_OF_ENTRY:,} bytes")
    if info.file_size > MOST_RATIO * max(info.compress_size, 1) and info.file_size >= 1 << 20:
        raise InputError(
            f"{called}: unpacks to {info.file_size // max(info.compress_size, 1):,} times its "
            f"size, and {MOST_RATIO} is the limit"
        )


class _ElementList:
    """A target of an XML parser: the elements in order, with their paths and texts."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._open: list[tuple[str, list[str], int]] = []
        self._elements: list[Element | None] = []

    def start(self, tag: str, _attributes: Mapping[str, str]) -> None:
        """Begin an element.

        Raises:
            InputError: if there are too many elements, or too many within each other.
        """
        if len(self._open) >= DEEPEST_XML:
            raise InputError(f"{self._file}: is nested deeper than {DEEPEST_XML} levels")
        if len(self._elements) >= MOST_ELEMENTS:
            raise InputError(f"{self._file}: has more than {MOST_ELEMENTS:,} elements")
        self._open.append((tag, [], len(self._elements)))
        self._elements.append(None)

    def data(self, text: str) -> None:
        """Add text to the element that is open."""
        self._open[-1][1].append(text)

    def end(self, _tag: str) -> None:
        """End an element."""
        path = tuple(tag for tag, _, _ in self._open)
        _, texts, place = self._open.pop()
        self._elements[place] = (path, "".join(texts).strip())

    def close(self) -> list[Element]:
        """Return all elements in the order of their beginnings."""
        return [element for element in self._elements if element is not None]


def parse_xml(text: str, file: str) -> list[Element]:
    """Return the elements of an XML document, in the order in which they begin.

    Raises:
        InputError: if it is no XML, declares a document type or an entity, or is too deep or large.
    """
    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import DefusedXMLParser, ParseError

    parser: Any = DefusedXMLParser(target=_ElementList(file), forbid_dtd=True)
    try:
        parser.feed(text)
        elements: list[Element] = parser.close()
    except DefusedXmlException:
        raise InputError(
            f"{file}: declares a document type or entities, which no project of ARX has"
        ) from None
    except ParseError as error:
        line, _ = error.position
        raise InputError(f"{file}: is no XML (line {line}). Save the project again") from None
    return elements


def exact_number(text: str) -> Decimal | None:
    """Return the number that a text is, exactly; None if it is no number, or a gigantic one.

    >>> exact_number("1.0E-4"), exact_number("1e400"), exact_number("k")
    (Decimal('0.00010'), None, None)
    """
    if not _NUMBER.fullmatch(text.strip()):
        return None
    number = Decimal(text.strip())
    return None if number and number.adjusted() >= _LARGEST else number


def whole_number(text: str) -> int | None:
    """Return the positive whole number that a text is, None for any other text."""
    number = exact_number(text)
    return int(number) if number is not None and number > 0 and number % 1 == 0 else None
