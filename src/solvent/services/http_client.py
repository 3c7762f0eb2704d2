"""The HTTP client of `solvent.services.http`: requests that another thread can end. It needs urllib3.

urllib3 blocks, so each request has a thread of its own. A thread cannot be ended, but its connection can: `Request.cut`
shuts the connection down, and the thread gets an error. urllib3 takes connections from a pool and returns them without
a notice, hence each connection records which request it serves. A request only cuts a connection that still serves it,
and a connection that was cut is opened again by the next request.

Redirects are followed here and not by urllib3, which would send a POST again after 301 and 302 where browsers do not.
"""

from __future__ import annotations

import http.client
import socket
import threading
from base64 import b64encode
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urljoin
from urllib.request import getproxies, proxy_bypass

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError, DecodeError, HTTPError, LocationValueError
from urllib3.util import Timeout, parse_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from urllib3 import BaseHTTPResponse
    from urllib3.util import Url

CONNECT_SECONDS = 30.0
MAX_CONNECTIONS = 256
MAX_REDIRECTS = 20
_MAX_HOSTS = 64
_CHUNK_BYTES = 64 * 1024
_MAX_CAUSES = 10
_PORTS = {"http": 80, "https": 443}
# Whether a connection serves a request, and whether it was cut, changes under it.
_lock = threading.Lock()
_serving = threading.local()


class BadAddress(Exception):
    """No request can be sent to this address; the text does not quote it."""


class NoAnswer(Exception):
    """The request could not be sent, or not all of the answer came; the text names no address."""


class Answer(NamedTuple):
    """An answer, read to its end."""

    status: int
    reason: str
    headers: Any
    data: bytes


class Request:
    """A request of a thread, which another thread may cut off."""

    def __init__(self) -> None:
        self._is_cut = False
        self._connection: _Connection | None = None
        # A connection forgets its socket when the answer says that it is the last one; the answer still reads from it.
        self._line: Any = None

    def serve(self, connection: _Connection) -> None:
        """Record that a connection is about to serve this request."""
        with _lock:
            if self._is_cut:
                raise NoAnswer("the request was cut off")
            if connection.was_cut:
                connection.close()
                connection.was_cut = False
            connection.request_served = self
            self._connection = connection
            self._line = connection.sock

    def cut(self) -> None:
        """End the request; one that resolves a name or connects ends after that."""
        with _lock:
            self._is_cut = True
            connection = self._connection
            if connection is None or connection.request_served is not self:
                return
            connection.was_cut = True
            found: Any = connection.sock or self._line
            # TLS within TLS is not a socket, but has one.
            line = found if isinstance(found, socket.socket) else getattr(found, "socket", None)
            if line is not None:
                with suppress(OSError):
                    # Not its own method: that of TLS would make the other thread read encrypted bytes.
                    socket.socket.shutdown(line, socket.SHUT_RDWR)


class _Connection(HTTPConnection):
    """A connection that knows which request it serves."""

    request_served: Request | None = None
    was_cut = False

    def connect(self) -> None:
        """Connect, on behalf of the request of this thread."""
        _serving.request.serve(self)
        super().connect()
        # It may have been cut before there was a socket.
        _serving.request.serve(self)

    def request(self, *arguments: Any, **keywords: Any) -> None:
        """Send a request; only connecting has a time limit."""
        _serving.request.serve(self)
        if self.sock is None:
            # It records the socket, too.
            self.connect()
        self.timeout = None
        super().request(*arguments, **keywords)


class _SecureConnection(_Connection, HTTPSConnection):
    """The same, over TLS."""


class _Pool(urllib3.HTTPConnectionPool):
    ConnectionCls = _Connection


class _SecurePool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _SecureConnection


class Client:
    """The connections that all requests of a caller share."""

    def __init__(self) -> None:
        self._managers: dict[str, urllib3.PoolManager] = {}

    def ask(
        self,
        request: Request,
        method: str,
        address: str,
        *,
        headers: dict[str, str],
        body: bytes | None,
        max_bytes: int,
        on_data: Callable[[], None],
    ) -> Answer | None:
        """Send a request and return the answer; `None` if it has more than `max_bytes` bytes.

        `on_data` is called whenever a part of the answer arrives.
        """
        _serving.request = request
        url = _url_of(address)
        headers = {**_usual_headers(), **{name.lower(): value for name, value in headers.items()}}
        if url.auth is not None:
            headers["authorization"] = _basic(url.auth)
        for _ in range(MAX_REDIRECTS + 1):
            response = self._send(method, url, headers, body)
            try:
                location = response.get_redirect_location()
                if not location:
                    return _read(response, max_bytes, on_data)
                target = _url_of(urljoin(str(url._replace(auth=None)), location))
                if (response.length_remaining or 0) <= _CHUNK_BYTES:
                    # Read to its end, so that the connection can serve the next request.
                    response.read(_CHUNK_BYTES, decode_content=False)
            except BadAddress as error:
                raise NoAnswer(f"it redirected to an invalid address: {error}") from None
            except HTTPError as error:
                raise NoAnswer(_cause_of(error)) from None
            finally:
                # A connection whose answer was read to its end is back in the pool by now, and stays open.
                response.close()
            method, headers, body = _redirected(response.status, url, target, method=method, headers=headers, body=body)
            url = target
        raise NoAnswer(f"it redirected more than {MAX_REDIRECTS} times")

    def close(self) -> None:
        """Close unused connections."""
        for manager in list(self._managers.values()):
            manager.clear()

    def _send(self, method: str, url: Url, headers: dict[str, str], body: bytes | None) -> BaseHTTPResponse:
        """Send a request and return the answer, still unread."""
        try:
            return self._manager_for(url).urlopen(
                method,
                str(url._replace(auth=None, fragment=None)),
                body=body,
                headers=headers,
                redirect=False,
                # A call that fails is repeated by its policy.
                retries=False,
                preload_content=False,
                # The policy limits the time; only a host that does not accept the connection is given up here.
                timeout=Timeout(connect=CONNECT_SECONDS, read=None),
            )
        except LocationValueError as error:
            raise BadAddress(type(error).__name__) from None
        except HTTPError as error:
            raise NoAnswer(_cause_of(error)) from None
        except ValueError:
            # The text of the error contains the header, which may be secret.
            raise NoAnswer("its method or a header has characters that HTTP does not allow") from None

    def _manager_for(self, url: Url) -> urllib3.PoolManager:
        """Return the pool for a host: direct, or through the proxy that the environment names."""
        proxy = _proxy_for(url)
        with _lock:
            if proxy not in self._managers:
                self._managers[proxy] = _manager(proxy)
            return self._managers[proxy]


def _manager(proxy: str) -> urllib3.PoolManager:
    options: dict[str, Any] = {"num_pools": _MAX_HOSTS, "maxsize": MAX_CONNECTIONS}
    manager: urllib3.PoolManager
    if proxy:
        url = parse_url(proxy)
        headers = {} if url.auth is None else {"proxy-authorization": _basic(url.auth)}
        manager = urllib3.ProxyManager(str(url._replace(auth=None)), proxy_headers=headers, **options)
    else:
        manager = urllib3.PoolManager(**options)
    manager.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}
    return manager


def _proxy_for(url: Url) -> str:
    """Return the address of the proxy that the environment names for a host, or an empty text."""
    found = getproxies()
    proxy = found.get(url.scheme or "") or found.get("all", "")
    if not proxy or proxy_bypass(url.host or ""):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def _url_of(address: str) -> Url:
    try:
        url = parse_url(address)
    except (LocationValueError, UnicodeError):
        # Where the host of such an address begins is unknown, so the error quotes none of it.
        raise BadAddress("it cannot be parsed") from None
    if url.scheme not in _PORTS:
        raise BadAddress("it begins neither with http:// nor with https://")
    if not url.host:
        raise BadAddress("it names no host")
    return url


def _usual_headers() -> dict[str, str]:
    made = urllib3.util.make_headers(accept_encoding=True, keep_alive=True)
    return {"accept": "*/*", "user-agent": "solvent", **made}


def _basic(auth: str) -> str:
    name, _, password = auth.partition(":")
    return "Basic " + b64encode(f"{unquote(name)}:{unquote(password)}".encode()).decode()


def _redirected(
    status: int, url: Url, target: Url, *, method: str, headers: dict[str, str], body: bytes | None
) -> tuple[str, dict[str, str], bytes | None]:
    """Return method, headers and body for a redirection, as browsers do (RFC 9110, 15.4)."""
    headers = {name: value for name, value in headers.items() if name not in {"cookie", "host"}}
    if _origin(target) != _origin(url) and not _is_upgrade(url, target):
        # Another host must not get the password.
        headers.pop("authorization", None)
    if method != "HEAD" and (status in {302, 303} or (status == 301 and method == "POST")):
        return "GET", {name: value for name, value in headers.items() if not name.startswith("content-")}, None
    return method, headers, body


def _origin(url: Url) -> tuple[str | None, str | None, int | None]:
    return url.scheme, url.host, url.port or _PORTS[url.scheme or "http"]


def _is_upgrade(url: Url, target: Url) -> bool:
    return _origin(url) == ("http", target.host, 80) and _origin(target) == ("https", url.host, 443)


def _read(response: BaseHTTPResponse, max_bytes: int, on_data: Callable[[], None]) -> Answer | None:
    data = bytearray()
    for chunk in _chunks(response):
        on_data()
        data += chunk
        if len(data) > max_bytes:
            return None
    return Answer(response.status, response.reason or "", response.headers, bytes(data))


def _chunks(response: BaseHTTPResponse) -> Iterator[bytes]:
    """Yield parts of the answer as they arrive, decompressed; at most one chunk is in memory."""
    while chunk := response.read1(_CHUNK_BYTES, decode_content=True):
        yield chunk


def _cause_of(error: BaseException) -> str:
    """Return why a request failed, by the innermost error: the texts of urllib3 quote the address."""
    if isinstance(error, DecodeError):
        return "its answer cannot be decompressed"
    for _ in range(_MAX_CAUSES):
        inner = next((one for one in (error.__cause__, *error.args) if isinstance(one, Exception)), None)
        if inner is None:
            break
        error = inner
    if isinstance(error, ConnectTimeoutError) or (isinstance(error, TimeoutError) and error.errno is None):
        # Only connecting has a time limit here.
        return f"no connection after {CONNECT_SECONDS:g} s"
    if isinstance(error, OSError | http.client.IncompleteRead | http.client.RemoteDisconnected):
        return str(error) or type(error).__name__
    return type(error).__name__


__all__ = ["MAX_CONNECTIONS", "Answer", "BadAddress", "Client", "NoAnswer", "Request"]
