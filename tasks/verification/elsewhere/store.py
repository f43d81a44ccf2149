"""A directory in an S3-compatible store of objects."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import unquote

from sfumato.expectations.shared.errors import SpecError
from sfumato.tasks.microdata.notation.address import resolve
from sfumato.tasks.microdata.object_store import connect_store, is_not_shown, store_error
from sfumato.tasks.verification.elsewhere.place import PIECE

_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")


class StoreDirectory:
    """The objects below a key.

    Without keys in the environment, requests are anonymous: many releases are public.
    """

    def __init__(self, address: str, environ: Mapping[str, str]) -> None:
        """Take an address s3://bucket/key; nothing is asked yet.

        Raises:
            SpecError: where it is none.
            InputError: where the store's endpoint is none.
        """
        self._address = address
        place = unquote(resolve(address, environ)[len("s3://") :]).rstrip("/")
        bucket, _, key = place.partition("/")
        if not bucket or not key or "@" in bucket or ":" in bucket or "" in key.split("/"):
            raise SpecError(f"{address}: must have the form s3://bucket/key")
        self._place = place
        anonymous = not any(environ.get(name) for name in _KEYS)
        self._store = connect_store(address, environ, anonymous=anonymous)

    @contextmanager
    def pieces(self, name: str) -> Iterator[Iterator[bytes] | None]:
        """Yield the bytes of an object, piece by piece, or None if there is no such object.

        Raises:
            InputError: where the store refuses.
            TransientFault: where it cannot be reached, or breaks off.
        """
        try:
            stream = self._store.open_input_stream(f"{self._place}/{name}", compression=None)
        except OSError as error:
            if not is_not_shown(error):
                raise store_error(error, f"{self._address}/{name}") from None
            yield None
            return
        with stream:
            yield self._read(stream, name)

    def _read(self, stream: object, name: str) -> Iterator[bytes]:
        try:
            while piece := stream.read(PIECE):  # type: ignore[attr-defined] # PyArrow is untyped
                yield piece
        except OSError as error:
            raise store_error(error, f"{self._address}/{name}") from None
