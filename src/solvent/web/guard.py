"""Who may ask: only the page itself, by a name that is its own.

A page of somebody else, open in the same browser, must neither read runs nor change anything. Its own name may be made
to point to this machine (DNS rebinding), so requests by a name that is not ours are refused; and what changes something
is taken only from our own page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse

from solvent.runs.observing.hosts import is_own_name

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_READING = frozenset({"GET", "HEAD"})
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


class Guard:
    """Stands before the page: refuses who is not to ask, and tells browsers to run nothing but our own scripts."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str] = frozenset()) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-cache")
            await send(message)

        headers = Headers(scope=scope)
        refusal = self._refusal(scope["method"], headers)
        if refusal:
            await JSONResponse({"error": refusal}, status_code=403)(scope, receive, guarded)
        else:
            await self._app(scope, receive, guarded)

    def _refusal(self, method: str, headers: Headers) -> str:
        """Say why a request is refused, if it is."""
        host = headers.get("host", "")
        if not self.is_ours(host):
            return f"this page is not called `{host[:100]}`"
        if headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"} and method not in _READING:
            return "only the page itself may change something"
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            return "only the page itself may ask"
        return ""

    def is_ours(self, host: str) -> bool:
        """Tell whether a request may come by this name: an address, which no name server gives out, or one of ours."""
        return is_own_name(host, self._hosts)


__all__ = ["HEADERS", "Guard"]
