"""One JetStream stream: messages appended under conditions, and read in order.

*Whose is it?* An append carries an id. When it is sent twice, since its answer came late or never, the server knows the
id for some minutes and answers as it did, or should have done, the first time. But with an expected position it may
instead say "wrong last sequence", of an append that is our own; and a cluster says so of one that was under way, and
never came about. So this answer is not believed: the first record behind the expected position is read, from the
leader, and tells by its id whether it is ours; if nothing is there, the append is tried again.

*Reading* asks for batches (direct get) and has no consumers, which would have to be fetched from, kept alive and made
again. In a replicated stream any server may answer, also one that lags behind. It has the beginning of what there is,
never something else; so the leader is asked for the last position as well, and for what is missing.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from solvent.errors import Conflict, SpaceError
from solvent.live.space.nats_problems import (
    DUPLICATE_IN_BATCH,
    NO_MESSAGE,
    WRONG_LAST,
    ApiError,
    may_go_by,
    problem,
)
from solvent.live.space.nats_questions import Outgoing
from solvent.live.space.nats_wire import headers_from

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from solvent.live.space.nats_link import Link
    from solvent.live.space.nats_wire import Answer

_PAUSE_S = 0.02
_PAUSE_S_MAX = 0.5
_BATCH_MAX = 1000
"""Messages that a server sends, or takes, at once."""
_BATCH_BYTES = 16 << 20


class _Ack(msgspec.Struct):
    seq: int = 0
    count: int = 0
    duplicate: bool = False
    error: ApiError | None = None


class _Message(msgspec.Struct):
    subject: str
    seq: int
    hdrs: bytes = b""
    data: bytes = b""


class _Got(msgspec.Struct):
    message: _Message | None = None
    error: ApiError | None = None


class Stored(NamedTuple):
    """A message of a stream."""

    position: int
    subject: str
    data: bytes
    id: str
    operation: str
    """Of a key-value bucket: empty, `DEL` or `PURGE`."""


class Sending(NamedTuple):
    """A message to be appended."""

    subject: str
    data: bytes
    expected: int | None = None


_ack = msgspec.json.Decoder(_Ack)
_got = msgspec.json.Decoder(_Got)


class Stream:
    """A stream of a server; coroutines are for the link's loop."""

    def __init__(self, link: Link, name: str, *, replicas: int, name_of: Callable[[str], str]) -> None:
        self.name = name
        self.seen = 0
        """The highest position that is known to be there."""
        self._link = link
        self._replicas = replicas
        self._name_of = name_of

    # ------------------------------------------------------------------------------------------------- appending

    async def append(self, sending: Sending, headers: dict[str, str] | None = None) -> int:
        """Append a message and give its position; raise `Conflict` where something else was expected."""
        own = self._link.new_id()
        marked = self._marked(sending, own, headers)
        return await self._appended(sending, own, marked, await self._link.ask(*marked))

    async def append_each(self, sendings: Sequence[Sending]) -> list[int | SpaceError]:
        """Append messages without waiting in between; give the position of each, or why it was not appended."""
        if not sendings:
            return []
        asked = self.asked(sendings)
        answers = await self._link.ask_each([message for _, _, message in asked])
        return self.positions(answers) or await self.settle(asked, answers)

    def asked(self, sendings: Sequence[Sending]) -> list[tuple[Sending, str, Outgoing]]:
        """Give the messages that append, with their ids; for any thread."""
        found = []
        for sending in sendings:
            own = self._link.new_id()
            found.append((sending, own, self._marked(sending, own, None)))
        return found

    def positions(self, answers: Sequence[Answer | SpaceError]) -> list[int | SpaceError] | None:
        """Give the positions that servers have answered, if nothing else is among it; for any thread."""
        found: list[int | SpaceError] = []
        for answer in answers:
            position = 0 if isinstance(answer, SpaceError) else _ack.decode(answer.data).seq
            if not position:
                return None
            found.append(self._saw(position))
        return found

    async def settle(
        self, asked: Sequence[tuple[Sending, str, Outgoing]], answers: Sequence[Answer | SpaceError]
    ) -> list[int | SpaceError]:
        """Give what has become of messages; send those again for which there is reason to."""
        results = await asyncio.gather(
            *(self._appended(*one, answer) for one, answer in zip(asked, answers, strict=True)), return_exceptions=True
        )
        found: list[int | SpaceError] = []
        for result in results:
            if isinstance(result, BaseException) and not isinstance(result, SpaceError):
                raise result
            found.append(result)
        return found

    async def _appended(self, sending: Sending, own: str, marked: Outgoing, answer: Answer | SpaceError) -> int:
        """Give the position that a message has by its answer; send it again while there is reason to."""
        if isinstance(answer, SpaceError):
            raise answer
        pause: Pause | None = None
        while True:
            ack = _ack.decode(answer.data)
            if ack.error is None:
                if ack.seq:
                    return self._saw(ack.seq)
            elif ack.error.err_code in WRONG_LAST and sending.expected is not None:
                position = await self._own_position(sending, own)
                if position is not None:
                    return self._saw(position)
            elif not may_go_by(ack.error):
                raise problem(ack.error)
            pause = pause or Pause(self._link)
            await pause()
            answer = await self._link.ask(*marked)

    async def append_batch(self, sendings: Sequence[Sending]) -> list[int]:
        """Append messages, all or none of them, and give their positions."""
        assert 0 < len(sendings) <= _BATCH_MAX
        owns = [self._link.new_id() for _ in sendings]
        marked = [self._marked(sending, own, None) for sending, own in zip(sendings, owns, strict=True)]
        before = self.seen
        pause = Pause(self._link)
        while True:
            ack = _ack.decode((await self._link.ask_batch(marked)).data)
            first: int | None = None
            if ack.error is None:
                first = ack.seq - ack.count + 1 if ack.count == len(sendings) else None
            elif ack.error.err_code in WRONG_LAST:
                first = await self._own_first(sendings, owns)
            elif ack.error.err_code == DUPLICATE_IN_BATCH:
                first = await self._found_first(sendings, owns, before)
            elif not may_go_by(ack.error):
                raise problem(ack.error)
            if first is not None:
                self._saw(first + len(sendings) - 1)
                return list(range(first, first + len(sendings)))
            await pause()

    def _marked(self, sending: Sending, own: str, headers: dict[str, str] | None) -> Outgoing:
        marked = {"Nats-Msg-Id": own, "Nats-Expected-Stream": self.name, **(headers or {})}
        if sending.expected is not None:
            marked["Nats-Expected-Last-Subject-Sequence"] = str(sending.expected)
        return Outgoing(sending.subject, sending.data, marked)

    async def _own_position(self, sending: Sending, own: str) -> int | None:
        """Give where an append of ours is that was refused; nothing if nobody has appended; else raise `Conflict`."""
        assert sending.expected is not None
        following = await self.first_behind(sending.subject, sending.expected)
        if following is not None and following.id == own:
            return following.position
        last = await self.last(sending.subject)
        position = last.position if last is not None else 0
        if position == sending.expected:
            return None
        self._saw(position)
        raise Conflict(self._name_of(sending.subject), expected=sending.expected, last=position)

    async def _own_first(self, sendings: Sequence[Sending], owns: Sequence[str]) -> int | None:
        conflict: Conflict | None = None
        for number, (sending, own) in enumerate(zip(sendings, owns, strict=True)):
            if sending.expected is None:
                continue
            try:
                position = await self._own_position(sending, own)
            except Conflict as found:
                # Another one may be ours: then all are, and this log has gone on since.
                conflict = conflict or found
                continue
            if position is not None:
                return position - number
        if conflict is not None:
            raise conflict
        return None

    async def _found_first(self, sendings: Sequence[Sending], owns: Sequence[str], before: int) -> int | None:
        """Give the position of the first of a batch that the server says it has; its messages lie side by side."""
        subject, own = sendings[0].subject, owns[0]
        at = before
        while True:
            following = await self.first_behind(subject, at)
            if following is None:
                return None
            if following.id == own:
                return following.position
            at = following.position

    def _saw(self, position: int) -> int:
        self.seen = max(self.seen, position)
        return position

    # --------------------------------------------------------------------------------------------------- reading

    async def last(self, wanted: str) -> Stored | None:
        """Give the last message of a subject, or of subjects with wildcards, as the leader has it."""
        return await self._one({"last_by_subj": wanted})

    async def first_behind(self, wanted: str, after: int) -> Stored | None:
        """Give the first message behind a position, as the leader has it."""
        return await self._one({"next_by_subj": wanted, "seq": after + 1})

    async def read(self, wanted: str, after: int, limit: int) -> list[Stored]:
        """Give the first messages behind a position, in order; fewer than `limit` means that there are no more."""
        if self._replicas == 1:
            return await self._batches(wanted, after, limit)
        last, found = await asyncio.gather(self.last(wanted), self._batches(wanted, after, limit))
        position = last.position if last is not None else 0
        while len(found) < limit:
            at = found[-1].position if found else after
            following = await self.first_behind(wanted, at) if at < position else None
            if following is None:
                break
            found.append(following)
        return found

    def page(self, wanted: str, after: int, limit: int) -> tuple[str, bytes]:
        """Give what asks for the first messages behind a position."""
        question = {
            "seq": after + 1,
            "next_by_subj": wanted,
            "batch": min(limit, _BATCH_MAX),
            "max_bytes": max(_BATCH_BYTES, 2 * self._link.payload_bytes_max),
        }
        return f"$JS.API.DIRECT.GET.{self.name}", msgspec.json.encode(question)

    def read_from(self, answers: list[Answer], limit: int) -> list[Stored] | None:
        """Give the messages of a page if they are all that was to be read; else it must be read in another way."""
        end = answers[-1].headers
        if end["Status"] == "404":
            return []
        some = answers[:-1]
        if end["Status"] != "204" or not _is_whole(some, end):
            return None
        if len(some) < limit and int(end.get("Nats-Num-Pending", "0")):
            return None
        return list(map(_stored, some))

    async def _one(self, question: dict[str, str | int]) -> Stored | None:
        pause = Pause(self._link)
        data = msgspec.json.encode(question)
        while True:
            got = _got.decode((await self._link.ask(f"$JS.API.STREAM.MSG.GET.{self.name}", data)).data)
            if got.message is not None:
                message = got.message
                headers = headers_from(message.hdrs)
                self._saw(message.seq)
                return Stored(
                    message.seq,
                    message.subject,
                    message.data,
                    headers.get("Nats-Msg-Id", ""),
                    headers.get("KV-Operation", ""),
                )
            error = got.error or ApiError()
            if error.err_code == NO_MESSAGE:
                return None
            if not may_go_by(error):
                raise problem(error)
            await pause()

    async def _batches(self, wanted: str, after: int, limit: int) -> list[Stored]:
        found: list[Stored] = []
        pause = Pause(self._link)
        while len(found) < limit:
            at = found[-1].position if found else after
            answers = await self._link.ask_many(*self.page(wanted, at, limit - len(found)))
            end = answers.pop().headers
            status = end.get("Status")
            if status == "404":
                break
            if status != "204" or not _is_whole(answers, end):
                # Something was lost on the way, or the server is busy: once more from here.
                await pause()
                continue
            found += map(_stored, answers)
            if not answers or int(end.get("Nats-Num-Pending", "0")) == 0:
                break
        if found:
            self._saw(found[-1].position)
        return found


class Pause:
    """Waits longer each time, and gives up when the link's patience is over."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._pause_s = _PAUSE_S
        self._left_s = link.patience

    async def __call__(self) -> None:
        """Wait; raise `SpaceError` E409 when it has been too long."""
        if self._left_s <= 0:
            raise self._link.lost()
        await asyncio.sleep(self._pause_s)
        self._left_s -= self._pause_s
        self._pause_s = min(2 * self._pause_s, _PAUSE_S_MAX)


def all_of(positions: Sequence[int | SpaceError]) -> list[int]:
    """Give positions; raise the first error that is among them."""
    for one in positions:
        if isinstance(one, SpaceError):
            raise one
    return list(positions)  # type: ignore[arg-type] # no error is left


def _is_whole(answers: Sequence[Answer], end: dict[str, str]) -> bool:
    """Whether none of a batch's messages is missing: each names the one before it, and the first none."""
    before = "0"
    for answer in answers:
        if answer.headers.get("Nats-Last-Sequence") != before:
            return False
        before = answer.headers.get("Nats-Sequence", "")
    return not answers or end.get("Nats-Last-Sequence") == before


def _stored(answer: Answer) -> Stored:
    headers = answer.headers
    position, subject = int(headers["Nats-Sequence"]), headers["Nats-Subject"]
    return Stored(position, subject, answer.data, headers.get("Nats-Msg-Id", ""), headers.get("KV-Operation", ""))


__all__ = ["Pause", "Sending", "Stored", "Stream", "all_of"]
