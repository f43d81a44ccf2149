"""The specification of the release format agrees with the code, frozen releases and itself."""

import copy
import hashlib
import json
import re

import jsonschema
import pyarrow as pa
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from sfumato.deployments.guide.generated.manifest_schema import PLACE, manifest_schema, text_of
from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.expectations.shared.merkle import is_consistent
from sfumato.expectations.shared.numbers import SINCE
from sfumato.tasks.publication.check import check
from sfumato.tasks.schema.files import MANIFEST_BYTES, canonical_json
from sfumato.tasks.schema.formats import NEWEST
from sfumato.tasks.terms.opened import MANIFEST, open_release
from sfumato.tasks.terms.tables import read_tables, require_usual_values
from sfumato.tasks.verification.heads import ExchangedHead
from sfumato.tasks.verification.integrity import digest as digest_of
from sfumato.tasks.verification.line_log import Head, parse_log
from sfumato.tasks.verification.offered_keys import OfferedKeys
from sfumato.tasks.verification.signing_keys import statement
from tests.corpus.lines import CORPUS
from tests.guide.format_examples import FOLDER, PAGE, csv_of, unpack

PAGES = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.md"))}
TEXT = "\n".join(PAGES.values())
SCHEMA = json.loads(PLACE.read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
PERMUTED = "valid/permuted"


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    """The folder of the unpacked examples, and what is expected of each."""
    folder = tmp_path_factory.mktemp("examples")
    return folder, unpack(folder)


def valid(expected):
    return {
        name: verdict["digest"]
        for name, verdict in expected.items()
        if verdict["verdict"] == "valid"
    }


def test_the_schema_is_that_of_the_model():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert text_of(manifest_schema()) == PLACE.read_text(encoding="utf-8")


def test_every_frozen_manifest_passes_the_schema():
    manifests = sorted(CORPUS.rglob(MANIFEST))
    assert len(manifests) > 80
    for place in manifests:
        VALIDATOR.validate(json.loads(place.read_bytes()))


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.update(more=1),
        lambda d: d.pop("$schema"),
        lambda d: d["sfumato"].update(more=1),
        lambda d: d["sfumato"].update(format=0),
        lambda d: d["sfumato"].update(format=NEWEST + 1),
        lambda d: d["sfumato"].update(digest="A" * 64),
        lambda d: d["sfumato"].update(formats=["csv"]),
        lambda d: d["sfumato"].update(formats=["parquet", "parquet"]),
        lambda d: d["sfumato"].update(csv={"formulas": "keep"}),
        lambda d: d["sfumato"].update(words={"columns": {}}),
        lambda d: d["sfumato"].update(promises=[]),
        lambda d: d["sfumato"]["promises"][0].pop("quasi-identifiers"),
        lambda d: d["sfumato"]["promises"][0].update(e="1.50"),
        lambda d: d["sfumato"]["promises"][0].update(e=1.5),
        lambda d: d["sfumato"]["promises"][0].update(e="2"),
        lambda d: d["sfumato"]["promises"][0].update(k=0),
        lambda d: d["sfumato"]["promises"][0].update(sensitive=None),
        lambda d: d["sfumato"]["columns"][0].update(role="identifier"),
        lambda d: d["sfumato"]["columns"][0].update(leaves="all"),
        lambda d: d["sfumato"]["columns"][0].pop("nulls"),
        lambda d: d["sfumato"]["form"].update(method="other"),
        lambda d: d["sfumato"].update(name="Not A Name"),
        lambda d: d["resources"][0].update(path="../elsewhere"),
        lambda d: d["resources"][0].update(hash="md5:0"),
    ],
)
def test_an_altered_manifest_fails_the_schema(examples, change):
    document = json.loads((examples[0] / PERMUTED / MANIFEST).read_bytes())
    VALIDATOR.validate(document)
    altered = copy.deepcopy(document)
    change(altered)
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(altered)


def test_every_valid_example_is_verified(examples):
    folder, expected = examples
    assert len(valid(expected)) > 10
    for name, digest in valid(expected).items():
        assert check(folder / name, digest).verdicts
        VALIDATOR.validate(json.loads((folder / name / MANIFEST).read_bytes()))


def test_every_other_example_is_refused(examples):
    folder, expected = examples
    refused = expected.keys() - valid(expected)
    assert len(refused) > 20
    for name in refused:
        newer = expected[name]["verdict"] == "not judged"
        with pytest.raises(InputError if newer else PromiseError):
            check(folder / name)


def sealed_again(folder, change):
    """Change the manifest of an unpacked release, and seal it again."""
    document = json.loads((folder / MANIFEST).read_bytes())
    change(document["sfumato"])
    document["sfumato"]["digest"] = digest_of(document)
    (folder / MANIFEST).write_bytes(canonical_json(document))


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        ("permuted", lambda d: d["rows"].update(vacant=1) or d.update(format=2), "vacant values"),
        ("permuted", lambda d: d.update(predecessor="0" * 64, format=2), "continues a version"),
        ("generalized", lambda d: d["columns"][2].update(name="TOWN"), "names of those of another"),
        (
            "generalized",
            lambda d: d["columns"][0].update(shift={"days": 3}),
            "needs type",
        ),
        (
            "generalized",
            lambda d: d["columns"][0].update(bottom="abc"),
            "not of type integer",
        ),
        (
            "ambiguous",
            lambda d: d["promises"][0].update({"quasi-identifiers": ["age", "age", "town"]}),
            "a column twice",
        ),
    ],
)
def test_a_declaration_with_two_meanings_is_refused(tmp_path, name, change, reason):
    unpack(tmp_path)
    folder = tmp_path / "valid" / name
    sealed_again(folder, change)
    with pytest.raises(PromiseError, match=reason):
        check(folder)


def test_a_manifest_that_is_too_large_is_refused(tmp_path):
    unpack(tmp_path)
    with (tmp_path / PERMUTED / MANIFEST).open("r+b") as file:
        file.truncate(MANIFEST_BYTES + 1)
    with pytest.raises(PromiseError, match="not the canonical manifest"):
        check(tmp_path / PERMUTED)


@pytest.mark.parametrize(
    "values",
    [
        pa.array([4_000_000], pa.date32()),
        pa.array([-800_000], pa.date32()),
        pa.array([10**18], pa.timestamp("us")),
        pa.Array.from_buffers(
            pa.decimal128(38, 0), 1, [None, pa.py_buffer((10**38).to_bytes(16, "little"))]
        ),
    ],
)
def test_values_beyond_their_types_are_refused(values):
    require_usual_values({"qit": pa.table({"day": pa.array([0, None], pa.date32())})})
    with pytest.raises(PromiseError, match="beyond its type"):
        require_usual_values({"qit": pa.table({"day": values})})


def test_the_digests_in_the_text_are_those_of_the_manifests_in_the_text(examples):
    folder, expected = examples
    for name, digest in valid(expected).items():
        section = PAGES["examples"].partition(f"### {name}\n")[2].partition("\n### ")[0]
        assert f"Digest: `{digest}`" in section
        if name == "valid/parts":
            continue
        printed = re.search(r'^    (\{"\$schema":.*\})$', section, re.MULTILINE)[1]
        assert printed.encode() == (folder / name / MANIFEST).read_bytes()
        taken_out = printed.replace(f'"digest":"{digest}"', '"digest":""')
        assert hashlib.sha256(taken_out.encode()).hexdigest() == digest


def test_the_tables_in_the_text_are_those_of_the_files(examples):
    folder, expected = examples
    for name in valid(expected):
        section = PAGES["examples"].partition(f"### {name}\n")[2].partition("\n### ")[0]
        release = open_release(folder / name)
        if release.declared.made_of:
            continue
        for table, content in read_tables(release.declared, folder / name / "data").items():
            printed = section.partition(f"`data/{table}.parquet`")[2].partition("```text\n")[2]
            assert printed.partition("```")[0] == csv_of(content)
            if "csv" in release.declared.formats:
                written = (folder / name / "data" / f"{table}.csv").read_bytes()
                assert written == csv_of(content).encode()


def test_the_signature_in_the_text_verifies():
    text = PAGE.read_text(encoding="utf-8")
    public, message, signature = (
        re.search(rf"^{what} +(\S.*)$", text, re.MULTILINE)[1]
        for what in ("public", "message", "signature")
    )
    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public))
    key.verify(bytes.fromhex(signature), message.replace("⏎", "\n").encode())
    assert hashlib.sha256(bytes.fromhex(public)).hexdigest()[:32] in text


def test_the_rotation_and_the_revocation_in_the_text_hold():
    rotation, revocation, offered = (
        re.search(rf"^{what} +(\S.*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)[1]
        for what in ("rotation", "revocation", r"keys\.json")
    )
    keys = OfferedKeys.model_validate_json(offered)
    first, second = keys.names()
    assert list(keys.successors(first)) == [second]
    assert keys.revoked_keys() == {first}
    for kind, message, (signed,) in (
        ("rotation", rotation, keys.rotations),
        ("revocation", revocation, keys.revocations),
    ):
        content = signed.model_dump(exclude={"signature"})
        assert message.replace("⏎", "\n").encode() == statement(kind, content)


def row_of_log(name):
    return re.search(rf"^{name} +(\S.*)$", PAGES["log"], re.MULTILINE)[1]


def test_the_log_in_the_text_is_computed_from_its_entries():
    """By the recursive definitions of the RFC, with no code of ours."""
    entries = [row_of_log(f"entry {index}").encode() for index in range(3)]
    leaves = [hashlib.sha256(b"\0" + entry).digest() for entry in entries]
    assert [leaf.hex() for leaf in leaves] == [row_of_log(f"leaf {index}") for index in range(3)]
    node = hashlib.sha256(b"\1" + leaves[0] + leaves[1]).digest()
    root = hashlib.sha256(b"\1" + node + leaves[2]).digest()
    assert (node.hex(), root.hex()) == (row_of_log("node 0-1"), row_of_log("root"))
    assert row_of_log("inclusion 1").split() == [leaves[0].hex(), leaves[2].hex()]
    assert row_of_log("consistency").split() == [leaves[2].hex()]
    document = json.loads(row_of_log("log.json"))
    assert canonical_json(document) == row_of_log("log.json").encode()
    assert [canonical_json(entry) for entry in document["entries"]] == entries
    message = row_of_log("message").replace("⏎", "\n").encode()
    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(document["head"]["key"]["public"]))
    key.verify(bytes.fromhex(row_of_log("signature")), message)
    assert document["head"]["signature"] == row_of_log("signature")
    assert (document["head"]["root"], document["head"]["size"]) == (root.hex(), 3)


def test_the_log_in_the_text_is_read_and_continues_the_earlier_head():
    log = parse_log("log.json", row_of_log("log.json").encode())
    assert log.head.signer().name == "first"
    earlier = Head.model_validate_json(row_of_log("earlier"))
    path = [bytes.fromhex(node) for node in row_of_log("consistency").split()]
    assert is_consistent(earlier.tree, log.head.tree, path)
    head = ExchangedHead.model_validate_json(row_of_log("head file"))
    assert head.includes("0" * 64)
    assert not head.includes("1" * 64)


def reasons():
    rows = re.findall(r"^\| (`[^|]*`) \|", PAGES["refusals"], re.MULTILINE)
    return {reason for row in rows for reason in re.findall("`([a-z-]+)`", row)}


def test_every_reason_of_rules_and_examples_is_in_the_closed_list(examples):
    expected = {reason for verdict in examples[1].values() for reason in verdict.get("reasons", ())}
    in_rules = set(re.findall(r"\(`([a-z]+(?:-[a-z]+)+)`", TEXT))
    assert expected <= reasons()
    assert in_rules <= reasons()
    assert reasons() - {"unreadable"} <= set(re.findall("`([a-z]+(?:-[a-z]+)*)`", TEXT))


def test_every_rule_that_is_cited_exists():
    stated = set(re.findall(r"\*\*([A-Z]\d+\.\d+)\*\*", TEXT))
    chapters = set(re.findall(r"^## ([A-Z]\d+) ", TEXT, re.MULTILINE))
    numbers = re.findall(r"\b([VDMTFPXSREL]\d+(?:\.\d+)?)\b", re.sub(r"`[^`]*`", "", TEXT))
    assert len(stated) > 100
    assert {n for n in numbers if n not in stated and n not in chapters} <= {"E24"}


def test_every_key_that_came_later_is_in_the_table_of_formats():
    table = PAGES["index"].partition("| Format | Applies if")[2].partition("\n\n")[0]
    rows = dict(re.findall(r"^\| (\d+) \| (.*) \|$", table, re.MULTILINE))
    later = set(_later(SCHEMA))
    assert len(later) > 30
    bars = {"belief", "known", "width", "level", "times"}  # within keys of the same format
    listed = {
        (key, format_)
        for key, format_ in later
        if re.search(rf"[`.]{re.escape(key)}`", rows[str(format_)])
    }
    assert {key for key, _ in later - listed} <= bars | {"labels", "key", "consolidate", "formulas"}


def _later(node):
    """Yield the keys of a schema that came with a format, and the format."""
    if isinstance(node, list):
        for part in node:
            yield from _later(part)
    elif isinstance(node, dict):
        for key, part in node.items():
            if isinstance(part, dict) and SINCE in part:
                yield key, part[SINCE]
            yield from _later(part)
