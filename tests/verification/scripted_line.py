"""A line of a script: its record, keys and log are written as a publisher writes them."""

import hashlib
import json
import shutil
from pathlib import Path
from types import SimpleNamespace

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from sfumato.tasks.schema.files import canonical_json
from sfumato.tasks.verification.key_changes import revoke, rotate
from sfumato.tasks.verification.line_log import LoggedLine, LoggedVersion, listing_beside, read_log
from sfumato.tasks.verification.log_check import check_log
from sfumato.tasks.verification.log_writing import LogPlace
from sfumato.tasks.verification.offered_keys import offer, read_offers
from sfumato.tasks.verification.signing_keys import PublicKey, Signer

NAME = "wages"


def signer_of(name: str) -> Signer:
    """Return a key that is always the same for its name."""
    secret = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(name.encode()).digest())
    return Signer(PublicKey(name=name, public=secret.public_key().public_bytes_raw().hex()), secret)


def digest_of(number: int, salt: str = "") -> str:
    return hashlib.sha256(f"{salt}{number}".encode()).hexdigest()


class ScriptedLine:
    """The public directory of a line, without the releases themselves."""

    def __init__(self, folder: Path, key: str | None = None) -> None:
        self.folder = folder
        self.folder.mkdir(parents=True, exist_ok=True)
        self.signer = None if key is None else signer_of(key)

    def record(self) -> dict:
        place = self.folder / "releases.json"
        return json.loads(place.read_bytes()) if place.exists() else {"name": NAME, "versions": {}}

    def release(self, salt: str = "") -> None:
        if self.signer is not None:
            offer(self.folder, NAME, self.signer.key)
        record = self.record()
        number = len(record["versions"]) + 1
        time = f"2026-01-01T00:{number:02d}:00+00:00"
        entry = {"digest": digest_of(number, salt), "status": "published", "time": time}
        record["versions"][f"{number:04d}"] = entry
        self.write(record)

    def withdraw(self, number: int) -> None:
        record = self.record()
        record["versions"][f"{number:04d}"]["status"] = "withdrawn"
        self.write(record)

    def write(self, record: dict) -> None:
        """Write a record, and the log that goes with it."""
        after = {
            number: LoggedVersion(
                digest=version["digest"],
                time=version["time"],
                withdrawn=version["status"] == "withdrawn",
            )
            for number, version in record["versions"].items()
        }
        log = LogPlace(NAME, self.folder)
        before = listing_beside(self.folder)
        beside = LoggedLine.of_files(after, read_offers(self.folder))
        log.prepare(before, beside, "2026-02-03T04:05:06+00:00", lambda: self.signer)
        self.write_record(record)
        log.install(beside)

    def write_record(self, record: dict) -> None:
        (self.folder / "releases.json").write_bytes(canonical_json(record))

    def rotate(self, key: str) -> None:
        rotate(self.folder, self.signer, signer_of(key).key)
        self.signer = signer_of(key)

    def revoke(self, key: str) -> None:
        revoke(self.folder, signer_of(key).key, self.signer)

    def log(self) -> dict:
        return json.loads((self.folder / "log.json").read_bytes())

    def parsed_log(self):
        return read_log(self.folder)

    def copy(self, folder: Path) -> "ScriptedLine":
        """Return a copy of the line; a line that is there is replaced."""
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.folder, folder)
        other = ScriptedLine(folder)
        other.signer = self.signer
        return other


def reader(folder: Path):
    """Return a reader with a memory of their own, who checks the last release of a line."""
    environ = {"XDG_CONFIG_HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache")}

    def check(line: ScriptedLine, *heads, number: int = 1):
        version = line.record()["versions"].get(f"{number:04d}", {"digest": digest_of(number)})
        place = line.folder / f"{number:04d}"
        findings = check_log(place, NAME, version["digest"], heads, environ)
        assert findings.remember(environ) == ()
        return findings

    return SimpleNamespace(check=check, environ=environ)
