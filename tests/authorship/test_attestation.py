"""Attestations of checks: read and verified by the libraries of others, refused when altered."""

import base64
import hashlib
import json
import shutil

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from google.protobuf import json_format
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey

from sfumato.flows.cli.main import run
from sfumato.tasks.private.workdir import work_directory
from sfumato.tasks.verification.attestation import PREDICATE
from sfumato.tasks.verification.signing_keys import fingerprint, own_keys
from tests.corpus.lines import CORPUS

RELEASE = CORPUS / "format-9" / "public" / "corpus-permuted" / "0001"


@pytest.fixture
def work(tmp_path, monkeypatch):
    """A reader's work directory with a key."""
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    monkeypatch.setenv("SFUMATO_SIGNING_PASSPHRASE", "a passphrase")
    assert run(["keys", "generate", "reader"]) == 0
    return tmp_path / "work"


@pytest.fixture
def envelope_and_key(work, tmp_path):
    """The envelope of an attestation of a release, and the key that verifies it."""
    path = tmp_path / "attestation.json"
    assert run(["check", str(RELEASE), "--attest", str(path), "--key", "reader"]) == 0
    (key,) = own_keys(work_directory({"SFUMATO_WORK": str(work)}))
    public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(key.public))
    return json.loads(path.read_text()), SSlibKey.from_crypto(public, fingerprint(key.public))


def payload_of(envelope):
    return json.loads(base64.b64decode(envelope["payload"]))


def test_another_library_verifies_it(envelope_and_key):
    envelope, key = envelope_and_key
    verified = Envelope.from_dict(envelope)
    assert verified.payload_type == "application/vnd.in-toto+json"
    assert list(verified.verify([key], 1)) == [key.keyid]
    statement = json_format.Parse(verified.payload, statement_pb2.Statement())
    Statement.copy_from_pb(statement).validate()
    assert statement.predicate_type == PREDICATE


def test_it_is_about_the_file_and_says_what_was_found(envelope_and_key):
    statement = payload_of(envelope_and_key[0])
    manifest = (RELEASE / "datapackage.json").read_bytes()
    digest = {"sha256": hashlib.sha256(manifest).hexdigest()}
    assert statement["subject"] == [{"name": "datapackage.json", "digest": digest}]
    predicate = statement["predicate"]
    assert predicate["release"]["digest"] == json.loads(manifest)["sfumato"]["digest"]
    (promise,) = predicate["promises"]
    assert promise["required"] == {"k": 4, "e": 2000}
    assert promise["promise"]["model"] == "ke-anonymity"
    assert '"k": 4.0' not in json.dumps(statement)
    assert predicate["notShown"]


@pytest.mark.parametrize("change", ["k", "digest", "time"])
def test_an_altered_statement_is_not_verified(envelope_and_key, change):
    envelope, key = envelope_and_key
    text = base64.b64decode(envelope["payload"]).decode()
    old, new = {
        "k": ('"k": 4', '"k": 9'),
        "digest": ('"sha256": "', '"sha256": "0'),
        "time": ('"verifiedOn": "2', '"verifiedOn": "3'),
    }[change]
    assert old in text
    envelope["payload"] = base64.b64encode(text.replace(old, new).encode()).decode()
    with pytest.raises(VerificationError):
        Envelope.from_dict(envelope).verify([key], 1)


def test_nothing_is_attested_of_a_release_that_is_refused(work, tmp_path):
    altered, path = tmp_path / "0001", tmp_path / "attestation.json"
    shutil.copytree(RELEASE, altered)
    with (altered / "validation.json").open("ab") as file:
        file.write(b" ")
    assert run(["check", str(altered), "--attest", str(path), "--key", "reader"]) == 3
    assert not path.exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "--attest needs --key NAME"),
        (["--key", "nobody"], "there is no such signing key"),
    ],
)
def test_a_key_is_needed_before_anything_is_checked(work, tmp_path, capsys, options, message):
    path = tmp_path / "attestation.json"
    assert run(["check", str(RELEASE), "--attest", str(path), *options]) == 2
    assert message in capsys.readouterr().err
    assert not path.exists()
