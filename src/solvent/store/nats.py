"""A store on NATS servers with JetStream: any number of machines, and as many copies as there are replicas.

*Durability.* A server answers when it has written to a file, and by default lets the system take up to two minutes to
sync it: the death of the server loses nothing, a power cut may. With `sync_interval: always` it answers when the data
is on disk. A client cannot ask a server which it is, so the URL states it (`?durable=yes`); this is stored when the
store is created, and `is_durable` repeats it.

*Blobs* are in an object store, whose objects are named by their content. A blob is chunks on a subject of their own, in
order, and then a description that names that subject. Only the description makes the blob exist: a writer that dies
before leaves chunks that are never read. Of two writers of the same blob, the first to describe it has put it, and the
other removes its chunks. A sweep first describes a blob as deleted, at the position at which it saw it: whoever puts it
again meanwhile has described it anew, and it stays. Times are the server's.

*Watches.* The server publishes what it has stored, and a lost connection counts as a change. Notices are not stored:
one is lost when a leader dies between storing and publishing. So a wait also checks the last positions every few
seconds.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import heapq
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from solvent.errors import Conflict, StoreError
from solvent.store.interface import (
    FRESH,
    MAX_READ,
    Append,
    Entry,
    Promise,
    Record,
    Store,
    Swept,
    Watch,
    is_within,
)
from solvent.store.nats_client import read_address
from solvent.store.nats_link import Link
from solvent.store.nats_streams import Sending, Subjects, all_of, append_all, open_streams
from solvent.values.limits import UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Coroutine, Sequence

    from solvent.store.nats_client import Address
    from solvent.store.nats_streams import Stored, Stream, Streams
    from solvent.values.encoding import Pieces

_CHUNK_BYTES = 256 << 10
_ROLLUP = {"Nats-Rollup": "sub"}
_AT_ONCE = 16
_MAX_TRIES = 5


class _Description(msgspec.Struct, omit_defaults=True):
    """The description of an object in NATS' object store."""

    name: str
    bucket: str = ""
    nuid: str = ""
    size: int = 0
    mtime: str = ""
    chunks: int = 0
    digest: str = ""
    deleted: bool = False
    options: dict[str, int] = {}


class Blobs:
    """The blobs of a store; coroutines are for the link's loop."""

    def __init__(self, link: Link, stream: Stream, subjects: Subjects, bucket: str) -> None:
        self._link = link
        self._stream = stream
        self._subjects = subjects
        self._bucket = bucket

    async def put(self, name: str, data: Pieces) -> None:
        """Keep bytes under the name of their content."""
        subject = self._meta(name)
        for _ in range(_MAX_TRIES):
            before = await self._stream.last(subject)
            if before is not None and _is_there(before):
                if abs(time.time() - before.at) >= FRESH:
                    # It is described again, so that no sweep takes it for one that is not used.
                    try:
                        await self._stream.append(Sending(subject, before.data, before.position), _ROLLUP)
                    except Conflict:
                        continue
                return
            chunks, positions = await self._put_chunks(data)
            if positions != sorted(positions):
                # A chunk was sent again and came after the next one.
                await self._stream.purge(self._subjects.chunks + chunks)
                continue
            description = self._describe(name, data, chunks, len(positions))
            sending = Sending(subject, msgspec.json.encode(description), before.position if before is not None else 0)
            try:
                await self._stream.append(sending, _ROLLUP)
            except Conflict:
                await self._stream.purge(self._subjects.chunks + chunks)
                continue
            return
        raise self._link.lost()

    async def get(self, name: str) -> bytes:
        """Return the bytes of a name; raise `StoreError` E406 if they are missing or damaged."""
        found = await self._stream.last(self._meta(name))
        description = _described(found) if found is not None else None
        if description is None or description.deleted:
            raise StoreError("E406", f"there is no blob {name}")
        chunks = await self._stream.read(self._subjects.chunks + description.nuid, 0, description.chunks + 1)
        data = b"".join([chunk.data for chunk in chunks])
        if hashlib.sha256(data).hexdigest() != name:
            said = f"the blob {name} is damaged: {len(data):,} bytes found, {description.size:,} expected"
            raise StoreError("E406", said)
        return data

    def _meta(self, name: str) -> str:
        return self._subjects.meta + base64.urlsafe_b64encode(name.encode()).decode()

    async def _put_chunks(self, data: Pieces) -> tuple[str, list[int]]:
        # An object store's chunks have an id of one level.
        own = self._link.new_id().replace(".", "-")
        subject = self._subjects.chunks + own
        size = min(_CHUNK_BYTES, self._link.max_payload_bytes)
        chunks = (bytes(piece[at : at + size]) for piece in data for at in range(0, len(piece), size))
        positions: list[int] = []
        while some := [Sending(subject, chunk) for chunk in islice(chunks, _AT_ONCE)]:
            positions += all_of(await self._stream.append_each(some))
        return own, positions

    def _describe(self, name: str, data: Pieces, chunks: str, count: int) -> _Description:
        digest = base64.urlsafe_b64encode(bytes.fromhex(name)).decode()
        return _Description(
            name=name,
            bucket=self._bucket,
            nuid=chunks,
            size=len(data),
            mtime=datetime.now(UTC).isoformat().replace("+00:00", "Z"),
            chunks=count,
            digest=f"SHA-256={digest}",
            options={"max_chunk_size": _CHUNK_BYTES},
        )

    async def sweep(self, used: Collection[str], min_age: float, *, is_tried: bool) -> Swept:
        """Remove blobs that are not used, and chunks that no description names."""
        before = await self._stream.now() - min_age
        described, count, size = set[str](), 0, 0
        for stored in await self._descriptions():
            try:
                one = _described(stored)
            except StoreError:
                continue
            if not one.deleted and (one.name in used or stored.at >= before):
                described.add(one.nuid)
                continue
            count, size = count + (not one.deleted), size + one.size * (not one.deleted)
            if not is_tried and not await self._remove(stored, one):
                described.add(one.nuid)
        if not is_tried:
            for subject in await self._stream.subjects(f"{self._subjects.chunks}>"):
                if subject.removeprefix(self._subjects.chunks) not in described:
                    last = await self._stream.last(subject)
                    if last is not None and last.at < before:
                        await self._stream.purge(subject)
        return Swept(count, size)

    async def _descriptions(self) -> list[Stored]:
        found: list[Stored] = []
        while True:
            some = await self._stream.read(f"{self._subjects.meta}>", found[-1].position if found else 0, MAX_READ)
            found += some
            if len(some) < MAX_READ:
                return found

    async def _remove(self, stored: Stored, one: _Description) -> bool:
        """Remove a blob, unless it was put again since it was seen."""
        last = stored.position
        if not one.deleted:
            gone = msgspec.json.encode(msgspec.structs.replace(one, deleted=True))
            try:
                last = await self._stream.append(Sending(stored.subject, gone, stored.position), _ROLLUP)
            except Conflict:
                return False
        await self._stream.purge(self._subjects.chunks + one.nuid)
        await self._stream.purge(stored.subject, last)
        return True


def _described(stored: Stored) -> _Description:
    try:
        return msgspec.json.decode(stored.data, type=_Description)
    except UNREADABLE:
        said = f"the description of a blob cannot be read: {stored.subject}, message {stored.position}"
        raise StoreError("E406", said, hint="put the same bytes again to repair it") from None


def _is_there(stored: Stored) -> bool:
    """Return whether a blob is described and not deleted; an unreadable description is written again."""
    try:
        return not _described(stored).deleted
    except StoreError:
        return False


_LOOK_S = 2.0


class NatsWatch(Watch):
    """Watches some logs and keys of one store."""

    def __init__(
        self,
        link: Link,
        streams: Streams,
        subjects: Subjects,
        scopes: Sequence[str],
        forget: Callable[[Watch], None],
    ) -> None:
        self._link = link
        self._streams = streams
        self._subjects = subjects
        self._scopes = tuple(scopes)
        self._forget = forget
        self._news = threading.Event()
        self._is_closed = False
        self._numbers: list[int] = []
        self._known: list[int] = []
        self._look_at = 0.0

    def start(self) -> None:
        """Begin to watch."""
        self._known = self._link.run(self._begin())
        self._news.clear()
        self._look_at = time.monotonic() + _LOOK_S

    async def _begin(self) -> list[int]:
        told = {subject for scope in self._scopes for subject in self._subjects.saying(scope)}
        self._numbers = [await self._link.listen(subject, self._news.set) for subject in sorted(told)]
        return await self._last()

    async def _last(self) -> list[int]:
        """Return the last positions of all watched names."""
        logs = [self._streams.records.last(self._subjects.of_logs(scope)) for scope in self._scopes]
        keys = [self._streams.keys.last(self._subjects.of_keys(scope)) for scope in self._scopes]
        return [found.position if found is not None else 0 for found in await asyncio.gather(*logs, *keys)]

    def wait(self, seconds: float) -> bool:
        """Wait until something watched may have changed; return false when the time is over, or the watch is closed."""
        until = time.monotonic() + seconds
        while not self._is_closed:
            now = time.monotonic()
            if self._news.wait(max(0.0, min(until, self._look_at) - now)):
                self._news.clear()
                return not self._is_closed
            if time.monotonic() >= self._look_at and self._has_moved():
                # Perhaps by a change that was reported before: a needless wake costs less than a look after each
                # notice.
                return True
            if time.monotonic() >= until:
                return False
        return False

    def _has_moved(self) -> bool:
        if self._is_closed:
            return False
        try:
            now = self._link.run(self._last())
        except StoreError as error:
            if error.code == "E408":
                return False
            raise
        self._look_at = time.monotonic() + _LOOK_S
        has_moved, self._known = now != self._known, now
        return has_moved

    def close(self) -> None:
        """Stop watching."""
        if self._is_closed:
            return
        self._is_closed = True
        self._news.set()
        with suppress(StoreError):
            self._link.run(self._link.stop_listening(self._numbers))
        self._forget(self)


MAX_BLOB_BYTES = 1 << 30
PATIENCE_S = 30.0
_MAX_PATIENCE_S = 300.0
"""An append must not be sent again after the server has forgotten its id."""
_MARKER = {"KV-Operation": "DEL", "Nats-TTL": "24h"}


def open_nats(
    url: str,
    *,
    is_durable: bool | None = None,
    max_record_bytes: int | None = None,
    max_blob_bytes: int = MAX_BLOB_BYTES,
    patience: float = PATIENCE_S,
    is_made: bool = True,
) -> Store:
    """Open a store on NATS servers; create it if missing, or raise `NoStore`.

    `patience` is how many seconds an operation waits for a server to return. `is_durable` states that the servers
    answer when data is on disk; a client cannot make them do so.
    """
    address = read_address(url)
    if not 0 < patience <= _MAX_PATIENCE_S:
        raise StoreError("E401", f"`patience` must be above 0 and at most {_MAX_PATIENCE_S:g} s")
    subjects = Subjects(address.name)
    link = Link(address, patience=patience)
    link.open()
    said = address.is_durable if is_durable is None else is_durable
    try:
        streams = link.run(open_streams(link, address, subjects, is_durable=said, is_made=is_made))
    except BaseException:
        link.close()
        raise
    size = link.max_payload_bytes if max_record_bytes is None else min(max_record_bytes, link.max_payload_bytes)
    return NatsStore(address, link, streams, subjects, max_record_bytes=size, max_blob_bytes=max_blob_bytes)


class NatsStore(Store):
    """A store on NATS servers; `open_nats` makes them."""

    def __init__(
        self,
        address: Address,
        link: Link,
        streams: Streams,
        subjects: Subjects,
        *,
        max_record_bytes: int,
        max_blob_bytes: int,
    ) -> None:
        super().__init__(
            address.shown,
            is_durable=streams.is_durable,
            max_record_bytes=max_record_bytes,
            max_blob_bytes=max_blob_bytes,
        )
        self.replicas = streams.replicas
        self._link = link
        self._streams = streams
        self._subjects = subjects
        self._blobs = Blobs(link, streams.blobs, subjects, f"{address.name}-blobs")

    def __repr__(self) -> str:
        return f"NatsStore({self.url!r})"

    # ------------------------------------------------------------------------------------------------------- logs

    def _append_all(self, appends: Sequence[Append]) -> list[int]:
        return self._link.run(self._appending(appends))

    def append_each(self, appends: Sequence[Append]) -> list[int | StoreError]:
        """Append records that do not depend on each other, without waiting in between."""
        results: dict[int, int | StoreError] = {}
        sendings: dict[int, Sending] = {}
        for number, one in enumerate(appends):
            try:
                self._check_append(one)
                sendings[number] = self._sending(one)
            except StoreError as error:
                results[number] = error
        if sendings:
            positions = _Soon(self._link, self._streams.records, [*sendings.values()]).results()
            results |= zip(sendings, positions, strict=True)
        return [results[number] for number in range(len(appends))]

    def append_soon(self, appends: Sequence[Append]) -> Promise:
        """Begin to `append_all` without waiting for it."""
        try:
            for one in appends:
                self._check_append(one)
            if len(appends) == 1:
                return _Soon(self._link, self._streams.records, [self._sending(appends[0])])
            return self._link.start(self._appending(appends))
        except StoreError as error:
            future = Future[list[int]]()
            future.set_exception(error)
            return future

    def _appending(self, appends: Sequence[Append]) -> Coroutine[Any, Any, list[int]]:
        return append_all(self._streams, [self._sending(one) for one in appends])

    def _sending(self, append: Append) -> Sending:
        return Sending(self._subjects.of_logs(append.log), bytes(append.data), append.expected)

    def _read(self, scopes: Sequence[str], after: int, limit: int) -> list[Record]:
        # None is read twice.
        scopes = sorted(set(scopes))
        scopes = [one for one in scopes if not is_within(one, [other for other in scopes if other != one])]
        found: list[Stored] | None = None
        if len(scopes) == 1 and self.replicas == 1:
            # Mostly there are few records, in one answer of one server.
            records = self._streams.records
            page = self._link.ask_many_soon(*records.page(self._subjects.of_logs(scopes[0]), after, limit)).result()
            found = records.read_from(page, limit)
        if found is None:
            found = self._link.run(self._stored(scopes, after, limit))
        return [Record(one.position, self._subjects.log_of(one.subject), one.data) for one in found]

    async def _stored(self, scopes: Sequence[str], after: int, limit: int) -> list[Stored]:
        records = self._streams.records
        if len(scopes) == 1:
            return await records.read(self._subjects.of_logs(scopes[0]), after, limit)
        # Each log is read separately. Records appended meanwhile are left out: otherwise one could be missing before
        # another that is returned, and a reader that continues from there would never see it.
        last = await records.last(self._subjects.of_logs(""))
        if last is None or last.position <= after:
            return []
        parts = await asyncio.gather(
            *(records.read(self._subjects.of_logs(scope), after, limit) for scope in scopes),
        )
        return [one for one in heapq.merge(*parts) if one.position <= last.position][:limit]

    def _last(self, log: str) -> int:
        found = self._link.run(self._streams.records.last(self._subjects.of_logs(log)))
        return found.position if found is not None else 0

    # ------------------------------------------------------------------------------------------------------- keys

    def _get(self, key: str) -> Entry | None:
        return _entry(self._link.run(self._streams.keys.last(self._subjects.of_keys(key))))

    def _put(self, key: str, value: bytes, expected: int | None) -> int:
        return self._link.run(self._change(key, bytes(value), expected))

    def _delete(self, key: str, expected: int | None) -> None:
        self._link.run(self._remove(key, expected))

    def _keys(self, below: str) -> dict[str, Entry]:
        found = self._link.run(self._entries(self._subjects.of_keys(below)))
        return dict(sorted(found.items()))

    async def _change(self, key: str, value: bytes, expected: int | None, headers: dict[str, str] | None = None) -> int:
        stream, subject = self._streams.keys, self._subjects.of_keys(key)
        while True:
            try:
                return await stream.append(Sending(subject, value, expected), headers)
            except Conflict:
                assert expected is not None
                last = await stream.last(subject)
                entry = _entry(last)
                if expected != 0 or entry is not None:
                    raise Conflict(key, expected=expected, last=entry.revision if entry is not None else 0) from None
            # It does not exist, as expected, but it did: its deletion marker may be replaced, unless another is faster.
            try:
                marker = last.position if last is not None else 0
                return await stream.append(Sending(subject, value, marker), headers)
            except Conflict:
                continue

    async def _remove(self, key: str, expected: int | None) -> None:
        entry = _entry(await self._streams.keys.last(self._subjects.of_keys(key)))
        revision = entry.revision if entry is not None else 0
        if expected is not None and expected != revision:
            raise Conflict(key, expected=expected, last=revision)
        if entry is not None:
            await self._change(key, b"", expected, _MARKER)

    def _drop(self, scope: str, up_to: int | None) -> None:
        self._link.run(self._streams.records.purge(self._subjects.of_logs(scope), up_to))
        if up_to is None:
            self._link.run(self._streams.keys.purge(self._subjects.of_keys(scope)))

    async def _entries(self, subject: str) -> dict[str, Entry]:
        found: dict[str, Entry] = {}
        at = 0
        while True:
            # A key that changes meanwhile has moved to the end, and is found there.
            some = await self._streams.keys.read(subject, at, MAX_READ)
            for one in some:
                name, entry = self._subjects.key_of(one.subject), _entry(one)
                found.pop(name, None)
                if entry is not None:
                    found[name] = entry
            if len(some) < MAX_READ:
                return found
            at = some[-1].position

    # ------------------------------------------------------------------------------------------- blobs and watches

    def _put_blob(self, name: str, pieces: Pieces) -> None:
        self._link.run(self._blobs.put(name, pieces))

    def _get_blob(self, name: str) -> bytes:
        return self._link.run(self._blobs.get(name))

    def _sweep_blobs(self, used: Collection[str], min_age: float, is_tried: bool) -> Swept:  # noqa: FBT001
        return self._link.run(self._blobs.sweep(used, min_age, is_tried=is_tried))

    def _watch(self, scopes: Sequence[str]) -> Watch:
        watch = NatsWatch(self._link, self._streams, self._subjects, scopes, self._forget)
        watch.start()
        return watch

    def _close(self) -> None:
        self._link.close()


class _Soon:
    """Appends to a stream that are under way."""

    def __init__(self, link: Link, stream: Stream, sendings: Sequence[Sending]) -> None:
        self._link = link
        self._stream = stream
        self._asked = stream.asked(sendings)
        self._future = link.ask_each_soon([message for _, _, message in self._asked])

    def done(self) -> bool:
        return self._future.done()

    def results(self) -> list[int | StoreError]:
        answers = self._future.result()
        return self._stream.positions(answers) or self._link.run(self._stream.settle(self._asked, answers))

    def result(self) -> list[int]:
        return all_of(self.results())


def _entry(stored: Stored | None) -> Entry | None:
    return Entry(stored.position, stored.data) if stored is not None and not stored.operation else None


__all__ = ["Blobs", "NatsStore", "NatsWatch", "open_nats"]
