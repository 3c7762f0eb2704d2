"""The connection to NATS servers: requests are repeated until they are answered, across lost connections.

A thread of its own runs the client's event loop; callers in other threads wait (`run`). Nothing here relies on the
client's own reconnection, which keeps unsent messages, may give up for good on an unexpected error, and does not report
lost consumers. Instead:

- a *keeper* has one client at a time; when its connection is lost, or a ping is not answered, the keeper connects
  again, to any of the known servers, and renews all subscriptions;
- a *question* (one message, or several of which the last is answered) waits under a token of its own. It is sent again
  on each new connection, when no server was able to answer (no leader yet), and after a while without an answer. Its
  first answer counts, however late; later ones are dropped. So a question must be harmless when it arrives twice:
  appends carry an id by which the server recognises them;
- a question that has no answer for `patience` seconds fails with E409. Time in which this process did not run (it was
  stopped) does not count.

The error codes are those of the server's own list; its descriptions are for people and change.
"""

from __future__ import annotations

import asyncio
import os
import threading
from concurrent.futures import Future
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import msgspec
from nats.errors import Error as NatsError
from nats.nuid import NUID

from solvent.errors import StoreError
from solvent.store.nats_client import Servers, message
from solvent.values.limits import UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from solvent.store.nats_client import Address, Answer, OneClient

Kind = TypeVar("Kind")

WRONG_LAST = frozenset({10071, 10164})
"""The last sequence is not the expected one."""
NO_MESSAGE = 10037
DUPLICATE_IN_BATCH = 10201
NOT_ENABLED = 10076
_NO_STREAM = 10059
_AGAIN = frozenset({10158, 10176, 10210, 10211})
"""Try again: an id that is under way, a batch that was torn, or too many batches."""
_NO_ROOM = frozenset({10023, 10028, 10047, 10077, 10110, 10122})
_TOO_LARGE = frozenset({10054, 10097})


class ApiError(msgspec.Struct):
    """An error that a server reports."""

    code: int = 0
    err_code: int = 0
    description: str = ""


def answer_reader(kind: type[Kind]) -> Callable[[bytes], Kind]:
    """Return a function that decodes a server's answer, and raises `StoreError` E414 if it cannot."""
    decode = msgspec.json.Decoder(kind).decode

    def read(data: bytes) -> Kind:
        try:
            return decode(data)
        except UNREADABLE as error:
            hint = "check that the address is that of a NATS server, and that no proxy changes its answers"
            raise StoreError("E414", f"the server's answer cannot be decoded: {error}", hint=hint) from None

    return read


def may_go_by(error: ApiError) -> bool:
    """Return whether an error is temporary: no leader, not yet ready, overloaded."""
    return (error.code == 503 and error.err_code not in _NO_ROOM) or error.err_code in _AGAIN


def problem(error: ApiError) -> StoreError:
    """Return the `StoreError` for an error that a server reports."""
    if error.err_code in _NO_ROOM:
        hint = "free space on the server's disk, or raise its limits (`max_file_store`)"
        return StoreError("E403", f"the server has no room: {error.description}", hint=hint)
    if error.err_code in _TOO_LARGE:
        return StoreError("E405", f"too large for the server: {error.description}")
    if error.err_code in (10039, NOT_ENABLED):
        hint = "add `jetstream {}` to its configuration, or start it by `solvent store serve`"
        return StoreError("E401", "the server stores nothing: JetStream is not enabled", hint=hint)
    if error.err_code == _NO_STREAM:
        # The store has been opened, so it existed.
        said = "the store is gone: it was deleted on the server, or the server was started with another folder"
        hint = "stop all processes that use it; start the server with its former folder, or start with a new store"
        return StoreError("E409", said, hint=hint, is_lasting=True)
    return StoreError("E401", f"the server refuses: {error.description or 'no reason given'} ({error.err_code})")


AnyFuture: TypeAlias = "asyncio.Future[Any] | Future[Any] | Share"
_NOBODY_S = 0.05


class Outgoing(NamedTuple):
    """A message to be sent."""

    subject: str
    data: bytes
    headers: dict[str, str] | None = None


class Question:
    """A request that waits for an answer; after `wait_s` seconds it is sent again."""

    __slots__ = ("answers", "deadline", "future", "is_batch", "messages", "nobody_s", "sent_at", "token", "wait_s")

    def __init__(self, messages: Sequence[Outgoing], future: AnyFuture, *, wait_s: float, is_batch: bool) -> None:
        self.messages = messages
        self.future = future
        self.is_batch = is_batch
        self.answers: list[Answer] | None = None
        self.token = b""
        self.deadline = self.sent_at = 0.0
        self.wait_s = wait_s
        self.nobody_s = _NOBODY_S


class Answers:
    """The answers of several questions that are awaited together."""

    __slots__ = ("found", "future", "left")

    def __init__(self, count: int, future: AnyFuture) -> None:
        self.found: list[Answer | StoreError | None] = [None] * count
        self.future = future
        self.left = count


class Share:
    """The answer of one of these questions; takes the place of a future."""

    __slots__ = ("_all", "_number")

    def __init__(self, every: Answers, number: int) -> None:
        self._all = every
        self._number = number

    def done(self) -> bool:
        """Return whether there is an answer, or it is no longer awaited."""
        return self._all.found[self._number] is not None or self._all.future.done()

    def set_result(self, answer: Any) -> None:
        """Take the answer, or the error."""
        every = self._all
        every.found[self._number] = answer
        every.left -= 1
        if not every.left and not every.future.done():
            every.future.set_result(every.found)

    set_exception = set_result


T = TypeVar("T")

MAX_HEADER_BYTES = 1024
"""Room for headers, which a server counts as payload."""

_ANSWER_S = 2.0
_MAX_ANSWER_S = 8.0
_MAX_NOBODY_S = 0.8
_TICK_S = 0.25
_OPENING_S = 5.0
_SAID_BYTES = 1 << 20
"""Above this, a sender waits until most of it is sent."""


class Link:
    """The connection, as described above. Coroutines are for its own loop."""

    def __init__(self, address: Address, *, patience: float) -> None:
        self.patience = patience
        self.connections = 0
        """The number of connections made so far."""
        self._servers = Servers(address)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="solvent-nats", daemon=True)
        self._pid = os.getpid()
        self._nuid = NUID()
        self._inbox = f"_INBOX.{self._nuid.next().decode()}."
        self._sender = self._nuid.next().decode()
        self._ids = count(1)
        self._numbers = 0
        self._waiting: dict[bytes, Question] = {}
        self._listeners: dict[int, tuple[str, Callable[[], None]]] = {}
        self._subscriptions: dict[int, tuple[OneClient, int]] = {}
        self._client: OneClient | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closed = False

    # --------------------------------------------------------------------------------------- from other threads

    def open(self) -> None:
        """Connect for the first time; raise `StoreError` E402 or E401 if that fails."""
        self._thread.start()
        try:
            self.run(self._begin())
        except BaseException:
            self.close()
            raise

    def start(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine in the link's loop and return a future of its result."""
        try:
            self._check()
        except StoreError:
            coroutine.close()
            raise
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the link's loop and return its result."""
        future = self.start(coroutine)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """Close the connection; waiting questions fail with E408."""
        if self._is_closed or self._pid != os.getpid():
            self._is_closed = True
            return
        self._is_closed = True
        with suppress(Exception):
            asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(timeout=5)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=5)
        if not self._thread.is_alive():
            self._loop.close()

    def ask_each_soon(self, messages: Sequence[Outgoing]) -> Future[list[Answer | StoreError]]:
        """Start `ask_each` without a task in the loop, which would cost more than all the rest."""
        return self._begin_soon(self._begin_each, messages)

    def ask_many_soon(self, subject: str, data: bytes) -> Future[list[Answer]]:
        """Start `ask_many` without a task in the loop."""
        return self._begin_soon(self._begin_many, Outgoing(subject, data))

    def _begin_soon(self, begin: Callable[[Any, Any], None], what: Any) -> Future[Any]:
        self._check()
        future = Future[Any]()

        def do() -> None:
            try:
                self._check()
                begin(what, future)
            except StoreError as error:
                future.set_exception(error)

        self._loop.call_soon_threadsafe(do)
        return future

    def _check(self) -> None:
        if self._is_closed or self._pid != os.getpid():
            raise StoreError(
                "E408", "the store is closed" if self._is_closed else "the store was opened by another process"
            )

    @property
    def max_payload_bytes(self) -> int:
        """The largest message that a server accepts, without room for headers."""
        return self._servers.max_payload_bytes - MAX_HEADER_BYTES

    # ------------------------------------------------------------------------------------------- in the own loop

    def new_id(self) -> str:
        """Return a unique id; for any thread."""
        return f"{self._sender}.{next(self._ids)}"

    async def ask(self, subject: str, data: bytes = b"", headers: dict[str, str] | None = None) -> Answer:
        """Send a message and return the answer."""
        answer: Answer = await self._asked((Outgoing(subject, data, headers),))
        return answer

    async def ask_batch(self, messages: Sequence[Outgoing]) -> Answer:
        """Send a batch of messages, of which the server accepts all or none, and return the answer."""
        answer: Answer = await self._asked(messages, is_batch=True)
        return answer

    async def ask_many(self, subject: str, data: bytes) -> list[Answer]:
        """Send a message and return all answers; the last one has a status."""
        future: asyncio.Future[list[Answer]] = self._loop.create_future()
        self._begin_many(Outgoing(subject, data), future)
        return await future

    async def ask_each(self, messages: Sequence[Outgoing]) -> list[Answer | StoreError]:
        """Send messages one after the other, and return the answer or the error of each."""
        future: asyncio.Future[list[Answer | StoreError]] = self._loop.create_future()
        self._begin_each(messages, future)
        await self._let_go(sum([len(one.data) for one in messages]))
        return await future

    async def listen(self, subject: str, heard: Callable[[], None]) -> int:
        """Call a function for each message of a subject, and after each new connection."""
        self._numbers += 1
        self._listeners[self._numbers] = (subject, heard)
        number = self._numbers
        if self._client is not None:
            with suppress(NatsError, OSError):
                self._hear(self._client, number, subject, heard)
                # Only after an answer of the server is the subscription certain.
                await self._client.settle()
        return number

    async def stop_listening(self, numbers: Sequence[int]) -> None:
        """Cancel subscriptions."""
        for number in numbers:
            self._listeners.pop(number, None)
            if number in self._subscriptions:
                client, subscription = self._subscriptions.pop(number)
                client.stop_hearing(subscription)

    # ------------------------------------------------------------------------------------------------- questions

    async def _asked(self, messages: Sequence[Outgoing], *, is_batch: bool = False) -> Any:
        future: asyncio.Future[Any] = self._loop.create_future()
        self._send(self._question(messages, future, is_batch=is_batch))
        await self._let_go(sum([len(one.data) for one in messages]))
        return await future

    def _begin_each(self, messages: Sequence[Outgoing], future: AnyFuture) -> None:
        every = Answers(len(messages), future)
        questions = [self._question((one,), Share(every, number)) for number, one in enumerate(messages)]
        said = b"".join([self._said(one) for one in questions])
        if self._client is not None:
            self._client.say(said)

    def _begin_many(self, outgoing: Outgoing, future: AnyFuture) -> None:
        question = self._question((outgoing,), future)
        question.answers = []
        self._send(question)

    def _question(self, messages: Sequence[Outgoing], future: AnyFuture, *, is_batch: bool = False) -> Question:
        size = max([len(one.data) for one in messages])
        if size > self.max_payload_bytes:
            said = f"a message of {size:,} bytes is too large: the server accepts at most {self.max_payload_bytes:,}"
            raise StoreError("E405", said, hint="raise `max_payload` in the server's configuration")
        question = Question(messages, future, wait_s=_ANSWER_S, is_batch=is_batch)
        question.deadline = self._loop.time() + self.patience
        return question

    def _send(self, question: Question) -> None:
        """Send a question, now or as soon as there is a connection."""
        said = self._said(question)
        # If the connection breaks meanwhile, the keeper sends everything again on the next one.
        if self._client is not None:
            self._client.say(said)

    def _said(self, question: Question) -> bytes:
        """Return the bytes to send, and await the answer from now on."""
        # A new token each time if there are several answers: those of two sendings must not be mixed. For one answer
        # the token stays: the answer to the first sending counts also when it comes after the second.
        if not question.token or question.answers is not None:
            self._rename(question)
        question.sent_at = self._loop.time()
        *before, last = self._in_batch(question.messages) if question.is_batch else question.messages
        reply = self._inbox + question.token.decode()
        said = message(last.subject, last.data, reply=reply, headers=last.headers)
        if not before:
            return said
        return b"".join([*(message(one.subject, one.data, headers=one.headers) for one in before), said])

    async def _let_go(self, size: int) -> None:
        """Wait until most of a large message is sent."""
        client = self._client
        if size > _SAID_BYTES and client is not None:
            with suppress(NatsError, OSError):
                await client.drained()

    def _rename(self, question: Question) -> None:
        """Drop the answers of a question, and those that are still to come, by a new token."""
        self._waiting.pop(question.token, None)
        self._numbers += 1
        question.token = b"%d" % self._numbers
        if question.answers:
            question.answers = []
        self._waiting[question.token] = question

    def _in_batch(self, messages: Sequence[Outgoing]) -> list[Outgoing]:
        batch = self.new_id()
        marked = []
        for number, (subject, data, headers) in enumerate(messages, 1):
            more = {**(headers or {}), "Nats-Batch-Id": batch, "Nats-Batch-Sequence": str(number)}
            if number == len(messages):
                more["Nats-Batch-Commit"] = "1"
            marked.append(Outgoing(subject, data, more))
        return marked

    def _on_answer(self, answer: Answer) -> None:
        question = self._waiting.get(answer.subject[len(self._inbox) :])
        if question is None or question.future.done():
            return
        status = answer.status
        if status == "503":
            # No server can answer: a leader is being elected, or the server is still reading its files.
            self._loop.call_later(question.nobody_s, self._again, question)
            question.nobody_s = min(2 * question.nobody_s, _MAX_NOBODY_S)
            return
        if question.answers is not None:
            question.answers.append(answer)
            if not status:
                question.sent_at = self._loop.time()
                return
            question.future.set_result(question.answers)
        else:
            question.future.set_result(answer)
        self._waiting.pop(question.token, None)

    def _again(self, question: Question) -> None:
        if not question.future.done() and self._waiting.get(question.token) is question:
            self._send(question)

    async def _tick(self) -> None:
        """Send unanswered questions again, and give up those that have waited for too long."""
        before = self._loop.time()
        while True:
            await asyncio.sleep(_TICK_S)
            now = self._loop.time()
            missed = now - before - _TICK_S
            before = now
            for question in list(self._waiting.values()):
                if question.future.done():
                    # It is no longer awaited.
                    self._waiting.pop(question.token, None)
                    continue
                if missed > 1.0:
                    question.deadline += missed
                    question.sent_at += missed
                if now > question.deadline:
                    self._waiting.pop(question.token, None)
                    question.future.set_exception(self.lost())
                elif now - question.sent_at > question.wait_s and self._client is not None:
                    question.wait_s = min(2 * question.wait_s, _MAX_ANSWER_S)
                    self._send(question)

    def lost(self) -> StoreError:
        """Return the error of a question that has waited for too long."""
        what = "no answer from" if self._client is not None else "no connection to"
        said = f"there was {what} {self._servers.shown} for {self.patience:g} s"
        return StoreError("E409", f"{said}; the operation may have been done, or not")

    # ------------------------------------------------------------------------------------------------ the keeper

    async def _begin(self) -> None:
        client = await self._servers.first(min(_OPENING_S, self.patience))
        if self._servers.keeps_nothing:
            await self._servers.drop(client)
            raise problem(ApiError(err_code=NOT_ENABLED))
        try:
            await self._use(client)
        except (NatsError, OSError):
            await self._servers.drop(client)
            raise StoreError("E402", f"the connection to {self._servers.shown} was lost at once") from None
        self._start(self._keep(client))
        self._start(self._tick())

    def _start(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _keep(self, client: OneClient) -> None:
        """Replace the connection whenever it is lost."""
        while True:
            await self._servers.until_lost(client)
            self._client = None
            await self._servers.drop(client)
            client = await self._servers.any()
            try:
                await self._use(client)
            except (NatsError, OSError):
                await self._servers.drop(client)

    async def _use(self, client: OneClient) -> None:
        """Renew all subscriptions on a new connection, and send all waiting questions."""
        for question in list(self._waiting.values()):
            if question.answers is not None:
                # The server may still be answering on the old connection: the rest would come here.
                self._rename(question)
        client.hear(f"{self._inbox}*", self._on_answer)
        for number, (subject, heard) in list(self._listeners.items()):
            self._hear(client, number, subject, heard)
        await client.settle()
        self._client = client
        self.connections += 1
        for question in list(self._waiting.values()):
            self._send(question)
        # Messages in between were lost.
        for _, heard in list(self._listeners.values()):
            heard()

    def _hear(self, client: OneClient, number: int, subject: str, heard: Callable[[], None]) -> None:
        self._subscriptions[number] = client, client.hear(subject, lambda _: heard())

    async def _end(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        for question in list(self._waiting.values()):
            if not question.future.done():
                question.future.set_exception(StoreError("E408", "the store was closed meanwhile"))
        self._waiting.clear()
        client, self._client = self._client, None
        if client is not None:
            await self._servers.drop(client)
        # Coroutines that wait for these questions get one turn of the loop to end.
        await asyncio.sleep(0)


__all__ = [
    "DUPLICATE_IN_BATCH",
    "MAX_HEADER_BYTES",
    "NOT_ENABLED",
    "NO_MESSAGE",
    "WRONG_LAST",
    "Answers",
    "AnyFuture",
    "ApiError",
    "Link",
    "Outgoing",
    "Question",
    "Share",
    "answer_reader",
    "may_go_by",
    "problem",
]
