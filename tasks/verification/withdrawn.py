"""Releases that are no more: what stands in their place, and what lies beside them says.

A withdrawal may stand in `releases.json`, and a revocation in `keys.json`. Where one of them lies
there and cannot be read, nothing vouches for the release; where there is none, that is said.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sfumato.expectations.errors import PromiseError
from sfumato.tasks.authorship.offers import read_offers
from sfumato.tasks.authorship.withdrawal import author_of_withdrawal
from sfumato.tasks.declaration.lines.tombstone import (
    is_marked_beside,
    read_tombstone,
    record_beside,
    require_not_withdrawn,
)
from sfumato.tasks.schema.files import is_there


def refuse_tombstone(directory: Path, environ: Mapping[str, str]) -> None:
    """Refuse the place of a withdrawn version.

    Raises:
        PromiseError: with the day, the reason, and who signed that.
    """
    found = read_tombstone(directory)
    if found is not None:
        require_not_withdrawn(directory, author_of_withdrawal(directory, found, environ))


@dataclass(frozen=True)
class Beside:
    """What lies beside a release.

    Attributes:
        doubts: why nothing vouches for the release: files that cannot be read.
        remarks: what is not there, and therefore not known.
    """

    doubts: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    def require_readable(self) -> None:
        """Refuse a release beside which a file cannot be read.

        Raises:
            PromiseError: naming the first.
        """
        for doubt in self.doubts:
            raise PromiseError(doubt)


def look_beside(directory: Path, digest: object) -> Beside:
    """Read the record and the keys beside a release that has a digest.

    Raises:
        PromiseError: where the record says that the release was withdrawn. Its directory may be
            about to be replaced, or software that left it there withdrew it.
    """
    doubts: list[str] = []
    withdrawn = False
    try:
        withdrawn = is_marked_beside(directory, digest)
    except PromiseError as error:
        doubts.append(str(error))
    if withdrawn:
        raise PromiseError(f"{directory}: was withdrawn, says the record beside it")
    try:
        read_offers(directory.resolve().parent)
    except PromiseError as error:
        doubts.append(f"{error}, and a revocation may stand in it")
    record = record_beside(directory)
    if is_there(record):
        return Beside(tuple(doubts))
    absent = f"no {record.name} beside it: a withdrawal would not be known here"
    return Beside(tuple(doubts), (absent,))
