"""A space on NATS servers with JetStream: any number of machines, and as many copies as there are replicas.

Reading order: nats_address (the URL), nats_wire (what is said), nats_client, nats_questions and nats_link (a connection
that comes again), nats_problems (what servers complain of), nats_stream (append and read), nats_streams (which there
are), nats_append (several at once), nats_blobs, nats_watch. How the server is started: server.

*On disk?* A server answers when it has written to a file, and by default lets the system take up to two minutes to
bring it to the disk: the death of the server loses nothing, a power cut may. With `sync_interval: always` it answers
when it is on the disk. A client cannot ask which it is, so who has set the servers so says it in the URL
(`?durable=yes`), which is remembered when the space is made; `is_durable` repeats it.
"""

from __future__ import annotations

import asyncio
import hashlib
import heapq
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from solvent.errors import Conflict, SpaceError
from solvent.live.space.interface import (
    READ_MAX,
    Append,
    Entry,
    Promise,
    Record,
    Space,
    Watch,
    check_below,
    check_blob_name,
    check_name,
    check_scope,
    check_size,
    is_within,
)
from solvent.live.space.nats_address import read_address

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

    from solvent.live.space.nats_address import Address
    from solvent.live.space.nats_link import Link
    from solvent.live.space.nats_stream import Sending, Stored, Stream
    from solvent.live.space.nats_streams import Streams, Subjects
    from solvent.live.space.nats_watch import NatsWatch

BLOB_BYTES_MAX = 1 << 30
PATIENCE_S = 30.0
_PATIENCE_S_MAX = 300.0
"""An append must not be sent again when the server has forgotten its id."""
_MARKER = {"KV-Operation": "DEL", "Nats-TTL": "24h"}


def open_nats(
    url: str,
    *,
    is_durable: bool | None = None,
    record_bytes_max: int | None = None,
    blob_bytes_max: int = BLOB_BYTES_MAX,
    patience: float = PATIENCE_S,
    is_made: bool = True,
) -> Space:
    """Open a space on NATS servers; it is made when it is not there, or `NoSpace`.

    `patience` is how many seconds an operation may wait for a server to come back. `is_durable` says that the servers
    answer when it is on disk; nothing here can make them do so.
    """
    address = read_address(url)
    try:
        from solvent.live.space.nats_link import Link
    except ImportError:
        hint = "`pip install 'solvent[nats]'`"
        raise SpaceError("E401", "spaces on NATS servers need the package nats-py", hint=hint) from None
    from solvent.live.space.nats_streams import Subjects, open_streams

    if not 0 < patience <= _PATIENCE_S_MAX:
        raise SpaceError("E401", f"the patience with a server is at most {_PATIENCE_S_MAX:g} s")
    subjects = Subjects(address.name)
    link = Link(address, patience=patience)
    link.open()
    said = address.is_durable if is_durable is None else is_durable
    try:
        streams = link.run(open_streams(link, address, subjects, is_durable=said, is_made=is_made))
    except BaseException:
        link.close()
        raise
    size = link.payload_bytes_max if record_bytes_max is None else min(record_bytes_max, link.payload_bytes_max)
    return NatsSpace(address, link, streams, subjects, record_bytes_max=size, blob_bytes_max=blob_bytes_max)


class NatsSpace(Space):
    """See the module's text."""

    def __init__(
        self,
        address: Address,
        link: Link,
        streams: Streams,
        subjects: Subjects,
        *,
        record_bytes_max: int,
        blob_bytes_max: int,
    ) -> None:
        from solvent.live.space.nats_blobs import Blobs

        self.url = address.shown
        self.is_durable = streams.is_durable
        self.replicas = streams.replicas
        self.record_bytes_max = record_bytes_max
        self.blob_bytes_max = blob_bytes_max
        self._link = link
        self._streams = streams
        self._subjects = subjects
        self._blobs = Blobs(link, streams.blobs, subjects, f"{address.name}-blobs")
        self._watches: set[NatsWatch] = set()
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"NatsSpace({self.url!r})"

    # ------------------------------------------------------------------------------------------------------- logs

    def append(self, log: str, data: bytes, *, expected: int | None = None) -> int:
        """Append a record and give its position."""
        return self.append_all((Append(log, data, expected),))[0]

    def append_all(self, appends: Sequence[Append]) -> list[int]:
        """Append several records, in this order, and give their positions; see `nats_append` for how."""
        return self._link.run(self._append_all(appends))

    def append_each(self, appends: Sequence[Append]) -> list[int | SpaceError]:
        """Append records that have nothing to do with each other, one behind the other without waiting in between."""
        results: dict[int, int | SpaceError] = {}
        sendings: dict[int, Sending] = {}
        for number, one in enumerate(appends):
            try:
                sendings[number] = self._sending(one)
            except SpaceError as error:
                results[number] = error
        if sendings:
            positions = _Soon(self._link, self._streams.records, [*sendings.values()]).results()
            results |= zip(sendings, positions, strict=True)
        return [results[number] for number in range(len(appends))]

    def append_soon(self, appends: Sequence[Append]) -> Promise:
        """Begin to `append_all` without waiting for it."""
        try:
            if len(appends) == 1:
                return _Soon(self._link, self._streams.records, [self._sending(appends[0])])
            return self._link.start(self._append_all(appends))
        except SpaceError as error:
            future = Future[list[int]]()
            future.set_exception(error)
            return future

    def _append_all(self, appends: Sequence[Append]) -> Coroutine[Any, Any, list[int]]:
        from solvent.live.space.nats_append import append_all

        return append_all(self._streams, [self._sending(one) for one in appends])

    def _sending(self, append: Append) -> Sending:
        from solvent.live.space.nats_stream import Sending

        log, data, expected = append
        check_name(log)
        check_size(data, self.record_bytes_max, "record")
        return Sending(self._subjects.of_logs(log), bytes(data), expected)

    def read(self, logs: Sequence[str] | str, after: int = 0, limit: int = READ_MAX) -> list[Record]:
        """Give the first records of these logs behind a position, in order of position."""
        scopes = sorted({check_scope(scope) for scope in ([logs] if isinstance(logs, str) else logs)})
        if limit <= 0 or not scopes:
            return []
        # None is read twice.
        scopes = [one for one in scopes if not is_within(one, [other for other in scopes if other != one])]
        found: list[Stored] | None = None
        if len(scopes) == 1 and self.replicas == 1:
            # Mostly it is little, and one answer of one server.
            records = self._streams.records
            page = self._link.ask_many_soon(*records.page(self._subjects.of_logs(scopes[0]), after, limit)).result()
            found = records.read_from(page, limit)
        if found is None:
            found = self._link.run(self._read(scopes, after, limit))
        return [Record(one.position, self._subjects.log_of(one.subject), one.data) for one in found]

    async def _read(self, scopes: Sequence[str], after: int, limit: int) -> list[Stored]:
        records = self._streams.records
        if len(scopes) == 1:
            return await records.read(self._subjects.of_logs(scopes[0]), after, limit)
        # Each log is read for itself. What comes meanwhile is left out, or a record could be missing before one that is
        # there, and whoever goes on from that one would never see it.
        last = await records.last(self._subjects.of_logs(""))
        if last is None or last.position <= after:
            return []
        parts = await asyncio.gather(
            *(records.read(self._subjects.of_logs(scope), after, limit) for scope in scopes),
        )
        return [one for one in heapq.merge(*parts) if one.position <= last.position][:limit]

    def last(self, log: str) -> int:
        """Give the position of a log's last record; 0 if it has none."""
        check_name(log)
        found = self._link.run(self._streams.records.last(self._subjects.of_logs(log)))
        return found.position if found is not None else 0

    # ------------------------------------------------------------------------------------------------------- keys

    def get(self, key: str) -> Entry | None:
        """Give what a key has, or nothing where it is not there."""
        check_name(key)
        return _entry(self._link.run(self._streams.keys.last(self._subjects.of_keys(key))))

    def put(self, key: str, value: bytes, *, expected: int | None = None) -> int:
        """Set a key and give its new revision."""
        check_name(key)
        check_size(value, self.record_bytes_max, "value")
        return self._link.run(self._put(key, bytes(value), expected, None))

    def delete(self, key: str, *, expected: int | None = None) -> None:
        """Remove a key, if it is there."""
        check_name(key)
        self._link.run(self._delete(key, expected))

    def keys(self, below: str) -> dict[str, Entry]:
        """Give all keys below a name, sorted."""
        check_below(below)
        found = self._link.run(self._keys(self._subjects.of_keys(below)))
        return dict(sorted(found.items()))

    async def _put(self, key: str, value: bytes, expected: int | None, headers: dict[str, str] | None) -> int:
        from solvent.live.space.nats_stream import Sending

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
            # Not there, as expected: but it was, and a marker that says so may be replaced unless somebody is faster.
            try:
                marker = last.position if last is not None else 0
                return await stream.append(Sending(subject, value, marker), headers)
            except Conflict:
                continue

    async def _delete(self, key: str, expected: int | None) -> None:
        entry = _entry(await self._streams.keys.last(self._subjects.of_keys(key)))
        revision = entry.revision if entry is not None else 0
        if expected is not None and expected != revision:
            raise Conflict(key, expected=expected, last=revision)
        if entry is not None:
            await self._put(key, b"", expected, _MARKER)

    async def _keys(self, subject: str) -> dict[str, Entry]:
        found: dict[str, Entry] = {}
        at = 0
        while True:
            # A key that changes meanwhile has moved to the end, and is met there.
            some = await self._streams.keys.read(subject, at, READ_MAX)
            for one in some:
                name, entry = self._subjects.key_of(one.subject), _entry(one)
                found.pop(name, None)
                if entry is not None:
                    found[name] = entry
            if len(some) < READ_MAX:
                return found
            at = some[-1].position

    # ------------------------------------------------------------------------------------------- blobs and watches

    def put_blob(self, data: bytes | memoryview) -> str:
        """Keep bytes and give their name."""
        check_size(data, self.blob_bytes_max, "blob")
        view = memoryview(data).cast("B")
        name = hashlib.sha256(view).hexdigest()
        self._link.run(self._blobs.put(name, view))
        return name

    def get_blob(self, name: str) -> bytes:
        """Give the bytes of a name."""
        return self._link.run(self._blobs.get(check_blob_name(name)))

    def watch(self, below: Sequence[str]) -> Watch:
        """Watch logs and keys."""
        from solvent.live.space.nats_watch import NatsWatch

        watch = NatsWatch(self._link, self._streams, self._subjects, [check_scope(one) for one in below], self._forget)
        watch.start()
        with self._lock:
            self._watches.add(watch)
        return watch

    def _forget(self, watch: NatsWatch) -> None:
        with self._lock:
            self._watches.discard(watch)

    def close(self) -> None:
        """Let go of the servers."""
        with self._lock:
            watches = list(self._watches)
        for watch in watches:
            watch.close()
        self._link.close()


class _Soon:
    """Records that are on their way to a stream."""

    def __init__(self, link: Link, stream: Stream, sendings: Sequence[Sending]) -> None:
        self._link = link
        self._stream = stream
        self._asked = stream.asked(sendings)
        self._future = link.ask_each_soon([message for _, _, message in self._asked])

    def done(self) -> bool:
        return self._future.done()

    def results(self) -> list[int | SpaceError]:
        answers = self._future.result()
        return self._stream.positions(answers) or self._link.run(self._stream.settle(self._asked, answers))

    def result(self) -> list[int]:
        from solvent.live.space.nats_stream import all_of

        return all_of(self.results())


def _entry(stored: Stored | None) -> Entry | None:
    return Entry(stored.position, stored.data) if stored is not None and not stored.operation else None


__all__ = ["NatsSpace", "open_nats"]
