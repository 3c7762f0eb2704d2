"""The connection to NATS servers: questions that are asked until they are answered, whatever becomes of connections.

A thread of its own runs the client's event loop; callers of other threads wait (`run`). Nothing here relies on the
client's own way of connecting again, which keeps what it has not sent, may give up for good on an error it does not
expect, and tells nobody of consumers that are gone. Instead:

- a *keeper* has one client at a time; when it is lost, by what it says or by a ping that is not answered, the keeper
  makes another, to any of the servers that it was told of or has heard of, and listens again to all that was listened
  to;
- a *question* (one message, or several of which the last is answered) waits under a token of its own. It is sent again
  on each new connection, when nobody was there to answer (no leader yet), and after a while without an answer. Its
  first answer counts, however late; what comes after is dropped. So what is asked must be harmless when it arrives
  twice: the messages of appends carry an id by which the server knows them;
- a question that has no answer for `patience` seconds fails with E409. Time in which this process did not run (it was
  stopped) does not count.

The codes of errors are those of the server's own list; its descriptions are for people and change.
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
"""Codes that say: the last sequence is another one than expected."""
NO_MESSAGE = 10037
DUPLICATE_IN_BATCH = 10201
NOT_ENABLED = 10076
_NO_STREAM = 10059
_AGAIN = frozenset({10158, 10176, 10210, 10211})
"""Codes that say: come again (an id that is under way, a batch that was torn or is one too many)."""
_NO_ROOM = frozenset({10023, 10028, 10047, 10077, 10110, 10122})
_TOO_LARGE = frozenset({10054, 10097})


class ApiError(msgspec.Struct):
    """What a server says is wrong."""

    code: int = 0
    err_code: int = 0
    description: str = ""


def answer_reader(kind: type[Kind]) -> Callable[[bytes], Kind]:
    """Return a function that reads a server's answer; it raises `StoreError` E414 for what is none."""
    decode = msgspec.json.Decoder(kind).decode

    def read(data: bytes) -> Kind:
        try:
            return decode(data)
        except UNREADABLE as error:
            hint = "see that the address is that of a NATS server, and of nothing between that changes its answers"
            raise StoreError("E414", f"the server's answer cannot be read: {error}", hint=hint) from None

    return read


def may_go_by(error: ApiError) -> bool:
    """Return whether it may be otherwise in a moment: no leader, not yet ready, too much to do."""
    return (error.code == 503 and error.err_code not in _NO_ROOM) or error.err_code in _AGAIN


def problem(error: ApiError) -> StoreError:
    """Return the error of what a server says is wrong."""
    if error.err_code in _NO_ROOM:
        hint = "make room on the server's disk, or raise its limits (`max_file_store`)"
        return StoreError("E403", f"the server has no room: {error.description}", hint=hint)
    if error.err_code in _TOO_LARGE:
        return StoreError("E405", f"the server says that it is too large: {error.description}")
    if error.err_code in (10039, NOT_ENABLED):
        hint = "add `jetstream {}` to its configuration, or start it by `solvent store serve`"
        return StoreError("E401", "the server keeps nothing: JetStream is not enabled", hint=hint)
    if error.err_code == _NO_STREAM:
        # Whoever asks has opened the store, and so it was there.
        said = "the store is gone: the server does not have it any more, or was started with another folder"
        hint = "stop all that use it; start the server with the folder that it had, or begin with a new store"
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
    """What waits for an answer; `wait_s` is how long it does before it is sent again."""

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
    """What several questions, whose asker waits for all of them, have for answers."""

    __slots__ = ("found", "future", "left")

    def __init__(self, count: int, future: AnyFuture) -> None:
        self.found: list[Answer | StoreError | None] = [None] * count
        self.future = future
        self.left = count


class Share:
    """The part that one question has in them; stands where else a future would."""

    __slots__ = ("_all", "_number")

    def __init__(self, every: Answers, number: int) -> None:
        self._all = every
        self._number = number

    def done(self) -> bool:
        """Return whether there is an answer, or nobody waits for it."""
        return self._all.found[self._number] is not None or self._all.future.done()

    def set_result(self, answer: Any) -> None:
        """Take the answer, or why there is none."""
        every = self._all
        every.found[self._number] = answer
        every.left -= 1
        if not every.left and not every.future.done():
            every.future.set_result(every.found)

    set_exception = set_result


T = TypeVar("T")

MAX_HEADER_BYTES = 1024
"""Room that is left for headers: a server counts them, too."""

_ANSWER_S = 2.0
_MAX_ANSWER_S = 8.0
_MAX_NOBODY_S = 0.8
_TICK_S = 0.25
_OPENING_S = 5.0
_SAID_BYTES = 1 << 20
"""Who says more waits until it is on its way."""


class Link:
    """The connection; see the module's text. Coroutines are for its own loop."""

    def __init__(self, address: Address, *, patience: float) -> None:
        self.patience = patience
        self.connections = 0
        """How often there was a new connection."""
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
        """Connect for the first time; raise `StoreError` E402 or E401 where that cannot be."""
        self._thread.start()
        try:
            self.run(self._begin())
        except BaseException:
            self.close()
            raise

    def start(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Let a coroutine begin in the link's loop; the future has what it gives."""
        try:
            self._check()
        except StoreError:
            coroutine.close()
            raise
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the link's loop and give what it gives."""
        future = self.start(coroutine)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """End everything: who waits for an answer hears E408."""
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
        """Do as `ask_each` does, without a task in the loop, which would cost more than all the rest."""
        return self._begin_soon(self._begin_each, messages)

    def ask_many_soon(self, subject: str, data: bytes) -> Future[list[Answer]]:
        """Do as `ask_many` does, without a task in the loop."""
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
            raise StoreError("E408", "the store is closed" if self._is_closed else "the store is of another process")

    @property
    def max_payload_bytes(self) -> int:
        """Return what a server takes at once, without the room for headers."""
        return self._servers.max_payload_bytes - MAX_HEADER_BYTES

    # ------------------------------------------------------------------------------------------- in the own loop

    def new_id(self) -> str:
        """Return an id that nobody else has; for any thread."""
        return f"{self._sender}.{next(self._ids)}"

    async def ask(self, subject: str, data: bytes = b"", headers: dict[str, str] | None = None) -> Answer:
        """Send a message and give the answer."""
        answer: Answer = await self._asked((Outgoing(subject, data, headers),))
        return answer

    async def ask_batch(self, messages: Sequence[Outgoing]) -> Answer:
        """Send messages that belong together, all or none of them being taken, and give the answer."""
        answer: Answer = await self._asked(messages, is_batch=True)
        return answer

    async def ask_many(self, subject: str, data: bytes) -> list[Answer]:
        """Send a message and give all answers; the last one, with a status, says that there are no more."""
        future: asyncio.Future[list[Answer]] = self._loop.create_future()
        self._begin_many(Outgoing(subject, data), future)
        return await future

    async def ask_each(self, messages: Sequence[Outgoing]) -> list[Answer | StoreError]:
        """Send messages one behind the other, and give the answer of each, or why it has none."""
        future: asyncio.Future[list[Answer | StoreError]] = self._loop.create_future()
        self._begin_each(messages, future)
        await self._let_go(sum([len(one.data) for one in messages]))
        return await future

    async def listen(self, subject: str, heard: Callable[[], None]) -> int:
        """Have a function called for each message of a subject, and after each new connection."""
        self._numbers += 1
        self._listeners[self._numbers] = (subject, heard)
        number = self._numbers
        if self._client is not None:
            with suppress(NatsError, OSError):
                self._hear(self._client, number, subject, heard)
                # Only when the server has answered is it sure that it knows of us.
                await self._client.settle()
        return number

    async def stop_listening(self, numbers: Sequence[int]) -> None:
        """Call these functions no more."""
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
            said = f"a message of {size:,} bytes is too large: the server takes at most {self.max_payload_bytes:,}"
            raise StoreError("E405", said, hint="`max_payload` in the server's configuration sets it")
        question = Question(messages, future, wait_s=_ANSWER_S, is_batch=is_batch)
        question.deadline = self._loop.time() + self.patience
        return question

    def _send(self, question: Question) -> None:
        """Send a question, now or as soon as there is a connection."""
        said = self._said(question)
        # A connection that breaks meanwhile is the keeper's business, which sends everything again on the next.
        if self._client is not None:
            self._client.say(said)

    def _said(self, question: Question) -> bytes:
        """Return what is sent; from now on its answer is waited for."""
        # A new token each time for what has several answers: those of two sendings must not be mixed. For one answer
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
        """Wait until much that was said is on its way."""
        client = self._client
        if size > _SAID_BYTES and client is not None:
            with suppress(NatsError, OSError):
                await client.drained()

    def _rename(self, question: Question) -> None:
        """Let go of the answers that a question has, and of those that are still to come to what was sent."""
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
            # Nobody is there to answer: a leader is being elected, or the server is still reading its files.
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
        """Send again what has no answer, and give up what has waited for too long."""
        before = self._loop.time()
        while True:
            await asyncio.sleep(_TICK_S)
            now = self._loop.time()
            missed = now - before - _TICK_S
            before = now
            for question in list(self._waiting.values()):
                if question.future.done():
                    # Its caller has gone.
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
        """Return the error of somebody who has waited for too long."""
        what = "no answer from" if self._client is not None else "no connection to"
        said = f"there was {what} {self._servers.shown} for {self.patience:g} s"
        return StoreError("E409", f"{said}; what was asked for may have been done, or not")

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
        """Have a connection, again and again."""
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
        """Listen to everything on a new connection, and ask everything that waits."""
        for question in list(self._waiting.values()):
            if question.answers is not None:
                # The server may still be answering what was asked on the old connection: the rest would come here.
                self._rename(question)
        client.hear(f"{self._inbox}*", self._on_answer)
        for number, (subject, heard) in list(self._listeners.items()):
            self._hear(client, number, subject, heard)
        await client.settle()
        self._client = client
        self.connections += 1
        for question in list(self._waiting.values()):
            self._send(question)
        # What happened in between nobody has heard of.
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
        # Whoever was told has a turn of the loop to leave it.
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
