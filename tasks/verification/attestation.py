"""Attestations: what a reader found in a release, signed by the reader, for others to verify.

An attestation is an in-toto Statement (version 1) in a DSSE envelope, as other tools read them. Its
subject is `datapackage.json` with its plain SHA-256, the one that such tools compute; the digest of
the release is in the predicate. Its predicate type is `PREDICATE`:

    release      name and digest of the release, and who signed it, in words
    promises     as `sfumato check --json` has them: parameters, required, observed
    derived      whether every other file follows from the tables: equal, or equivalent
    madeWith     the other software that made it, if it is only equivalent
    notShown     what no files can show
    verifier     name and version of the software that checked
    verifiedOn   when (RFC 3339, UTC)

Source: in-toto Attestation Framework 1.0; DSSE 1.0 (both by the in-toto project).
"""

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sfumato.expectations.machine.packages import import_extra
from sfumato.tasks.schema.files import MANIFEST_BYTES, read_bytes
from sfumato.tasks.verification.signing_keys import Signer, fingerprint

PREDICATE = "urn:sfumato:attestation:check:1"
PAYLOAD = "application/vnd.in-toto+json"
_MANIFEST = "datapackage.json"
_WHAT = "--attest"


def attestation(findings: Mapping[str, Any], signer: Signer, when: datetime) -> bytes:
    """Return the envelope of a statement about a release, signed by a reader.

    Args:
        findings: what `sfumato check --json` prints.
        signer: the reader's key.
        when: the time of the check.

    Returns:
        JSON: a DSSE envelope.

    Raises:
        MissingPackageError: where the extra `attest` is not installed.
    """
    statements = import_extra("in_toto_attestation.v1.statement", "attest", _WHAT)
    resources = import_extra("in_toto_attestation.v1.resource_descriptor", "attest", _WHAT)
    dsse = import_extra("securesystemslib.dsse", "attest", _WHAT)
    keys = import_extra("securesystemslib.signer", "attest", _WHAT)
    manifest = read_bytes(Path(findings["directory"]) / _MANIFEST, MANIFEST_BYTES)
    digest = {"sha256": hashlib.sha256(manifest).hexdigest()}
    predicate = _predicate(findings, manifest, when)
    subject = resources.ResourceDescriptor(name=_MANIFEST, digest=digest)
    statements.Statement([subject.pb], PREDICATE, predicate).validate()
    # written by ourselves: the library makes every number a float
    statement = {
        "_type": statements.STATEMENT_TYPE_URI,
        "subject": [{"name": _MANIFEST, "digest": digest}],
        "predicateType": PREDICATE,
        "predicate": predicate,
    }
    payload = json.dumps(statement, sort_keys=True).encode()
    public = keys.SSlibKey.from_crypto(
        signer.secret.public_key(), keyid=fingerprint(signer.key.public)
    )
    envelope = dsse.Envelope(payload, PAYLOAD, {})
    envelope.sign(keys.CryptoSigner(signer.secret, public))
    return json.dumps(envelope.to_dict(), indent=1).encode() + b"\n"


def _predicate(findings: Mapping[str, Any], manifest: bytes, when: datetime) -> dict[str, Any]:
    release = {
        "name": json.loads(manifest)["name"],
        "digest": findings["digest"],
        "author": findings["author"],
    }
    return {
        "release": release,
        "promises": list(findings["promises"]),
        "derived": findings["derived"],
        "madeWith": list(findings["made_with"]),
        "notShown": list(findings["unseen"]),
        "verifier": {"name": "sfumato", "version": version("sfumato")},
        "verifiedOn": when.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
