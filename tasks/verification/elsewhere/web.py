"""A directory on the web: https, or http from this machine itself."""

import http.client
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any
from urllib.parse import quote, urlsplit

from sfumato.expectations.shared.errors import InputError, SpecError, TransientFault
from sfumato.tasks.verification.elsewhere.place import PIECE

_PATIENCE = 30.0  # seconds without an answer
_MISSING = (403, 404, 410)  # stores that list nothing report a missing file as forbidden
_HERE = ("localhost", "127.0.0.1", "::1")
_REFUSED = range(300, 500)  # including redirects without end


class WebDirectory:
    """The files below an address."""

    def __init__(self, address: str, _environ: Mapping[str, str]) -> None:
        """Take an address; nothing is asked yet.

        Raises:
            SpecError: where it is none that others could not change on the way.
        """
        _require_safe(address, address)
        parts = urlsplit(address)
        if parts.query or parts.fragment or parts.username is not None:
            raise SpecError(
                f"{_without_secrets(address)}: must be the plain address of a "
                "directory, without login, ? and #"
            )
        self._address = address.rstrip("/")
        self._opener = _opener()

    @contextmanager
    def pieces(self, name: str) -> Iterator[Iterator[bytes] | None]:
        """Yield the bytes of a file, piece by piece, or None if there is no such file.

        Raises:
            InputError: where the server refuses.
            TransientFault: where it cannot be reached, or breaks off.
        """
        address = f"{self._address}/{quote(name)}"
        try:
            with self._opener.open(address, timeout=_PATIENCE) as response:
                yield iter(lambda: response.read(PIECE), b"")
        except urllib.error.HTTPError as error:
            error.close()
            if error.code not in _MISSING:
                raise _refusal(address, error.code) from None
            yield None
        except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError):
            raise TransientFault(
                f"{address}: cannot be reached, or the connection broke. Try again later"
            ) from None


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    """A handler that follows redirects only where nobody could change what is sent."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        try:
            _require_safe(newurl, req.full_url)
            if _is_here(newurl) and not _is_here(req.full_url):
                raise SpecError(
                    f"{_without_secrets(req.full_url)}: redirects to this machine "
                    "itself, which is refused"
                )
        except SpecError:
            fp.close()
            raise
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener() -> urllib.request.OpenerDirector:
    """Return an opener of web addresses only: of no files or other kinds of address."""
    opener = urllib.request.OpenerDirector()
    handlers: list[Any] = [
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        _SafeRedirects(),
    ]
    for handler in handlers:
        opener.add_handler(handler)
    opener.addheaders = [("User-Agent", "sfumato"), ("Accept-Encoding", "identity")]
    return opener


def _is_here(address: str) -> bool:
    return urlsplit(address).hostname in _HERE


def _require_safe(address: str, original: str) -> None:
    parts = urlsplit(address)
    if parts.scheme != "https" and not (parts.scheme == "http" and _is_here(address)):
        raise SpecError(
            f"{_without_secrets(original)}: http is refused, because others can change "
            "its content on the way. Use https"
        )


def _without_secrets(address: str) -> str:
    """Return the address without parts that may be secret."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.hostname or ''}{parts.path}"


def _refusal(address: str, status: int) -> InputError | TransientFault:
    if status in _REFUSED and status not in (408, 429):
        return InputError(
            f"{address}: the server refuses access (status {status}). Check the address"
        )
    return TransientFault(
        f"{address}: the server cannot answer now (status {status}). Try again later"
    )
