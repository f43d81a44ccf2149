"""The door of the workbench: who gets in, and what every answer forbids browsers to do.

Cookies do not know ports: a browser sends a cookie of one loopback server to every other one. So
the cookie's path is secret, and no other server learns either of them. Every request must name this
very host, which refuses names that are made to point here, and a page of another origin gets no
answer. All refusals look alike, so that nobody learns of the secret path by trying.
"""

import hmac
import secrets
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = "127.0.0.1"
ENTRANCE = "/enter"
_COOKIE = "sfumato-workbench"
_SAFE_METHODS = ("GET", "HEAD")
_OWN_SITE = "same-origin"
_BYTES = 32  # of each secret
_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS: Mapping[str, str] = {
    "cache-control": "no-store",
    "content-security-policy": _POLICY,
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
"""What every answer has; an answer that has one of them already keeps its own."""
_ENTER = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>PRIVATE: Sfumato workbench</title>
<link rel="icon" href="data:,"><meta http-equiv="refresh" content="0; url={place}"></head>
<body><p><a href="{place}">Open the workbench</a></p></body></html>
"""


class Keys:
    """The secrets of one run of the server.

    Attributes:
        place: the path below which everything is, `/` and 43 letters.
        beginning: the page below it that a browser sees first.
    """

    def __init__(self, beginning: str = "") -> None:
        """Draw the secrets; `beginning` is the page that a browser sees first."""
        self._token: str | None = secrets.token_urlsafe(_BYTES)
        self._cookie = secrets.token_urlsafe(_BYTES)
        self.place = f"/{secrets.token_urlsafe(_BYTES)}"
        self.beginning = beginning

    @property
    def entrance(self) -> str:
        """The path and query that let a browser in once; nobody gets in by it afterwards."""
        return f"{ENTRANCE}?token={self._token or ''}"

    @property
    def is_used(self) -> bool:
        """True if a browser has entered."""
        return self._token is None

    def use_token(self, token: str) -> bool:
        """Return True for the token, once."""
        if self._token is None or not hmac.compare_digest(token.encode(), self._token.encode()):
            return False
        self._token = None
        return True

    def has_cookie(self, header: str) -> bool:
        """Return True if a header of cookies has the cookie of this run.

        Other servers of this machine may set cookies of the same name, which browsers send as well.
        """
        own = f"{_COOKIE}={self._cookie}".encode()
        return any(hmac.compare_digest(part.strip().encode(), own) for part in header.split(";"))

    @property
    def cookie(self) -> str:
        """The header that sets the cookie, for the secret path alone."""
        parts = (f"{_COOKIE}={self._cookie}", f"Path={self.place}/", "HttpOnly", "SameSite=Strict")
        return "; ".join(parts)


class Guard:
    """The application behind its door."""

    def __init__(self, application: ASGIApp, keys: Keys, port: int) -> None:
        """Take the application, the secrets of this run, and the port that requests must name."""
        self._application, self._keys = application, keys
        self._host = f"{LOOPBACK}:{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it; nothing but HTTP is spoken."""
        if scope["type"] == "lifespan":
            await self._application(scope, receive, send)
        elif scope["type"] == "http":
            answer = self._refuse(scope) or self._enter(scope)
            await (answer or self._admit(scope))(scope, receive, _with_headers(send))

    def _refuse(self, scope: Scope) -> Response | None:
        """Return a refusal for a request that no page of ours makes, or None."""
        if any(fault for fault in self._faults(scope, Headers(scope=scope))):
            return PlainTextResponse("This request is not allowed here.\n", 403)
        return None

    def _faults(self, scope: Scope, headers: Headers) -> Iterator[bool]:
        """Yield True for each sign of a request from elsewhere."""
        own, safe = f"http://{self._host}", scope["method"] in _SAFE_METHODS
        origins, sites = headers.getlist("origin"), headers.getlist("sec-fetch-site")
        yield headers.getlist("host") != [self._host]
        yield len(origins) > 1 or len(sites) > 1
        # Under no-referrer, browsers write null as the origin of forms; the site cannot be forged.
        yield bool(origins) and origins != [own] and not (origins == ["null"] and _is_own(sites))
        yield not safe and origins != [own] and not _is_own(sites)
        entering = scope["path"] == ENTRANCE and safe  # from a file, which is another site
        yield bool(sites) and not entering and sites[0] not in (_OWN_SITE, *(["none"] * safe))

    def _enter(self, scope: Scope) -> Response | None:
        """Return the page that lets a browser in if it has the token, or None elsewhere.

        It is a page and no redirection: a browser that comes from a file would send no strict
        cookie along a redirection.
        """
        if scope["path"] != ENTRANCE or scope["method"] != "GET":
            return None
        token = parse_qs(scope["query_string"].decode("ascii", "replace")).get("token", [""])[0]
        if not self._keys.use_token(token):
            return _refusal()
        headers = {"set-cookie": self._keys.cookie}
        place = escape(f"{self._keys.place}/{self._keys.beginning}", quote=True)
        return HTMLResponse(_ENTER.format(place=place), headers=headers)

    def _admit(self, scope: Scope) -> ASGIApp:
        """Return the application for a request with the path and the cookie, or a refusal."""
        cookies = "; ".join(Headers(scope=scope).getlist("cookie"))
        first = f"/{scope['path'].split('/')[1]}" if "/" in scope["path"] else ""
        is_placed = hmac.compare_digest(first.encode(), self._keys.place.encode())
        if self._keys.has_cookie(cookies) and is_placed:
            return self._application
        return _refusal()


def _is_own(sites: list[str]) -> bool:
    return sites == [_OWN_SITE]


def _refusal() -> Response:
    """Return the refusal of everyone who has not entered."""
    text = "Closed. Type `sfumato workbench` in a terminal, which opens a browser that is let in.\n"
    return PlainTextResponse(text, 404)


def _with_headers(send: Send) -> Send:
    """Return a sender that adds the headers of every answer."""

    async def send_safely(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers: Any = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return send_safely
