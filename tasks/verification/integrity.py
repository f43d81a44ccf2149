"""Integrity of a release's files: the hashes that its manifest lists, and its own digest.

This is integrity and no more: someone who forges a table can also list the hash of the forgery.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.schema.files import canonical_json, read_canonical, sha256_of
from sfumato.tasks.terms.opened import MANIFEST, SIGNATURE, Release


def digest(document: dict[str, Any]) -> str:
    """Return the SHA-256 of a manifest with an empty digest; it vouches for every file's bytes."""
    unsealed = {**document, "sfumato": {**document["sfumato"], "digest": ""}}
    return hashlib.sha256(canonical_json(unsealed)).hexdigest()


def require_regular_files(directory: Path) -> None:
    """Refuse links, devices and pipes in a release, and directories with nothing in them.

    Raises:
        PromiseError: naming the first.
    """
    for path in directory.rglob("*"):
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            raise PromiseError(
                f"{path.relative_to(directory)}: not a regular file. A release "
                "contains no links and no special files"
            )
        if path.is_dir() and not any(path.iterdir()):
            raise PromiseError(
                f"{path.relative_to(directory)}: does not belong to the release. Delete "
                "the empty directory"
            )


def listed_files(release: Release) -> dict[str, str]:
    """Return the SHA-256 of every file that the manifest lists, by its path.

    Raises:
        PromiseError: where the list is none, or a path leaves the release.
    """
    try:
        listed = {
            str(resource["path"]): str(resource["hash"])
            for resource in release.manifest["resources"]
        }
    except (KeyError, TypeError):
        raise PromiseError(
            f"{MANIFEST}: does not list the files with their hashes. The release is "
            "damaged or was changed"
        ) from None
    for path in listed:
        if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
            raise PromiseError(
                f"{MANIFEST}: lists a path outside the release. The release was changed: "
                "do not use it"
            )
    return listed


def require_listed(release: Release, files: Mapping[str, str]) -> None:
    """Compare the hashes that a manifest lists with those just computed from its files.

    Args:
        release: the release.
        files: the SHA-256 of each of its files, by its path from there.

    Raises:
        PromiseError: naming the first file of which the manifest says something else.
    """
    listed = listed_files(release)
    for path in sorted(listed.keys() | files.keys() - {MANIFEST}):
        if listed.get(path) != f"sha256:{files.get(path)}":
            raise PromiseError(
                f"{path}: its SHA-256 is not the one that {MANIFEST} states. The file "
                "was changed or damaged"
            )


def require_intact(release: Release) -> None:
    """Make sure that a release has the files that its manifest lists, and the manifest its digest.

    Raises:
        PromiseError: naming the first file that was added, removed or changed.
    """
    _require_digest(release)
    listed = listed_files(release)
    present = {
        path.relative_to(release.directory).as_posix()
        for path in release.directory.rglob("*")
        if path.is_file()
    }
    for path in sorted((present ^ listed.keys()) - {MANIFEST, SIGNATURE}):
        rule = "is missing" if path in listed else "does not belong to the release"
        raise PromiseError(f"{path}: {rule}")
    for path, stated in listed.items():
        if f"sha256:{sha256_of(release.directory / path)}" != stated:
            raise PromiseError(
                f"{path}: its SHA-256 is not the one that {MANIFEST} states. The file "
                "was changed or damaged"
            )


def _require_digest(release: Release) -> None:
    """Require the digest of the bytes that are read: other bytes could be parsed in another way."""
    manifest = release.manifest
    try:
        read_canonical(release.directory / MANIFEST)
        sealed = digest(manifest)
    except (ValueError, TypeError, RecursionError):
        raise PromiseError(
            f"{MANIFEST}: not the canonical manifest of a release. The release is "
            "damaged or was changed"
        ) from None
    if manifest["sfumato"].get("digest") != sealed:
        raise PromiseError(
            f"{MANIFEST}: its digest is not that of its content. The manifest was changed"
        )
