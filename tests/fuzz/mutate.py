"""Mutations of bytes, of texts by their tokens, and of documents by their nodes.

Every choice is the generator's that is passed: a number draws the same input again.
"""

import re
from collections.abc import Callable, Sequence
from copy import deepcopy
from random import Random
from typing import Any

STRANGE = (
    *("", " ", "\0", "\ufeff", "\u202e", "é", "𝄞", "\r", "\n", "\t", '"', "'", "''", "\\", "*"),
    *(",", ";", "|", "(", ")", "[", "]", "{", "}", "--", "/*", "*/", "=", "%", "&a", "!!python/x"),
    *("0", "-0", "1e999", "-1e-999", "9223372036854775808", "0x10", "nan", "inf", "1_000", "٣"),
    *("null", "NULL", "true", "2023-02-29", "0001-01-01", "9999-12-31T23:59:60Z", "a" * 5000),
    *("../../etc/passwd", "file:///", "$HOME", "${X}", "https://localhost:1/x", "C:\\x", "%s%n"),
)
_BYTES = (b"\xff", b"\xfe\xff", b"\xc3", b"\xed\xa0\x80", b"\0", b"\x1a", b"\xef\xbb\xbf")
_TOKEN = re.compile(r"\w+|\s+|.", re.DOTALL)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 7, 10**19, -(2**63), 0.5, -0.0, 1e308, float("nan")),
    *(float("inf"), [], {}, [[]], [None], {"": None}, "integer", "string", "sensitive", "drop"),
    *STRANGE,
)


def _some(rng: Random, most: int) -> int:
    """One in most cases: what is wrong in many ways is refused for the first of them."""
    return rng.randint(1, most) if rng.random() < 0.4 else 1


def bytes_of(content: bytes, rng: Random, most: int = 4) -> bytes:
    """Some bytes changed, inserted, repeated, moved or cut off."""
    for _ in range(_some(rng, most)):
        content = rng.choice(_ON_BYTES)(content, rng)
    return content


def _flip_byte(content: bytes, rng: Random) -> bytes:
    position = rng.randrange(len(content) + 1)
    return content[:position] + bytes([rng.randrange(256)]) + content[position + 1 :]


def _insert_bytes(content: bytes, rng: Random) -> bytes:
    position = rng.randrange(len(content) + 1)
    strange = rng.choice([*_BYTES, *(text.encode() for text in STRANGE)])
    return content[:position] + strange + content[position:]


def _cut_out(content: bytes, rng: Random) -> bytes:
    position = rng.randrange(len(content) + 1)
    return content[:position] + content[position + rng.randint(1, 20) :]


def _repeat_part(content: bytes, rng: Random) -> bytes:
    position, times = rng.randrange(len(content) + 1), rng.choice([2, 2, 2, 100])
    part = content[position : position + rng.randint(1, 60)]
    return content[:position] + part * times + content[position:]


def _cut_off(content: bytes, rng: Random) -> bytes:
    return content[: rng.randrange(len(content) + 1)]


def _lines_moved(content: bytes, rng: Random) -> bytes:
    lines = content.splitlines(keepends=True)
    rng.shuffle(lines)
    return b"".join(lines)


def _recode_text(content: bytes, rng: Random) -> bytes:
    text = content.decode("utf-8", "replace")
    return text.encode(rng.choice(["utf-16", "latin-1", "utf-8-sig", "utf-7"]), "replace")


def _other_ends(content: bytes, rng: Random) -> bytes:
    return content.replace(b"\n", rng.choice([b"\r", b"\r\n", b"\n\n", b""]))


_ON_BYTES: tuple[Callable[[bytes, Random], bytes], ...] = (
    *(_flip_byte, _flip_byte, _insert_bytes, _insert_bytes, _cut_out, _cut_out, _repeat_part),
    *(_cut_off, _lines_moved, _recode_text, _other_ends),
)


def text_of(text: str, rng: Random, others: Sequence[str], most: int = 4) -> str:
    """Some tokens changed for those of other texts or for strange ones, moved or nested."""
    tokens = _TOKEN.findall(text)
    pool = [token for other in others for token in _TOKEN.findall(other)]
    for _ in range(_some(rng, most)):
        position = rng.randrange(len(tokens) + 1)
        to = min(len(tokens), position + rng.randint(1, 6))
        kind = rng.randrange(7)
        if kind == 0:
            tokens[position:to] = []
        elif kind == 1:
            tokens[position : position + 1] = [rng.choice(STRANGE)]
        elif kind == 2:
            tokens[position : position + 1] = [rng.choice(pool)]
        elif kind == 3:
            tokens[position:position] = tokens[position:to]
        elif kind == 4:
            depth = rng.choice([1, 3, 60, 2000])
            tokens[position:to] = ["("] * depth + tokens[position:to] + [")"] * depth
        elif kind == 5:
            start = rng.randrange(len(pool))
            tokens[position:to] = pool[start : start + rng.randint(1, 12)]
        else:
            tokens = tokens[:position] + _TOKEN.findall(rng.choice(others))[position:]
    return "".join(tokens)


def cell_of(text: str, rng: Random, separator: str) -> str:
    """One cell of a table of text changed for a strange one or for another cell."""
    rows = [line.split(separator) for line in text.splitlines()]
    row, other = rng.choice(rows), rng.choice(rows)
    number = rng.choice(["", "+", "-", "1e", "0"]) + str(rng.choice([0, 1, 7, 10**19, 0.1]))
    row[rng.randrange(len(row))] = rng.choice([rng.choice(STRANGE), rng.choice(other), number])
    return "\n".join(separator.join(cells) for cells in rows) + "\n"


def document_of(document: Any, rng: Random, most: int = 3) -> Any:
    """Some nodes of a tree of mappings and lists changed, taken away, nested or exchanged."""
    for _ in range(_some(rng, most)):
        places = _places(document)
        if not places:
            return rng.choice(VALUES)
        owner, key = rng.choice(places)
        rng.choice(_ON_NODES)(owner, key, rng, places)
    return document


def _remove_entry(owner: Any, key: Any, _rng: Random, _places: Any) -> None:
    del owner[key]


def _strange(owner: Any, key: Any, rng: Random, _places: Any) -> None:
    owner[key] = rng.choice(VALUES)


def _exchange_values(owner: Any, key: Any, rng: Random, places: Any) -> None:
    other, name = rng.choice(places)
    owner[key] = deepcopy(other[name])


def _nest_value(owner: Any, key: Any, rng: Random, _places: Any) -> None:
    owner[key] = [deepcopy(owner[key]) for _ in range(rng.choice([1, 2, 50]))]


def _rename_key(owner: Any, key: Any, rng: Random, _places: Any) -> None:
    if isinstance(owner, dict):
        owner[rng.choice(STRANGE)] = owner.pop(key)


def _alike(owner: Any, key: Any, rng: Random, _places: Any) -> None:
    """Another text or number that begins from the one that is there."""
    if isinstance(owner[key], str):
        owner[key] = text_of(owner[key], rng, STRANGE, 2)
    elif isinstance(owner[key], int | float):
        owner[key] = owner[key] * rng.choice([-1, 0, 2, 1000, 10**12]) + rng.choice([-1, 0, 1])


_ON_NODES: tuple[Callable[[Any, Any, Random, Any], None], ...] = (
    *(
        _remove_entry,
        _strange,
        _strange,
        _exchange_values,
        _nest_value,
        _rename_key,
        _alike,
        _alike,
    ),
)


def _places(node: Any) -> list[tuple[Any, Any]]:
    places: list[tuple[Any, Any]] = []
    if isinstance(node, dict | list):
        for key in list(node) if isinstance(node, dict) else range(len(node)):
            places.append((node, key))
            places += _places(node[key])
    return places
