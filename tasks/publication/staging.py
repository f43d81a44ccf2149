"""A release beside its place: complete, as it was assessed, checked as anyone can, and sealed."""

import os
import secrets
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path

from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.tasks.lines.left_over import STAGING
from sfumato.tasks.lines.line import Candidate, Line
from sfumato.tasks.private.durable import name_in_errors, sync_tree
from sfumato.tasks.publication.check import check, open_sealed
from sfumato.tasks.schema.files import read_canonical, sha256_of
from sfumato.tasks.schema.formats import other_software
from sfumato.tasks.terms.opened import MANIFEST, open_release
from sfumato.tasks.verification.integrity import listed_files
from sfumato.tasks.verification.offered_keys import offer, read_offers
from sfumato.tasks.verification.signing import sign_release
from sfumato.tasks.verification.signing_keys import Signer, open_signer, public_key


def seal(directory: Path) -> dict[str, str]:
    """Return the SHA-256 of every file below a directory, by its path from there."""
    files = sorted(path for path in directory.rglob("*") if not path.is_dir())
    return {path.relative_to(directory).as_posix(): sha256_of(path) for path in files}


def seal_of(release: Path) -> dict[str, str]:
    """Return the hashes of `seal` for a release that was just made, from its manifest."""
    listed = listed_files(open_release(release)).items()
    of_files = {path: hash_.removeprefix("sha256:") for path, hash_ in listed}
    return {MANIFEST: sha256_of(release / MANIFEST), **of_files}


def require_sealed(directory: Path, sealed: Mapping[str, str]) -> None:
    """Refuse a directory that is not, file by file, as it was sealed.

    Raises:
        PromiseError: naming the first file that was changed, added or removed since.
    """
    now = seal(directory)
    for name in sorted({*now, *sealed}):
        if now.get(name) != sealed.get(name):
            change = "changed" if name in now and name in sealed else "added or removed"
            raise PromiseError(f"{name}: was {change} after validation. Validate it again")


def require_plain(directory: Path) -> None:
    """Refuse a directory with anything but files and directories: a link leads elsewhere.

    Raises:
        PromiseError: naming the first other entry.
    """
    for path in (directory, *directory.rglob("*")):
        mode = path.lstat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            name = path.relative_to(directory.parent).as_posix()
            raise PromiseError(
                f"{name!a}: is not a plain file or directory, so nothing there is read"
            )


def stage(line: Line, candidate: Candidate) -> Path:
    """Stage a whole release beside its place, check it, and sign it if its line signs.

    Raises:
        InputError: where it is to be signed, and the key cannot be opened.
        PromiseError: where a file was changed, added or removed since the candidate was assessed,
            another candidate was approved, or the release does not pass the check that everyone
            can run.
    """
    staging = line.public / f"{STAGING}{secrets.token_hex(8)}"
    staging.mkdir(mode=0o700)
    _copy(candidate.release, staging)
    staging.chmod(0o700)  # until it appears: what is left of a killed run is nobody's to copy
    require_sealed(staging, candidate.sha256)
    _verify(staging, candidate)
    if candidate.digest not in (None, digest_in(staging)):
        raise PromiseError("the candidate differs from the approved one, so nothing is published")
    _sign(line, staging)
    for path in staging.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o444)
    sync_tree(staging)
    return staging


def _copy(release: Path, staging: Path) -> None:
    """Copy the files of a release; `shutil.copytree` does not say that a disk is full."""
    for folder, _, names in os.walk(release):
        place = staging / Path(folder).relative_to(release)
        place.mkdir(exist_ok=True)
        for name in names:
            with name_in_errors(place / name):
                shutil.copyfile(Path(folder) / name, place / name)


def _verify(staging: Path, candidate: Candidate) -> None:
    """Require the check that everyone can run: promises are measured on the staged files.

    Validation made every other file from these very tables. They are made once more for a candidate
    that reviewers approved, because its builder need not be trusted with the public place; and for
    one that other or earlier software validated.
    """
    software = open_sealed(staging).declared.software
    is_made_again = (
        candidate.made_again and candidate.digest is None and not other_software(software)
    )
    check(staging, made_again=candidate.sha256 if is_made_again else None)


def open_signer_of(line: Line) -> Signer | None:
    """Return the key that signs a line's versions, or None if they are not signed.

    Raises:
        InputError: where it cannot be opened, or was revoked.
    """
    if line.signing_key is None:
        return None
    signer, offered = open_signer(line.signing_key), read_offers(line.public)
    if offered is not None and signer.key.public in offered.revoked_keys():
        raise InputError(
            f"publish.signed-by: key {signer.key} was revoked, and readers refuse what "
            "it signs. Name the key that replaced it (sfumato keys rotate)"
        )
    return signer


def _sign(line: Line, staging: Path) -> None:
    signer = open_signer_of(line)
    if signer is not None:
        sign_release(staging, digest_in(staging), signer)


def offer_key(line: Line) -> None:
    """Offer the public key of a signed line beside it, before a version that it signed appears."""
    if line.signing_key is not None:
        offer(line.public, line.name, public_key(line.signing_key))


def digest_in(release: Path) -> str:
    """Return the digest of a release, as its manifest states it."""
    return str(read_canonical(release / MANIFEST)["sfumato"]["digest"])
