"""`sfumato.open`: a release from a directory here, from the web or from a store."""

import os
from collections.abc import Mapping

from sfumato.flows.api.published import VerifiedRelease
from sfumato.tasks.lines.current import choose_place
from sfumato.tasks.verification.elsewhere.copied import GIGABYTES, directory_of
from sfumato.tasks.verification.limits import read_limits
from sfumato.tasks.verification.way_in import WayIn


def open(
    place: str | os.PathLike[str],
    *,
    digest: str | None = None,
    check: bool = False,
    limits: Mapping[str, int] | None = None,
    gigabytes: float = GIGABYTES,
) -> VerifiedRelease:
    """Open a release; hashes, limits and signature are verified before a table is read.

    A release from https or s3 is first copied into a private cache below `$XDG_CACHE_HOME/sfumato`,
    once for as long as it does not change. A store's keys and endpoint come from the environment
    (AWS_ACCESS_KEY_ID and its like); without keys it is asked as anybody may.

    Args:
        place: the directory of a version, or of a line for its current version (the release's
            `version` and `line` say which): a path, file://, https:// or s3:// (http:// from this
            machine alone).
        digest: which the publisher announced; another one is refused.
        check: measure every promise again first, as `check` does.
        limits: take larger tables: `rows`, `columns`, `expansion` (bytes in memory for each byte of
            a file).
        gigabytes: how large a release from elsewhere may be.

    Raises:
        SpecError: where the address is none, or a limit is none.
        InputError: where there is no release, the line has no current version, or the release is
            larger than the limits.
        PromiseError: where files are not those of the manifest, the digest is another, the reader's
            trust file demands another signature, or the release was withdrawn.
        TransientFault: where the place cannot be reached.
    """
    taken = read_limits({name: str(limit) for name, limit in (limits or {}).items()})
    version = choose_place(os.fspath(place), os.environ).place
    directory = directory_of(version, os.environ, gigabytes)
    release = VerifiedRelease(WayIn(os.environ, digest, taken), directory)
    if check:
        release.check()
    return release
