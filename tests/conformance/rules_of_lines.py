"""Rules about what lies beside a release, who signed it, and the parts that it is made of."""

import hashlib
import json
from collections.abc import Callable
from random import Random
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from sfumato.tasks.schema.files import canonical_json
from tests.conformance.drafts import SIGNATURE, Document, Draft
from tests.conformance.rulebook import refusal, refuses, require, valid

RECORD, KEYS, TOMBSTONE = "releases.json", "keys.json", "withdrawal.json"


def private_key(name: str) -> Ed25519PrivateKey:
    """Return a key that a name gives: every run of the corpus has the same ones."""
    return Ed25519PrivateKey.from_private_bytes(hashlib.sha256(name.encode()).digest())


def public_hex(name: str) -> str:
    """Return a public key as 64 hexadecimal digits."""
    return private_key(name).public_key().public_bytes_raw().hex()


def signature_of(name: str, kind: str, statement: Document) -> str:
    """Return the signature of a statement (S1.2)."""
    message = f"sfumato {kind}\n".encode() + canonical_json(statement)
    return private_key(name).sign(message).hex()


def _sign(draft: Draft, name: str, digest: str | None = None, kind: str = "release") -> Document:
    """Return the document of a signature."""
    stated = digest or draft.terms["digest"]
    key = {"name": "corpus-key", "public": public_hex(name)}
    return {"format": 1, "key": key, "signature": signature_of(name, kind, {"digest": stated})}


def _put_signature(draft: Draft, document: Any) -> None:
    draft.files[SIGNATURE] = canonical_json(document)


def _line_of(draft: Draft) -> str:
    return str(draft.document["name"])


def _offer(draft: Draft, **offers: Any) -> None:
    """Write the keys beside a release."""
    draft.beside[KEYS] = canonical_json({"format": 1, "line": _line_of(draft), **offers})


@valid
def rule_of_signed_line(draft: Draft, rng: Random) -> None:
    """Sign the release with a key that nobody has heard of."""
    document = _sign(draft, rng.choice(["a", "b"]))
    if rng.random() < 0.3:
        document.pop("format")
    text = json.dumps(document, indent=rng.choice([None, 2])).encode()
    draft.files[SIGNATURE] = text


@refuses("signature-wrong")
def signed_otherwise(draft: Draft, rng: Random) -> None:
    """Sign another digest, another kind of statement, or change a digit of the signature."""
    other = _sign(draft, "a")
    digit = "0" if other["signature"][0] != "0" else "1"
    documents = [
        _sign(draft, "a", "0" * 64),
        _sign(draft, "a", kind="withdrawal"),
        {**other, "signature": digit + other["signature"][1:]},
        {**other, "key": {"name": "corpus-key", "public": public_hex("b")}},
    ]
    _put_signature(draft, rng.choice(documents))


@refuses("signature-unreadable")
def signature_without_form(draft: Draft, rng: Random) -> None:
    """Put something in the place of the signature that is none."""
    document = _sign(draft, "a")
    documents: list[Any] = [
        {**document, "more": 1},
        {**document, "signature": document["signature"].upper() + "G"},
        {**document, "signature": document["signature"][:-2]},
        {**document, "key": {"name": "Not A Name", "public": public_hex("a")}},
        {**document, "key": {"name": "corpus-key"}},
        [],
        {},
    ]
    if rng.random() < 0.3:
        draft.files[SIGNATURE] = rng.choice([b"", b"{", b"\xff", b"PGP"])
    else:
        _put_signature(draft, rng.choice(documents))


@refuses("key-revoked")
def signed_by_a_revoked_key(draft: Draft, rng: Random) -> None:
    """Sign with a key that itself, or its successor, revoked."""
    _put_signature(draft, _sign(draft, "a"))
    keyed = public_hex("a")
    signer = rng.choice(["a", "b"])
    statement = {"by": public_hex(signer), "key": keyed}
    revocation = {**statement, "signature": signature_of(signer, "revocation", statement)}
    change = {"new": public_hex("b"), "old": keyed}
    rotation = {**change, "signature": signature_of("a", "rotation", change)}
    _offer(draft, rotations=[rotation] if signer == "b" else [], revocations=[revocation])


@valid
def revocation_that_does_not_hold(draft: Draft, rng: Random) -> None:
    """Sign with a key whose revocation a stranger signed, or nobody did."""
    _put_signature(draft, _sign(draft, "a"))
    signer = rng.choice(["b", "a"])
    statement = {"by": public_hex(signer), "key": public_hex("a")}
    signature = signature_of("b", "revocation", statement)
    _offer(draft, revocations=[{**statement, "signature": signature}])


@valid
def key_that_was_replaced(draft: Draft, _rng: Random) -> None:
    """Sign with a key that was replaced by another, and not revoked."""
    _put_signature(draft, _sign(draft, "a"))
    change = {"new": public_hex("b"), "old": public_hex("a")}
    rotation = {**change, "signature": signature_of("a", "rotation", change)}
    _offer(draft, rotations=[rotation])


@refuses("record-unreadable")
def keys_that_cannot_be_read(draft: Draft, rng: Random) -> None:
    """Put something beside the release that cannot be read as keys."""
    documents = [b"", b"{", b"[]", b'{"line":"x","more":1}', b'{"keys":[]}', b'{"line":1}']
    draft.beside[KEYS] = rng.choice(documents)


def _record(draft: Draft, **of_version: Any) -> Document:
    version = {"digest": draft.terms["digest"], "status": "published", **of_version}
    versions = {draft.version: version}
    return {"format": 2, "name": _line_of(draft), "current": draft.version, "versions": versions}


def _put_record(draft: Draft, record: Any) -> None:
    draft.beside[RECORD] = canonical_json(record)


@refuses("withdrawn")
def withdrawn_in_the_record(draft: Draft, _rng: Random) -> None:
    """Say in the record beside the release that it was withdrawn."""
    _put_record(draft, _record(draft, status="withdrawn"))


@valid
def another_version_withdrawn(draft: Draft, rng: Random) -> None:
    """Say that another version was withdrawn, or one with another digest."""
    record = _record(draft, status="withdrawn", digest="0" * 64)
    if rng.random() < 0.5:
        record = _record(draft)
        other = "0001" if draft.version != "0001" else "0002"
        record["versions"][other] = {"digest": draft.terms["digest"], "status": "withdrawn"}
    _put_record(draft, record)


@valid
def record_with_more(draft: Draft, rng: Random) -> None:
    """Write a record with keys of a later format, or leave it out."""
    if rng.random() < 0.3:
        draft.beside.pop(RECORD, None)
        return
    status = rng.choice(["published", "superseded", "pending"])
    _put_record(draft, {**_record(draft, status=status, later=1), "format": 9, "later": {}})


@refuses("record-unreadable")
def record_that_cannot_be_read(draft: Draft, rng: Random) -> None:
    """Put something beside the release that cannot be read as its record."""
    digest = draft.terms["digest"]
    records: list[Any] = [
        [],
        {},
        {"versions": []},
        {"versions": {"0001": []}},
        {"versions": {"0001": {"digest": digest}}},
        {"versions": {"0001": {"digest": digest, "status": 1}}},
        {"versions": {"0001": {"digest": None, "status": "published"}}},
    ]
    if rng.random() < 0.3:
        draft.beside[RECORD] = rng.choice([b"", b"{", b"\xff\xfe", b"null"])
    else:
        _put_record(draft, rng.choice(records))


@refuses("withdrawn")
def tombstone_in_its_place(draft: Draft, rng: Random) -> None:
    """Put the withdrawal of a version into its directory, with its files or without them."""
    document = {
        "digest": draft.terms["digest"],
        "format": 1,
        "line": _line_of(draft),
        "reason": "the wrong table",
        "time": "2026-02-03T04:05:06+00:00",
        "version": draft.version,
    }
    if rng.random() < 0.5:
        draft.files = {}
    draft.files[TOMBSTONE] = canonical_json(document)


@refuses("withdrawn")
def tombstone_that_cannot_be_read(draft: Draft, rng: Random) -> None:
    """Put a withdrawal into the directory of which nothing can be read."""
    draft.files[TOMBSTONE] = rng.choice([b"", b"{}", b"[", b'{"digest":"x"}'])


@valid
def other_files_beside(draft: Draft, _rng: Random) -> None:
    """Put files beside the release that no verifier reads."""
    draft.beside |= {"index.html": b"<p>", "dcat.jsonld": b"{", "CITATION.cff": b"\xff", "x": b""}


def _change_parts(draft: Draft, change: Callable[[list[Document]], object]) -> None:
    require(draft.in_parts)
    draft.declare(lambda terms: change(terms["made_of"]))


@refuses("parts-wrong", "file-missing", "file-unexpected", "manifest-schema", "observed-wrong")
def part_removed(draft: Draft, rng: Random) -> None:
    """Leave the statement of a part out."""
    require(draft.in_parts and len(draft.terms["made_of"]) > 1)
    number = rng.randrange(len(draft.terms["made_of"]))
    _change_parts(draft, lambda parts: parts.pop(number))


@refuses("parts-wrong")
def number_of_a_part_otherwise(draft: Draft, rng: Random) -> None:
    """State another number of a part."""
    require(draft.in_parts)
    key, more = rng.choice(["rows", "groups", "first-group"]), rng.choice([1, 5])
    number = rng.randrange(len(draft.terms["made_of"]))

    def change(parts: list[Document]) -> None:
        parts[number][key] += more

    _change_parts(draft, change)


@refuses("parts-wrong")
def digest_of_a_part_otherwise(draft: Draft, rng: Random) -> None:
    """State another digest of a part."""
    require(draft.in_parts)
    number = rng.randrange(len(draft.terms["made_of"]))
    _change_parts(draft, lambda parts: parts[number].update(digest="0" * 64))


@refuses("parts-wrong")
def parts_that_overlap(draft: Draft, _rng: Random) -> None:
    """Give a part the cuts of another."""
    require(draft.in_parts and len(draft.terms["made_of"]) > 1)
    _change_parts(draft, lambda parts: parts[1].update(where=parts[0]["where"]))


@refuses("parts-wrong", "manifest-schema")
def parts_of_nothing(draft: Draft, rng: Random) -> object:
    """Declare how a table was cut without parts, or parts without how."""
    require(draft.in_parts)
    key = rng.choice(["parts", "made_of"])
    draft.declare(lambda terms: terms.pop(key))
    return refusal(
        "parts-wrong",
        "manifest-schema",
        "file-missing",
        "file-unexpected",
        "table-unreadable",
        "format-wrong",
    )


@refuses("parts-wrong", "file-unexpected", "resources-wrong")
def part_signed(draft: Draft, _rng: Random) -> None:
    """Sign a part, which only the whole may be."""
    require(draft.in_parts)
    draft.files[f"parts/0001/{SIGNATURE}"] = canonical_json(_sign(draft, "a"))


@refuses("counts-contradict", "parts-wrong")
def rows_of_the_whole_otherwise(draft: Draft, rng: Random) -> object:
    """State another number of rows of the whole than its parts have."""
    require(draft.in_parts)
    more = rng.randint(1, 3)

    def change(terms: Document) -> None:
        terms["rows"]["published"] += more
        terms["rows"]["read"] += more

    draft.declare(change)
    return refusal("parts-wrong", "row-count-wrong")
