"""One client of a NATS server: made, checked and thrown away; which server it is for.

A client never connects again by itself (see `nats_link`). One that must use TLS says nothing, not even who it is, to a
server that does not offer it: the library would go on in the clear.

*Messages*, byte by byte. The library's own way makes a task, a queue and several copies of each message. Appends and
answers are small and come in hundreds, so those of an inbox are taken out of what a connection brings before the
library sees it, and handed on at once; headers are taken apart only where somebody looks at them. All else that a
server says (pings, errors, news of other servers) is the library's.
"""

from __future__ import annotations

import asyncio
import logging
import random
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from nats.aio.client import Client
from nats.errors import ConnectionClosedError
from nats.errors import Error as NatsError

from solvent.errors import StoreError, install_hint

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from solvent.store.nats_address import Address

_END = b"\r\n"
_VERSION = "NATS/1.0"
_MESSAGE, _WITH_HEADERS = ord("M"), ord("H")


class Answer:
    """A message that has come."""

    __slots__ = ("_head", "_headers", "data", "subject")

    def __init__(self, subject: bytes, head: bytes, data: bytes) -> None:
        self.subject = subject
        self.data = data
        self._head = head
        self._headers: dict[str, str] | None = None

    @property
    def headers(self) -> dict[str, str]:
        """Return its headers; `Status` is what the server says of it, if it does."""
        if self._headers is None:
            self._headers = headers_from(self._head)
        return self._headers

    @property
    def status(self) -> str:
        """Return what the server says of it, mostly nothing."""
        # "NATS/1.0 503", and further words or not; or the end of the line.
        return self._head[9:12].decode() if self._head[8:9] == b" " else ""


Heard: TypeAlias = "Callable[[Answer], None]"
"""Is called with each message of a subscription, and must not raise anything."""


def headers_from(raw: bytes) -> dict[str, str]:
    """Take headers apart; what is no header is left out."""
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
    """Stands between a connection and the library: takes out the messages that somebody here hears."""

    def __init__(self, library: asyncio.Protocol, *, is_protected: bool = False) -> None:
        self._is_protected = is_protected
        self.heard: dict[bytes, Heard] = {}
        """Who hears the messages of a subscription, by its number."""
        self._library = library
        self._rest = bytearray()
        #: How much there must be of what has begun.
        self._needed = 0
        self._is_nonsense = False

    def data_received(self, data: bytes) -> None:
        """Take what was read; hand on what is whole."""
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
            # The library complains, and ends the connection.
            self._is_nonsense = True
        if self._is_nonsense:
            self._library.data_received(data[at:])
        elif at < len(data):
            self._rest += memoryview(data)[at:]

    def _take(self, data: bytes, at: int, line_end: int) -> int:
        """Hand on what begins here, and give where it ends; 0 if it is not whole."""
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
        """Pass it on to the library.

        A connection that is protected cannot be kept half open, and the loop would complain.
        """
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


_CONNECT_S = 2
_PING_S = 2
_MAX_PINGS = 2
_LOOK_S = 0.5
_PAUSE_S = 0.05
_MAX_PAUSE_S = 1.0
_CONNECTION = (NatsError, OSError, TimeoutError)
# Without a handler Python writes the tracebacks of the library to standard error. A program that logs still gets them.
logging.getLogger("nats").addHandler(logging.NullHandler())


class _Unprotected(NatsError):
    """A server does not offer TLS, and must."""


class OneClient(Client):
    """A client that insists on TLS when it was told to, and has a short way for messages in great number."""

    def __init__(self, *, must_be_protected: bool) -> None:
        super().__init__()
        self.must_be_protected = must_be_protected
        self.gone = asyncio.Event()
        self.problem: Exception | None = None
        self._wire: Wire | None = None

    async def take_out(self) -> None:
        """Have the messages that are heard here taken out before the library sees them, from now on."""
        streams: Any = self._transport
        while streams._io_reader._buffer or self._ps.buf:  # noqa: ASYNC110, SLF001 - it tells nobody
            # The library is amid something, and must have the rest of it.
            await asyncio.sleep(_PAUSE_S / 10)
        transport = streams._io_writer.transport  # noqa: SLF001
        self._wire = Wire(transport.get_protocol(), is_protected=transport.get_extra_info("sslcontext") is not None)
        transport.set_protocol(self._wire)

    def say(self, data: bytes) -> None:
        """Send bytes as they are."""
        # Who waits for answers on a connection that is lost asks again on the next one.
        if self.is_connected and self._transport:
            self._transport.write(data)

    def hear(self, subject: str, heard: Heard) -> int:
        """Have a function called with each message of a subject; give the number of the subscription."""
        if not self.is_connected or self._wire is None:
            raise ConnectionClosedError
        self._sid += 1
        self._wire.heard[b"%d" % self._sid] = heard
        self.say(f"SUB {subject} {self._sid}\r\n".encode())
        return self._sid

    def stop_hearing(self, number: int) -> None:
        """Hear no more of a subscription."""
        if self._wire is not None and self._wire.heard.pop(b"%d" % number, None) is not None:
            self.say(b"UNSUB %d\r\n" % number)

    async def drained(self) -> None:
        """Wait until what was said is on its way, but for a little."""
        if self.is_connected and self._transport:
            await self._transport.drain()  # type: ignore[no-untyped-call] # the library has no types here

    async def hear_of_end(self) -> None:
        """Hear that the connection is no more."""
        self.gone.set()

    async def hear_of_problem(self, problem: Exception) -> None:
        """Keep what is wrong, which the library would write to the log: it is said to who has waited for too long."""
        self.problem = problem

    async def settle(self) -> None:
        """Wait until the server has read everything that was said to it."""
        # The library's ping overtakes what lies in its buffer, subscriptions for example; the second one does not.
        for _ in range(2):
            await self.flush(timeout=2 * _CONNECT_S)

    def offers(self, what: str) -> bool:
        """Return whether the server has said so of itself."""
        return bool(self._server_info.get(what))

    def _connect_command(self) -> bytes:
        # Called when it is known whether the connection is protected, and before anything is said of the user.
        if self.must_be_protected and not self.offers("tls_required"):
            raise _Unprotected
        return super()._connect_command()


_SHOWN = "`?ca=FILE&cert=FILE&key=FILE` in the URL"
_HINT = "`solvent store serve` starts a server on this machine"


def _refusal(why: str) -> tuple[str, str] | None:
    """Return what is wrong with certificates, by what the library for TLS says, and what to do.

    Nothing if nothing is.
    """
    if "CERTIFICATE_VERIFY_FAILED" in why:
        reason = why.rpartition("failed: ")[2].partition(" (_ssl")[0]
        return f"shows a certificate that is not to be trusted: {reason}", "`?ca=FILE` names the authority to trust"
    if "CERTIFICATE_REQUIRED" in why:
        return "wants a certificate to be shown", _SHOWN
    if "ALERT" in why and "SSL" in why:
        return "refuses the certificate that was shown", "it must be signed by the authority that the server was given"
    return None


class Servers:
    """The servers that are known, and how to connect to one of them."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._tls = address.tls_context()
        self._known = list(address.servers)
        self._why = ""
        self.max_payload_bytes = 1 << 20
        self.keeps_nothing = False
        """Whether the server is alone, and has no JetStream."""

    @property
    def shown(self) -> str:
        """Name the servers, as the user did."""
        return ", ".join(self._address.servers)

    async def first(self, seconds: float) -> OneClient:
        """Connect for the first time; raise `StoreError` where nobody is there, or nobody lets us in."""
        try:
            return await asyncio.wait_for(self.any(is_first=True), seconds)
        except TimeoutError:
            why = f": {self._why}" if self._why else ""
            # A server may break off before it is heard what it misses.
            is_cut = self._tls is not None and "Reset" in why
            hint = f"it may miss a certificate, or not trust it: {_SHOWN}" if is_cut else _HINT
            raise StoreError("E402", f"no NATS server can be reached at {self.shown}{why}", hint=hint) from None

    async def any(self, *, is_first: bool = False) -> OneClient:
        """Connect to one of the servers; try until it succeeds."""
        pause_s = _PAUSE_S
        while True:
            for server in random.sample(self._known, len(self._known)):
                client = await self._connected(server, is_first=is_first)
                if client is not None:
                    return client
            await asyncio.sleep(pause_s * random.uniform(0.5, 1.0))
            pause_s = min(2 * pause_s, _MAX_PAUSE_S)

    async def drop(self, client: OneClient) -> None:
        """Let go of a client, whatever state it is in."""
        with suppress(Exception):
            await asyncio.wait_for(client.close(), 2)

    async def until_lost(self, client: OneClient) -> None:
        """Wait until a connection is lost."""
        while client.is_connected and not client.gone.is_set():
            # Also without being told: a client that fails while it closes tells nobody.
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
            self._why = text_of(client.problem or error)
            if is_first and (refusal := _refusal(self._why)):
                await self.drop(client)
                said, hint = refusal
                raise StoreError("E401", f"the server {server} {said}", hint=hint) from None
            if is_first and "authorization" in str(error).lower():
                await self.drop(client)
                hint = "`user:password@`, `token@` or `?creds=FILE` in the URL say who you are"
                raise StoreError("E401", f"the server {server} does not let us in", hint=hint) from None
        except ImportError:
            await self.drop(client)
            message = "files of credentials need the package nkeys"
            raise StoreError("E401", message, hint=install_hint("nats")) from None
        except Exception as error:  # noqa: BLE001 - a library may raise anything; the next try may go well
            # What the library makes of a file of credentials, or of a server, that it does not understand.
            self._why = type(error).__name__
            if is_first:
                await self.drop(client)
                what = "the file of credentials cannot be used"
                if not self._address.creds:
                    what = f"what answers at {server} is no NATS server, or says nonsense"
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
            # Else the library itself tries a server for minutes that refuses.
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


def text_of(error: BaseException) -> str:
    """Return what is wrong with a connection, without what a library may have put into its text."""
    if isinstance(error, ConnectionRefusedError):
        return "the connection is refused"
    if isinstance(error, TimeoutError):
        return "no answer"
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    if type(error) is NatsError:
        # The library raises this base class where the first line is missing, or is none of the protocol.
        return "what answers there is no NATS server"
    return type(error).__name__


__all__ = ["Answer", "Heard", "OneClient", "Servers", "Wire", "headers_from", "message", "text_of"]
