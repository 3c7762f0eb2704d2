"""Blobs on NATS: an object store, whose objects are named by what is in them.

A blob is chunks on a subject of their own, in order, and then a description that says which subject that is. Only the
description makes it be there: a writer that dies before leaves chunks that nobody reads. Of two writers of the same
blob, the first to describe it has put it, and the other takes its chunks away again.
"""

from __future__ import annotations

import base64
import hashlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from solvent.errors import Conflict, SpaceError
from solvent.live.space.nats_stream import Sending, all_of

if TYPE_CHECKING:
    from solvent.live.space.nats_link import Link
    from solvent.live.space.nats_stream import Stored, Stream
    from solvent.live.space.nats_streams import Subjects

_CHUNK_BYTES = 256 << 10
_AT_ONCE = 16
_TRIES_MAX = 5


class _Description(msgspec.Struct, omit_defaults=True):
    """What an object store says of an object."""

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
    """The blobs of a space; coroutines are for the link's loop."""

    def __init__(self, link: Link, stream: Stream, subjects: Subjects, bucket: str) -> None:
        self._link = link
        self._stream = stream
        self._subjects = subjects
        self._bucket = bucket

    async def put(self, name: str, data: memoryview) -> None:
        """Keep bytes under the name that their content gives them."""
        subject = self._meta(name)
        for _ in range(_TRIES_MAX):
            before = await self._stream.last(subject)
            if before is not None and not _described(before).deleted:
                return
            chunks, positions = await self._put_chunks(data)
            if positions != sorted(positions):
                # One was sent again and came behind the next.
                await self._purge(chunks)
                continue
            description = self._describe(name, data, chunks, len(positions))
            sending = Sending(subject, msgspec.json.encode(description), before.position if before is not None else 0)
            try:
                await self._stream.append(sending, {"Nats-Rollup": "sub"})
            except Conflict:
                await self._purge(chunks)
                continue
            return
        raise self._link.lost()

    async def get(self, name: str) -> bytes:
        """Give the bytes of a name; raise `SpaceError` E406."""
        found = await self._stream.last(self._meta(name))
        description = _described(found) if found is not None else None
        if description is None or description.deleted:
            raise SpaceError("E406", f"there is no blob {name}")
        chunks = await self._stream.read(self._subjects.chunks + description.nuid, 0, description.chunks + 1)
        data = b"".join([chunk.data for chunk in chunks])
        if hashlib.sha256(data).hexdigest() != name:
            said = f"the blob {name} is damaged: {len(data):,} of {description.size:,} bytes are there, or others"
            raise SpaceError("E406", said)
        return data

    def _meta(self, name: str) -> str:
        return self._subjects.meta + base64.urlsafe_b64encode(name.encode()).decode()

    async def _put_chunks(self, data: memoryview) -> tuple[str, list[int]]:
        # An object store's chunks have an id of one level.
        own = self._link.new_id().replace(".", "-")
        subject = self._subjects.chunks + own
        size = min(_CHUNK_BYTES, self._link.payload_bytes_max)
        starts = range(0, len(data), size)
        positions: list[int] = []
        for begin in range(0, len(starts), _AT_ONCE):
            some = [Sending(subject, bytes(data[at : at + size])) for at in starts[begin : begin + _AT_ONCE]]
            positions += all_of(await self._stream.append_each(some))
        return own, positions

    def _describe(self, name: str, data: memoryview, chunks: str, count: int) -> _Description:
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

    async def _purge(self, chunks: str) -> None:
        question = msgspec.json.encode({"filter": self._subjects.chunks + chunks})
        await self._link.ask(f"$JS.API.STREAM.PURGE.{self._stream.name}", question)


def _described(stored: Stored) -> _Description:
    try:
        return msgspec.json.decode(stored.data, type=_Description)
    except msgspec.DecodeError:
        raise SpaceError("E406", "what the server says of a blob cannot be read") from None


__all__ = ["Blobs"]
