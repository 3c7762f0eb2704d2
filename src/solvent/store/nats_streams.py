"""The three streams of a store on NATS: records, keys and blobs; created if missing.

    NAME-records       subjects NAME.log.<log>             one per log; the position is the stream's sequence
    KV_NAME-keys       subjects $KV.NAME-keys.<key>        a key-value bucket: the last message of each key
    OBJ_NAME-blobs     subjects $O.NAME-blobs.{C,M}.<id>   an object store: chunks, and what they make up

They are laid out as NATS' own tools expect. In subjects `/` and `.` change places, since NATS separates levels by dots.
Stored messages are published again on NAME.saw.>, to which watches subscribe: the subjects themselves would also carry
messages that are not stored yet, or refused.

*Repeated appends.* An append carries an id. When it is sent twice, since its answer came late or never, the server
knows the id for some minutes and answers as it did, or should have done, the first time. But with an expected position
it may instead answer "wrong last sequence" because of our own append; and a cluster answers so because of one that was
under way and never completed. So this answer is verified: the first record after the expected position is read, from
the leader, and its id shows whether it is ours; if there is none, the append is repeated.

*Reading* asks for batches (direct get) and has no consumers, which would have to be fetched from, kept alive and
recreated. In a replicated stream any server may answer, even one that lags behind. It has a prefix of the stream, never
anything else; so the leader is asked for the last position as well, and for missing records.

*Several records at once* are appended in one batch, or one after the other without waiting in between. A server accepts
a batch as a whole or not at all. For replicated records a batch is cheapest; a single server makes files for each
batch, which pays only for many records. Otherwise records are sent in order without waiting, with two exceptions:
records after one with an expected position wait until that one is stored. So a process whose log has been taken over
finds out by that record, and does no harm with the rest. And a record waits for the one before it in the same log: else
one that the server refuses for a moment would be stored behind it.
"""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from solvent.errors import Conflict, NoStore, StoreError
from solvent.store.nats_client import headers_from
from solvent.store.nats_link import (
    DUPLICATE_IN_BATCH,
    NO_MESSAGE,
    WRONG_LAST,
    ApiError,
    Outgoing,
    answer_reader,
    may_go_by,
    problem,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from solvent.store.nats_client import Address, Answer
    from solvent.store.nats_link import Link

_PAUSE_S = 0.02
_MAX_PAUSE_S = 0.5
_MAX_BATCH = 1000
"""Messages that a server sends, or accepts, at once."""
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
    time: str = ""


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
    """In a key-value bucket: empty, `DEL` or `PURGE`."""
    at: float = 0.0
    """When it was stored, by the server's clock."""


class Sending(NamedTuple):
    """A message to be appended."""

    subject: str
    data: bytes
    expected: int | None = None


_ack = answer_reader(_Ack)
_got = answer_reader(_Got)


class Stream:
    """A stream of a server; coroutines are for the link's loop."""

    def __init__(self, link: Link, name: str, *, replicas: int, name_of: Callable[[str], str]) -> None:
        self.name = name
        self.seen = 0
        """The highest position that is known to exist."""
        self._link = link
        self._replicas = replicas
        self._name_of = name_of

    # ------------------------------------------------------------------------------------------------- appending

    async def append(self, sending: Sending, headers: dict[str, str] | None = None) -> int:
        """Append a message and return its position; raise `Conflict` if another one was expected."""
        own = self._link.new_id()
        marked = self._marked(sending, own, headers)
        return await self._appended(sending, own, marked, await self._link.ask(*marked))

    async def append_each(self, sendings: Sequence[Sending]) -> list[int | StoreError]:
        """Append messages without waiting in between; return the position or the error of each."""
        if not sendings:
            return []
        asked = self.asked(sendings)
        answers = await self._link.ask_each([message for _, _, message in asked])
        return self.positions(answers) or await self.settle(asked, answers)

    def asked(self, sendings: Sequence[Sending]) -> list[tuple[Sending, str, Outgoing]]:
        """Return the messages to send, with their ids; for any thread."""
        found = []
        for sending in sendings:
            own = self._link.new_id()
            found.append((sending, own, self._marked(sending, own, None)))
        return found

    def positions(self, answers: Sequence[Answer | StoreError]) -> list[int | StoreError] | None:
        """Return the positions, if all answers have one; for any thread."""
        found: list[int | StoreError] = []
        for answer in answers:
            position = 0 if isinstance(answer, StoreError) else _ack(answer.data).seq
            if not position:
                return None
            found.append(self._saw(position))
        return found

    async def settle(
        self, asked: Sequence[tuple[Sending, str, Outgoing]], answers: Sequence[Answer | StoreError]
    ) -> list[int | StoreError]:
        """Return the position or the error of each message; send those again that need it."""
        results = await asyncio.gather(
            *(self._appended(*one, answer) for one, answer in zip(asked, answers, strict=True)), return_exceptions=True
        )
        found: list[int | StoreError] = []
        for result in results:
            if isinstance(result, BaseException) and not isinstance(result, StoreError):
                raise result
            found.append(result)
        return found

    async def _appended(self, sending: Sending, own: str, marked: Outgoing, answer: Answer | StoreError) -> int:
        """Return the position of a message; send it again while its answer is inconclusive."""
        if isinstance(answer, StoreError):
            raise answer
        pause: Pause | None = None
        while True:
            ack = _ack(answer.data)
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
        """Append messages, all or none of them, and return their positions."""
        assert 0 < len(sendings) <= _MAX_BATCH
        owns = [self._link.new_id() for _ in sendings]
        marked = [self._marked(sending, own, None) for sending, own in zip(sendings, owns, strict=True)]
        before = self.seen
        pause = Pause(self._link)
        while True:
            ack = _ack((await self._link.ask_batch(marked)).data)
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
        """Return the position of our refused append, `None` if the log is as expected, or raise `Conflict`."""
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
                # Another one may be ours: then all are, and this log has grown since.
                conflict = conflict or found
                continue
            if position is not None:
                return position - number
        if conflict is not None:
            raise conflict
        return None

    async def _found_first(self, sendings: Sequence[Sending], owns: Sequence[str], before: int) -> int | None:
        """Return the position of the first message of a batch that the server has; the others follow it directly."""
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
        """Return the last message of a subject, or of subjects with wildcards, as the leader has it."""
        return await self._one({"last_by_subj": wanted})

    async def first_behind(self, wanted: str, after: int) -> Stored | None:
        """Return the first message after a position, as the leader has it."""
        return await self._one({"next_by_subj": wanted, "seq": after + 1})

    async def read(self, wanted: str, after: int, limit: int) -> list[Stored]:
        """Return the first messages after a position, in order; fewer than `limit` means that there are no more."""
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
        """Return the subject and body of a request for the first messages after a position."""
        question = {
            "seq": after + 1,
            "next_by_subj": wanted,
            "batch": min(limit, _MAX_BATCH),
            "max_bytes": max(_BATCH_BYTES, 2 * self._link.max_payload_bytes),
        }
        return f"$JS.API.DIRECT.GET.{self.name}", msgspec.json.encode(question)

    def read_from(self, answers: list[Answer], limit: int) -> list[Stored] | None:
        """Return the messages of a page if it is complete; otherwise `None`."""
        end = answers[-1].headers
        if end["Status"] == "404":
            return []
        some = answers[:-1]
        if end["Status"] != "204" or not _is_whole(some, end):
            return None
        if len(some) < limit and int(end.get("Nats-Num-Pending", "0")):
            return None
        return list(map(_stored, some))

    async def purge(self, wanted: str, up_to: int | None = None) -> None:
        """Remove the messages of a subject, or of subjects with wildcards; perhaps only up to a position."""
        question: dict[str, str | int] = {"filter": wanted}
        if up_to is not None:
            question["seq"] = up_to + 1
        ack = _ack((await self._link.ask(f"$JS.API.STREAM.PURGE.{self.name}", msgspec.json.encode(question))).data)
        if ack.error is not None:
            raise problem(ack.error)

    async def now(self) -> float:
        """Return the time by the server's clock."""
        info = await _asked(self._link, f"$JS.API.STREAM.INFO.{self.name}", b"")
        if info.error is not None:
            raise problem(info.error)
        return _seconds(info.ts)

    async def subjects(self, wanted: str) -> set[str]:
        """Return the subjects that have messages, of those that fit."""
        found = set[str]()
        offset = 0
        while True:
            question = msgspec.json.encode({"subjects_filter": wanted, "offset": offset})
            info = await _asked(self._link, f"$JS.API.STREAM.INFO.{self.name}", question)
            if info.error is not None:
                raise problem(info.error)
            some = info.state.subjects or {}
            found.update(some)
            offset += len(some)
            if not some or offset >= info.total:
                return found

    async def _one(self, question: dict[str, str | int]) -> Stored | None:
        pause = Pause(self._link)
        data = msgspec.json.encode(question)
        while True:
            got = _got((await self._link.ask(f"$JS.API.STREAM.MSG.GET.{self.name}", data)).data)
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
                    _seconds(message.time),
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
                # An answer was lost, or the server is busy: ask again from here.
                await pause()
                continue
            found += map(_stored, answers)
            if not answers or int(end.get("Nats-Num-Pending", "0")) == 0:
                break
        if found:
            self._saw(found[-1].position)
        return found


class Pause:
    """A pause that grows each time, until the link's patience is over."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._pause_s = _PAUSE_S
        self._left_s = link.patience

    async def __call__(self) -> None:
        """Wait; raise `StoreError` E409 when the patience is over."""
        if self._left_s <= 0:
            raise self._link.lost()
        await asyncio.sleep(self._pause_s)
        self._left_s -= self._pause_s
        self._pause_s = min(2 * self._pause_s, _MAX_PAUSE_S)


def all_of(positions: Sequence[int | StoreError]) -> list[int]:
    """Return positions; raise the first error among them."""
    for one in positions:
        if isinstance(one, StoreError):
            raise one
    return list(positions)  # type: ignore[arg-type] # no error is left


def _is_whole(answers: Sequence[Answer], end: dict[str, str]) -> bool:
    """Return whether a batch is complete: each message names the one before it, and the first none."""
    before = "0"
    for answer in answers:
        if answer.headers.get("Nats-Last-Sequence") != before:
            return False
        before = answer.headers.get("Nats-Sequence", "")
    return not answers or end.get("Nats-Last-Sequence") == before


def _stored(answer: Answer) -> Stored:
    headers = answer.headers
    position, subject = int(headers["Nats-Sequence"]), headers["Nats-Subject"]
    own, operation = headers.get("Nats-Msg-Id", ""), headers.get("KV-Operation", "")
    return Stored(position, subject, answer.data, own, operation, _seconds(headers.get("Nats-Time-Stamp", "")))


def _seconds(text: str) -> float:
    """Return a time of a server; 0 where it has said none."""
    return datetime.fromisoformat(text).timestamp() if text else 0.0


FORMAT = "2"
REMEMBERED_S = 600
"""How long a server knows the ids of messages; no append is sent again after that."""

_FORMAT_KEY = "solvent.format"
_DURABLE_KEY = "solvent.durable"
_SWAP = str.maketrans("/.", "./")
_NOT_CLUSTERED = 10074
_NO_PEERS = frozenset({10005, 10012})
_TAKEN = frozenset({10058, 10065})
_SECOND = 1_000_000_000


class _Config(msgspec.Struct):
    num_replicas: int = 1
    allow_atomic: bool = False
    metadata: dict[str, str] = {}


class _State(msgspec.Struct):
    subjects: dict[str, int] | None = None


class _Info(msgspec.Struct):
    config: _Config | None = None
    ts: str = ""
    state: _State = msgspec.field(default_factory=_State)
    total: int = 0
    error: ApiError | None = None


class Streams(NamedTuple):
    """The streams of a store."""

    records: Stream
    keys: Stream
    blobs: Stream
    replicas: int
    is_atomic: bool
    is_durable: bool


class Subjects:
    """Translates between names and subjects."""

    def __init__(self, store: str) -> None:
        self.log = f"{store}.log."
        self.key = f"$KV.{store}-keys."
        self.saw = f"{store}.saw."
        self.chunks = f"$O.{store}-blobs.C."
        self.meta = f"$O.{store}-blobs.M."

    def of_logs(self, scope: str) -> str:
        """Return the subject of a log, or of all below a name that ends in `/`."""
        return self.log + _of(scope)

    def of_keys(self, scope: str) -> str:
        """Return the subject of a key, or of all below."""
        return self.key + _of(scope)

    def saying(self, scope: str) -> tuple[str, str]:
        """Return the subjects on which changes of a scope's logs and keys are published."""
        return f"{self.saw}log.{_of(scope)}", f"{self.saw}key.{_of(scope)}"

    def log_of(self, subject: str) -> str:
        """Return the name of a log."""
        return subject[len(self.log) :].translate(_SWAP)

    def key_of(self, subject: str) -> str:
        """Return the name of a key."""
        return subject[len(self.key) :].translate(_SWAP)


def _of(scope: str) -> str:
    subject = scope.translate(_SWAP)
    return f"{subject}>" if not scope or scope[-1] == "/" else subject


async def open_streams(
    link: Link, address: Address, subjects: Subjects, *, is_durable: bool | None, is_made: bool = True
) -> Streams:
    """Open or create the streams; raise `StoreError` if they are foreign, differ from the address, or are missing."""
    store = address.name
    wanted = address.replicas or 1
    metadata = {_FORMAT_KEY: FORMAT, _DURABLE_KEY: "yes" if is_durable else "no"}
    common: dict[str, Any] = {
        "storage": "file",
        "num_replicas": wanted,
        "allow_direct": True,
        "duplicate_window": REMEMBERED_S * _SECOND,
        "metadata": metadata,
    }
    records = {
        "name": f"{store}-records",
        "subjects": [f"{subjects.log}>"],
        "deny_delete": True,
        "allow_atomic": True,
        "republish": {"src": f"{subjects.log}>", "dest": f"{subjects.saw}log.>", "headers_only": True},
    }
    keys = {
        "name": f"KV_{store}-keys",
        "subjects": [f"{subjects.key}>"],
        "max_msgs_per_subject": 1,
        "discard": "new",
        "allow_rollup_hdrs": True,
        "deny_delete": True,
        "allow_msg_ttl": True,
        "republish": {"src": f"{subjects.key}>", "dest": f"{subjects.saw}key.>", "headers_only": True},
    }
    blobs = {
        "name": f"OBJ_{store}-blobs",
        "subjects": [f"{subjects.chunks}>", f"{subjects.meta}>"],
        "discard": "new",
        "allow_rollup_hdrs": True,
    }
    found = [await _opened(link, {**common, **one}, address, is_made=is_made) for one in (records, keys, blobs)]
    first = found[0]
    return Streams(
        Stream(link, f"{store}-records", replicas=found[0].num_replicas, name_of=subjects.log_of),
        Stream(link, f"KV_{store}-keys", replicas=found[1].num_replicas, name_of=subjects.key_of),
        Stream(link, f"OBJ_{store}-blobs", replicas=found[2].num_replicas, name_of=str),
        replicas=first.num_replicas,
        is_atomic=first.allow_atomic,
        is_durable=first.metadata.get(_DURABLE_KEY) == "yes" if is_durable is None else is_durable,
    )


async def _opened(link: Link, config: dict[str, Any], address: Address, *, is_made: bool) -> _Config:
    """Open or create a stream."""
    pause = Pause(link)
    name = config["name"]
    while True:
        info = await _asked(link, f"$JS.API.STREAM.INFO.{name}", b"")
        if info.error is not None and info.error.code == 404:
            if not is_made:
                hint = "check its name, nats://host:port/NAME; the first run creates it"
                raise NoStore(f"there is no store `{address.name}` at {address.shown}", hint=hint)
            info = await _asked(link, f"$JS.API.STREAM.CREATE.{name}", msgspec.json.encode(config))
        if info.config is not None:
            return _checked(info.config, name, address)
        error = info.error or ApiError()
        if error.err_code == _NOT_CLUSTERED:
            said = f"{address.replicas} replicas need a cluster of servers, and this is a single server"
            raise StoreError("E401", said, hint="docs/how-to/cluster.md shows how to start three")
        # Another client creates it at the same time, or the cluster is still forming.
        if error.code != 503 and error.err_code not in _NO_PEERS | _TAKEN:
            raise problem(error)
        await pause()


_info = answer_reader(_Info)


async def _asked(link: Link, subject: str, data: bytes) -> _Info:
    return _info((await link.ask(subject, data)).data)


def _checked(config: _Config, name: str, address: Address) -> _Config:
    found = config.metadata.get(_FORMAT_KEY)
    if found is None:
        said = f"the server has a stream `{name}` that belongs to no store"
        raise StoreError("E401", said, hint="give the store another name: `nats://host:port/NAME`")
    if found != FORMAT:
        said = f"the store `{address.name}` has format {found}, but this version of Solvent reads format {FORMAT}"
        raise StoreError("E407", said, hint="use the version of Solvent that created it, or another name")
    if address.replicas is not None and address.replicas != config.num_replicas:
        said = f"the store `{address.name}` has {config.num_replicas} replicas, not {address.replicas}"
        hint = f"omit `replicas`, or change it on the server: `nats stream edit {name} --replicas N`"
        raise StoreError("E401", said, hint=hint)
    return config


_MAX_PIECE = 500
_MAX_PIECE_BYTES = 8 << 20
_MIN_ALONE = 200
"""From this number of records on, a batch is cheaper even on a single server,"""
_MIN_ALONE_DURABLE = 12
"""and from this number on if each record would be synced to disk by itself."""


async def append_all(streams: Streams, sendings: Sequence[Sending]) -> list[int]:
    """Append records in this order and return their positions."""
    positions: list[int] = []
    for some in _pieces(sendings):
        if streams.is_atomic and len(some) >= _fewest(streams) and not _is_fenced_within(some):
            positions += await streams.records.append_batch(some)
            continue
        for group in _groups(some):
            positions += all_of(await streams.records.append_each(group))
    return positions


def _fewest(streams: Streams) -> int:
    if streams.replicas > 1:
        return 2
    return _MIN_ALONE_DURABLE if streams.is_durable else _MIN_ALONE


def _pieces(sendings: Sequence[Sending]) -> Iterator[list[Sending]]:
    """Divide records into batches of limited size."""
    piece: list[Sending] = []
    size = 0
    for sending in sendings:
        if piece and (len(piece) == _MAX_PIECE or size + len(sending.data) > _MAX_PIECE_BYTES):
            yield piece
            piece, size = [], 0
        piece.append(sending)
        size += len(sending.data)
    if piece:
        yield piece


def _is_fenced_within(sendings: Sequence[Sending]) -> bool:
    """Return whether a record expects a position of a log that the batch extends before: no batch can check that."""
    before: set[str] = set()
    for sending in sendings:
        if sending.expected is not None and sending.subject in before:
            return True
        before.add(sending.subject)
    return False


def _groups(sendings: Sequence[Sending]) -> Iterator[list[Sending]]:
    """Divide after each record, or run of records, with an expected position, and before a second one of a log."""
    group: list[Sending] = []
    logs: set[str] = set()
    for sending in sendings:
        if group and ((group[-1].expected is not None and sending.expected is None) or sending.subject in logs):
            yield group
            group, logs = [], set()
        group.append(sending)
        logs.add(sending.subject)
    if group:
        yield group


__all__ = [
    "FORMAT",
    "Pause",
    "Sending",
    "Stored",
    "Stream",
    "Streams",
    "Subjects",
    "all_of",
    "append_all",
    "open_streams",
]
