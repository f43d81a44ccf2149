"""A place elsewhere: a directory whose files can be requested by their names, one by one."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Protocol

PIECE = 1 << 20  # bytes that are read at once


class PlaceElsewhere(Protocol):
    """A directory of files that are elsewhere; names are relative to it, with `/` between."""

    def pieces(self, name: str) -> AbstractContextManager[Iterator[bytes] | None]:
        """Yield the bytes of a file, piece by piece, or None if there is no such file.

        Raises:
            InputError: where the place refuses.
            TransientFault: where it cannot be reached, or breaks off.
        """
        ...
