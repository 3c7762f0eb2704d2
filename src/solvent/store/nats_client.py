"""Connections to NATS servers: the address of a store, the messages of the protocol, and one connection at a time.

*Address.*

    nats://host:port[,host:port...][/NAME][?replicas=3&durable=yes&ca=FILE&cert=FILE&key=FILE&creds=FILE]
    tls://user:password@host:port                        nats://token@host:port

`NAME` distinguishes several stores of the same servers. `tls://`, or any of `ca`, `cert` and `key`, means that nothing
is sent to a server that does not prove its identity. Secrets appear neither in `repr` nor in `shown`, and no error
quotes more of a URL than its servers and the names of its options.

*Messages*, byte by byte. The library creates a task, a queue and several copies for each message. Appends and answers
are small and come in hundreds, so those of an inbox are taken out of the incoming bytes before the library sees them,
and handed on at once; headers are parsed only when they are read. Everything else that a server sends (pings, errors,
addresses of other servers) is left to the library.

*Connections.* A client never reconnects by itself (see `nats_link`). One that must use TLS sends nothing, not even its
user, to a server that does not offer it: the library would continue unencrypted.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import re
import ssl
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias
from urllib.parse import parse_qsl, unquote

from nats.aio.client import Client
from nats.errors import ConnectionClosedError
from nats.errors import Error as NatsError

from solvent.errors import StoreError, install_hint

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PORT = 4222
NAME = "solvent"
MAX_REPLICAS = 5

_STORE_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_HOST = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(?::(?P<port>[0-9]{1,5}))?")
_OPTIONS = ("replicas", "durable", "ca", "cert", "key", "creds")
_EXAMPLE = "for example `nats://127.0.0.1:4222`, or `tls://host1:4222,host2:4222/NAME?replicas=3`"
_YES = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


@dataclass(frozen=True, kw_only=True)
class Address:
    """The parts of a store's URL."""

    servers: tuple[str, ...]
    """`host:port` each."""
    name: str = NAME
    replicas: int | None = None
    """How many servers keep each record; `None`: as the store was created, and one for a new store."""
    is_durable: bool | None = None
    is_tls: bool = False
    ca: str = ""
    cert: str = ""
    key: str = field(default="", repr=False)
    creds: str = field(default="", repr=False)
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)

    @property
    def shown(self) -> str:
        """Return the URL without anything secret."""
        scheme = "tls" if self.is_tls else "nats"
        options = [f"replicas={self.replicas}"] if self.replicas is not None else []
        if self.is_durable is not None:
            options.append(f"durable={'yes' if self.is_durable else 'no'}")
        more = f"?{'&'.join(options)}" if options else ""
        return f"{scheme}://{','.join(self.servers)}/{self.name}{more}"

    def tls_context(self) -> ssl.SSLContext | None:
        """Return the TLS context, if the connection uses TLS; raise `StoreError` E401 for unusable files."""
        if not self.is_tls:
            return None
        if bool(self.cert) != bool(self.key):
            raise StoreError("E401", "`cert` and `key` must be given together", hint="`?ca=FILE&cert=FILE&key=FILE`")
        for what, path in (("ca", self.ca), ("cert", self.cert), ("key", self.key)):
            if path and not os.access(path, os.R_OK):
                raise StoreError("E401", f"the file for TLS ({what}) cannot be read: {path}")
        try:
            context = ssl.create_default_context(cafile=self.ca or None)
            if self.cert:
                context.load_cert_chain(self.cert, self.key)
        except (OSError, ssl.SSLError) as error:
            said = f"the files for TLS (ca, cert, key) cannot be used: {error.strerror or type(error).__name__}"
            raise StoreError("E401", said, hint="they are PEM files; the key must not need a password") from None
        return context


def read_address(url: str) -> Address:
    """Parse a URL; raise `StoreError` E401 if it is invalid."""
    scheme, _, rest = url.partition("://")
    scheme = scheme.lower()
    if scheme not in ("nats", "tls"):
        _wrong(f"`{scheme}://` is not a scheme for NATS servers")
    rest, _, query = rest.partition("?")
    options = _options(query)
    rest, _, name = rest.partition("/")
    secret, at, hosts = rest.rpartition("@")
    if name and not _STORE_NAME.fullmatch(name):
        _wrong("the name of the store, after the `/`, consists of at most 64 letters, digits, _ and -")
    user, colon, password = secret.partition(":")
    if at and not secret:
        _wrong("user or token is missing before the `@`")
    return Address(
        servers=tuple(_server(host) for host in hosts.split(",")),
        name=name or NAME,
        replicas=_replicas(options.get("replicas")),
        is_durable=_is_durable(options.get("durable")),
        is_tls=scheme == "tls" or any(options.get(one) for one in ("ca", "cert", "key")),
        ca=options.get("ca", ""),
        cert=options.get("cert", ""),
        key=options.get("key", ""),
        creds=_creds(options.get("creds", "")),
        user=unquote(user) if colon else "",
        password=unquote(password),
        token="" if colon else unquote(user),
    )


def _options(query: str) -> dict[str, str]:
    options = dict(parse_qsl(query, keep_blank_values=True))
    for option in options:
        if option not in _OPTIONS:
            # It may be a misplaced secret: only a plain word is quoted.
            shown = f"there is no option `{option}`" if option.isalpha() and len(option) <= 20 else "unknown option"
            _wrong(f"{shown}; options are {', '.join(_OPTIONS)}")
    return options


def _server(text: str) -> str:
    found = _HOST.fullmatch(text)
    if found is None:
        _wrong("a server is `host:port`, and several are separated by commas")
    port = int(found["port"] or PORT)
    if not 0 < port < 65536:
        _wrong("a port must be between 1 and 65535")
    return f"{found['host']}:{port}"


def _replicas(text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isdecimal() or not 1 <= int(text) <= MAX_REPLICAS:
        _wrong(f"`replicas` must be a number from 1 to {MAX_REPLICAS}")
    return int(text)


def _is_durable(text: str | None) -> bool | None:
    if text is None:
        return None
    if text not in _YES:
        _wrong("`durable` must be `yes` or `no`")
    return _YES[text]


def _creds(path: str) -> str:
    if path and not Path(path).is_file():
        raise StoreError("E401", "the credentials file that `creds` names does not exist")
    return path


def _wrong(said: str) -> NoReturn:
    raise StoreError("E401", f"the address of the store is invalid: {said}", hint=_EXAMPLE)


# --- Messages.

_END = b"\r\n"
_VERSION = "NATS/1.0"
_MESSAGE, _WITH_HEADERS = ord("M"), ord("H")


class Answer:
    """A received message."""

    __slots__ = ("_head", "_headers", "data", "subject")

    def __init__(self, subject: bytes, head: bytes, data: bytes) -> None:
        self.subject = subject
        self.data = data
        self._head = head
        self._headers: dict[str, str] | None = None

    @property
    def headers(self) -> dict[str, str]:
        """Its headers; `Status` is the status that the server gave it, if any."""
        if self._headers is None:
            self._headers = headers_from(self._head)
        return self._headers

    @property
    def status(self) -> str:
        """The status that the server gave it; mostly empty."""
        # "NATS/1.0 503", and further words or not; or the end of the line.
        return self._head[9:12].decode() if self._head[8:9] == b" " else ""


Heard: TypeAlias = "Callable[[Answer], None]"
"""Called with each message of a subscription; must not raise."""


def headers_from(raw: bytes) -> dict[str, str]:
    """Parse headers, skipping lines that are none."""
    first, *lines = raw.decode("utf-8", "replace").split("\r\n")
    found = {name: value.strip() for name, _, value in (line.partition(":") for line in lines) if name}
    status = first[len(_VERSION) :].split(maxsplit=1)
    return found | {"Status": status[0]} if status else found


def message(subject: str, data: bytes, *, reply: str = "", headers: Mapping[str, str] | None = None) -> bytes:
    """Return the bytes that publish a message."""
    to = f"{subject} {reply}" if reply else subject
    if not headers:
        return b"PUB %b %d\r\n%b\r\n" % (to.encode(), len(data), data)
    lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
    head = f"{_VERSION}\r\n{lines}\r\n".encode()
    return b"HPUB %b %d %d\r\n%b%b\r\n" % (to.encode(), len(head), len(head) + len(data), head, data)


class Wire(asyncio.Protocol):
    """A filter between a connection and the library that takes out the messages of registered subscriptions."""

    def __init__(self, library: asyncio.Protocol, *, is_protected: bool = False) -> None:
        self._is_protected = is_protected
        self.heard: dict[bytes, Heard] = {}
        """The function for each subscription, by its number."""
        self._library = library
        self._rest = bytearray()
        #: How many bytes the incomplete message at the beginning of `_rest` needs.
        self._needed = 0
        self._is_nonsense = False

    def data_received(self, data: bytes) -> None:
        """Take received bytes and hand on complete messages."""
        if self._rest:
            self._rest += data
            if len(self._rest) < self._needed:
                return
            data, self._rest = bytes(self._rest), bytearray()
        at = self._needed = 0
        try:
            while not self._is_nonsense and (line_end := data.find(_END, at)) >= 0:
                end = self._take(data, at, line_end)
                if not end:
                    break
                at = end
        except (ValueError, IndexError):
            # The library reports it, and ends the connection.
            self._is_nonsense = True
        if self._is_nonsense:
            self._library.data_received(data[at:])
        elif at < len(data):
            self._rest += memoryview(data)[at:]

    def _take(self, data: bytes, at: int, line_end: int) -> int:
        """Hand on the message that begins here and return where it ends; 0 if it is incomplete."""
        kind, begin = data[at], line_end + 2
        if kind not in (_MESSAGE, _WITH_HEADERS):
            self._library.data_received(data[at:begin])
            return begin
        # MSG subject number [reply] size; HMSG subject number [reply] size-of-headers size
        words = data[at:line_end].split()
        end = begin + int(words[-1])
        if len(data) < end + 2:
            self._needed = end + 2 - at
            return 0
        heard = self.heard.get(words[2])
        if heard is None:
            self._library.data_received(data[at : end + 2])
        else:
            body = begin + int(words[-2]) if kind == _WITH_HEADERS else begin
            heard(Answer(words[1], data[begin:body], data[body:end]))
        return end + 2

    def eof_received(self) -> bool | None:
        """Pass it on to the library; a TLS connection cannot be kept half open, and the loop would complain."""
        may_stay = self._library.eof_received()
        return None if self._is_protected else may_stay

    def connection_lost(self, problem: Exception | None) -> None:
        """Pass it on to the library."""
        self._library.connection_lost(problem)

    def pause_writing(self) -> None:
        """Pass it on to the library."""
        self._library.pause_writing()

    def resume_writing(self) -> None:
        """Pass it on to the library."""
        self._library.resume_writing()


# --- Connections.

_CONNECT_S = 2
_PING_S = 2
_MAX_PINGS = 2
_LOOK_S = 0.5
_PAUSE_S = 0.05
_MAX_PAUSE_S = 1.0
_CONNECTION = (NatsError, OSError, TimeoutError)
# Without a handler Python writes the tracebacks of the library to standard error. Programs that log still get them.
logging.getLogger("nats").addHandler(logging.NullHandler())


class _Unprotected(NatsError):
    """A server does not offer the TLS that the address requires."""


class OneClient(Client):
    """A client that insists on TLS where required, and has a short path for many messages."""

    def __init__(self, *, must_be_protected: bool) -> None:
        super().__init__()
        self.must_be_protected = must_be_protected
        self.gone = asyncio.Event()
        self.problem: Exception | None = None
        self._wire: Wire | None = None

    async def take_out(self) -> None:
        """Take out the messages of `hear` before the library sees them, from now on."""
        streams: Any = self._transport
        while streams._io_reader._buffer or self._ps.buf:  # noqa: ASYNC110, SLF001 - it tells nobody
            # The library has read a part of something, and must get the rest of it.
            await asyncio.sleep(_PAUSE_S / 10)
        transport = streams._io_writer.transport  # noqa: SLF001
        self._wire = Wire(transport.get_protocol(), is_protected=transport.get_extra_info("sslcontext") is not None)
        transport.set_protocol(self._wire)

    def say(self, data: bytes) -> None:
        """Send bytes as they are."""
        # Questions on a lost connection are asked again on the next one.
        if self.is_connected and self._transport:
            self._transport.write(data)

    def hear(self, subject: str, heard: Heard) -> int:
        """Subscribe a function to a subject and return the number of the subscription."""
        if not self.is_connected or self._wire is None:
            raise ConnectionClosedError
        self._sid += 1
        self._wire.heard[b"%d" % self._sid] = heard
        self.say(f"SUB {subject} {self._sid}\r\n".encode())
        return self._sid

    def stop_hearing(self, number: int) -> None:
        """Cancel a subscription."""
        if self._wire is not None and self._wire.heard.pop(b"%d" % number, None) is not None:
            self.say(b"UNSUB %d\r\n" % number)

    async def drained(self) -> None:
        """Wait until most of what was written is sent."""
        if self.is_connected and self._transport:
            await self._transport.drain()  # type: ignore[no-untyped-call] # the library has no types here

    async def hear_of_end(self) -> None:
        """Note that the connection has ended."""
        self.gone.set()

    async def hear_of_problem(self, problem: Exception) -> None:
        """Keep an error, which the library would only log, for the message of a failed connection."""
        self.problem = problem

    async def settle(self) -> None:
        """Wait until the server has read everything that was sent to it."""
        # The library's ping overtakes what is in its buffer, subscriptions for example; the second one does not.
        for _ in range(2):
            await self.flush(timeout=2 * _CONNECT_S)

    def offers(self, what: str) -> bool:
        """Return whether the server has announced a feature."""
        return bool(self._server_info.get(what))

    def _connect_command(self) -> bytes:
        # Called when it is known whether the connection uses TLS, and before anything about the user is sent.
        if self.must_be_protected and not self.offers("tls_required"):
            raise _Unprotected
        return super()._connect_command()


_SHOWN = "`?ca=FILE&cert=FILE&key=FILE` in the URL"
_HINT = "`solvent store serve` starts a server on this machine"


def _refusal(why: str) -> tuple[str, str] | None:
    """Return what is wrong with certificates, by the message of the TLS library, and a hint; `None` if nothing is."""
    if "CERTIFICATE_VERIFY_FAILED" in why:
        reason = why.rpartition("failed: ")[2].partition(" (_ssl")[0]
        return f"has a certificate that is not trusted: {reason}", "name the authority to trust: `?ca=FILE`"
    if "CERTIFICATE_REQUIRED" in why:
        return "requires a client certificate", _SHOWN
    if "ALERT" in why and "SSL" in why:
        return "refuses the client certificate", "it must be signed by the authority that the server trusts"
    return None


class Servers:
    """The known servers, and how to connect to one of them."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._tls = address.tls_context()
        self._known = list(address.servers)
        self._why = ""
        self.max_payload_bytes = 1 << 20
        self.keeps_nothing = False
        """Whether the server is a single one without JetStream."""

    @property
    def shown(self) -> str:
        """The servers as the user named them."""
        return ", ".join(self._address.servers)

    async def first(self, seconds: float) -> OneClient:
        """Connect for the first time; raise `StoreError` if no server can be reached, or refuses access."""
        try:
            return await asyncio.wait_for(self.any(is_first=True), seconds)
        except TimeoutError:
            why = f": {self._why}" if self._why else ""
            # A server may close the connection before its reason arrives.
            is_cut = self._tls is not None and "Reset" in why
            hint = f"it may require a client certificate, or not trust it: {_SHOWN}" if is_cut else _HINT
            raise StoreError("E402", f"no NATS server can be reached at {self.shown}{why}", hint=hint) from None

    async def any(self, *, is_first: bool = False) -> OneClient:
        """Connect to one of the servers; repeat until it succeeds."""
        pause_s = _PAUSE_S
        while True:
            for server in random.sample(self._known, len(self._known)):
                client = await self._connected(server, is_first=is_first)
                if client is not None:
                    return client
            await asyncio.sleep(pause_s * random.uniform(0.5, 1.0))
            pause_s = min(2 * pause_s, _MAX_PAUSE_S)

    async def drop(self, client: OneClient) -> None:
        """Close a client, whatever state it is in."""
        with suppress(Exception):
            await asyncio.wait_for(client.close(), 2)

    async def until_lost(self, client: OneClient) -> None:
        """Wait until a connection is lost."""
        while client.is_connected and not client.gone.is_set():
            # Checked as well: a client that fails while it closes does not call back.
            with suppress(TimeoutError):
                await asyncio.wait_for(client.gone.wait(), _LOOK_S)

    async def _connected(self, server: str, *, is_first: bool) -> OneClient | None:
        client = OneClient(must_be_protected=self._tls is not None)
        try:
            how = self._how(server)
            connecting = client.connect(**how, closed_cb=client.hear_of_end, error_cb=client.hear_of_problem)
            await asyncio.wait_for(connecting, 2 * _CONNECT_S)
            await asyncio.wait_for(client.take_out(), _CONNECT_S)
            self._learn(client)
        except _Unprotected:
            self._why = "it offers no TLS"
            if is_first:
                await self.drop(client)
                hint = "use `nats://`, or give the server a certificate"
                raise StoreError("E401", f"the server {server} offers no TLS", hint=hint) from None
        except _CONNECTION as error:
            self._why = _text_of(client.problem or error)
            if is_first and (refusal := _refusal(self._why)):
                await self.drop(client)
                said, hint = refusal
                raise StoreError("E401", f"the server {server} {said}", hint=hint) from None
            if is_first and "authorization" in str(error).lower():
                await self.drop(client)
                hint = "put `user:password@`, `token@` or `?creds=FILE` into the URL"
                raise StoreError("E401", f"the server {server} refuses access", hint=hint) from None
        except ImportError:
            await self.drop(client)
            message = "credentials files need the package nkeys"
            raise StoreError("E401", message, hint=install_hint("nats")) from None
        except Exception as error:  # noqa: BLE001 - a library may raise anything; the next attempt may succeed
            # The library fails so on a credentials file, or on a server, that it does not understand.
            self._why = type(error).__name__
            if is_first:
                await self.drop(client)
                what = "the credentials file cannot be used"
                if not self._address.creds:
                    what = f"{server} is not a NATS server, or its answer is invalid"
                raise StoreError("E401", f"{what} ({self._why})", hint=_HINT) from None
        else:
            return client
        await self.drop(client)
        return None

    def _how(self, server: str) -> dict[str, Any]:
        address = self._address
        options: dict[str, Any] = {
            "servers": [f"{'tls' if address.is_tls else 'nats'}://{server}"],
            "name": "solvent",
            "allow_reconnect": False,
            "connect_timeout": _CONNECT_S,
            # Otherwise the library retries a server that refuses for minutes.
            "reconnect_time_wait": 0,
            "max_reconnect_attempts": 1,
            "ping_interval": _PING_S,
            "max_outstanding_pings": _MAX_PINGS,
            "pending_size": 64 << 20,
        }
        if self._tls is not None:
            options["tls"] = self._tls
        if address.token:
            options["token"] = address.token
        if address.user:
            options |= {"user": address.user, "password": address.password}
        if address.creds:
            options["user_credentials"] = address.creds
        return options

    def _learn(self, client: OneClient) -> None:
        self.max_payload_bytes = client.max_payload
        self.keeps_nothing = not client.offers("jetstream") and not client.offers("cluster")
        for other in client.discovered_servers:
            host = f"[{other.hostname}]" if other.hostname and ":" in other.hostname else other.hostname
            name = f"{host}:{other.port}"
            if host and name not in self._known:
                self._known.append(name)


def _text_of(error: BaseException) -> str:
    """Describe a connection error without quoting the library's text, which may contain secrets."""
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    if isinstance(error, TimeoutError):
        return "no answer"
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    if type(error) is NatsError:
        # The library raises this base class if the first line is missing or not of the protocol.
        return "not a NATS server"
    return type(error).__name__


__all__ = ["Address", "Answer", "OneClient", "Servers", "Wire", "headers_from", "message", "read_address"]
