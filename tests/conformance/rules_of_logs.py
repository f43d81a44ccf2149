"""Rules about the log beside a release, whose trees are computed as the RFC defines them."""

import hashlib
from collections.abc import Sequence
from random import Random
from typing import Any

from sfumato.tasks.schema.files import canonical_json
from tests.conformance.drafts import Document, Draft
from tests.conformance.rulebook import refuses, valid
from tests.conformance.rules_of_lines import KEYS, RECORD, public_hex, signature_of

LOG = "log.json"
OTHER, TIME = "0" * 64, "2026-02-03T04:05:06+00:00"


def _root(entries: Sequence[bytes]) -> bytes:
    """Return MTH of the entries (RFC 9162, 2.1.1)."""
    if len(entries) == 1:
        return hashlib.sha256(b"\0" + entries[0]).digest()
    half = 1
    while half * 2 < len(entries):
        half *= 2
    return hashlib.sha256(b"\1" + _root(entries[:half]) + _root(entries[half:])).digest()


def _head(draft: Draft, entries: Sequence[Document], key: str | None) -> Document:
    root = _root([canonical_json(entry) for entry in entries]).hex()
    content = {"line": str(draft.document["name"]), "root": root, "size": len(entries)}
    if key is None:
        return {"format": 1, **content}
    signed_by = {"name": "corpus-key", "public": public_hex(key)}
    return {
        "format": 1,
        **content,
        "key": signed_by,
        "signature": signature_of(key, "head", content),
    }


def _entries(draft: Draft, rng: Random) -> list[Document]:
    """Return a log of some versions, of which the release is one."""
    digests = [hashlib.sha256(bytes([n])).hexdigest() for n in range(rng.randint(0, 4))]
    digests.insert(rng.randint(0, len(digests)), draft.terms["digest"])
    return [
        {"kind": "release", "version": f"{n + 1:04d}", "digest": digest, "time": TIME}
        for n, digest in enumerate(digests)
    ]


def _put(draft: Draft, recorded: list[Document], key: str | None = None, /, **changes: Any) -> None:
    """Write a record of versions, and a log of the same ones, which changes replace in part."""
    draft.beside.pop(KEYS, None)
    versions = {
        entry["version"]: {"digest": entry["digest"], "status": "published", "time": entry["time"]}
        for entry in recorded
    }
    record = {"format": 1, "name": str(draft.document["name"]), "versions": versions}
    log = {"format": 1, "entries": recorded, "head": _head(draft, recorded, key), **changes}
    draft.beside |= {RECORD: canonical_json(record), LOG: canonical_json(log)}


@valid
def log_of_the_line(draft: Draft, rng: Random) -> None:
    """Write a log that agrees with the record, signed or not."""
    _put(draft, _entries(draft, rng), rng.choice([None, "a"]))


@refuses("log-wrong")
def head_of_other_entries(draft: Draft, rng: Random) -> None:
    """State another root or size, or another line."""
    entries = _entries(draft, rng)
    head = _head(draft, entries, None)
    change = rng.choice([{"root": OTHER}, {"size": len(entries) + 1}, {"line": "another-line"}])
    _put(draft, entries, head={**head, **change})


@refuses("log-wrong")
def entries_that_do_not_fit(draft: Draft, rng: Random) -> None:
    """Repeat a release, or withdraw a version that the log does not list."""
    entries = _entries(draft, rng)
    other = {**entries[0], "kind": "withdrawal", "version": "0099"}
    wrong = [*entries, rng.choice([entries[0], other])]
    _put(draft, entries, entries=wrong, head=_head(draft, wrong, None))


@refuses("log-differs")
def version_left_out_beside_the_log(draft: Draft, rng: Random) -> None:
    """List a version in the log that the record does not have, or has with another digest."""
    entries = _entries(draft, rng)
    more = {**entries[0], "version": "0099"}
    if rng.random() < 0.5:
        more = {**entries[0], "digest": OTHER}
        listed = [more, *entries[1:]]
    else:
        listed = [*entries, more]
    _put(draft, entries, entries=listed, head=_head(draft, listed, None))


@refuses("signature-wrong")
def signature_of_another_head(draft: Draft, rng: Random) -> None:
    """Sign another root."""
    entries = _entries(draft, rng)
    head = _head(draft, entries, "a")
    content = {"line": head["line"], "root": OTHER, "size": head["size"]}
    _put(draft, entries, head={**head, "signature": signature_of("a", "head", content)})


@refuses("record-unreadable")
def log_that_cannot_be_read(draft: Draft, rng: Random) -> None:
    """Put something beside the release that cannot be read as its log."""
    entries = _entries(draft, rng)
    changes: list[Document] = [
        {"format": 2},
        {"more": 1},
        {"entries": []},
        {"head": {}},
        {"entries": [{"kind": "release"}]},
    ]
    _put(draft, entries, **rng.choice(changes))
    if rng.random() < 0.3:
        content = draft.beside[LOG]
        draft.beside[LOG] = rng.choice([b"", b"{", b"[]", b" " + content, content + b"\n"])
