"""The ways to hand data over that `bench.handover.data` compares: ours, and the bare ones."""

from __future__ import annotations

import mmap
import multiprocessing
import os
import socket
import struct
import tempfile
import time
from contextlib import suppress
from multiprocessing import shared_memory
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

import solvent
from bench.protocols.live import Redis
from solvent.handover.data import Store, Where

if TYPE_CHECKING:
    from collections.abc import Callable

PROCESSES = 8
RUN = f"bench of process {os.getpid()}"
COUNT = struct.Struct("<Q")
_LENGTH = struct.Struct("<I")
_decode = msgspec.msgpack.Decoder(Where).decode
_encode = msgspec.msgpack.Encoder().encode


def put(pipe: int, data: bytes) -> None:
    """Write something into a pipe at once."""
    os.write(pipe, _LENGTH.pack(len(data)) + data)


def take(pipe: int) -> bytes:
    """Read what was written at once; nothing if the other end is closed."""
    head = os.read(pipe, _LENGTH.size)
    return os.read(pipe, _LENGTH.unpack(head)[0]) if head else b""


def split_off(work: Callable[[], None]) -> int:
    """Do something in a process of its own."""
    child = os.fork()
    if not child:
        try:
            work()
        finally:
            os._exit(0)
    return child


class Ring:
    """Processes that pass something round by pipes; the first of them is this one."""

    def __init__(self, count: int, other: Callable[[int, int], None]) -> None:
        """`other(source, to)` is what each of the others does until its source is closed."""
        pipes = [os.pipe() for _ in range(count)]
        self.children = list[int]()
        for number in range(1, count):
            child = os.fork()
            if not child:
                for index, (source, to) in enumerate(pipes):
                    if index != number:
                        os.close(source)
                    if index != (number + 1) % count:
                        os.close(to)
                try:
                    other(pipes[number][0], pipes[(number + 1) % count][1])
                finally:
                    os._exit(0)
            self.children.append(child)
        self.source, self.to = pipes[0][0], pipes[1][1]
        for index, (source, to) in enumerate(pipes):
            if index != 0:
                os.close(source)
            if index != 1:
                os.close(to)

    def close(self) -> None:
        """Let all end."""
        os.close(self.to)
        os.close(self.source)
        for child in self.children:
            os.waitpid(child, 0)


def _segment(size: int) -> shared_memory.SharedMemory:
    segment = shared_memory.SharedMemory(create=True, size=size)
    # Touched once, so that nobody pays for pages that are not there yet.
    segment.buf[:: mmap.PAGESIZE] = bytes(len(range(0, size, mmap.PAGESIZE)))
    return segment


def _count_in(buffer: memoryview) -> None:
    """Use data: count at its beginning, and write at its end."""
    (count,) = COUNT.unpack_from(buffer, 0)
    COUNT.pack_into(buffer, 0, count + 1)
    COUNT.pack_into(buffer, len(buffer) - COUNT.size, count)


class Bare:
    """Two processes that hand a segment of shared memory back and forth by its name, and attach to it each time."""

    def __init__(self, size: int) -> None:
        self.segment = _segment(size)
        self.mine, others = multiprocessing.Pipe()

        def other() -> None:
            self.mine.close()
            with suppress(EOFError):
                while True:
                    others.send(self._use(others.recv()))

        self.child = split_off(other)
        others.close()

    @staticmethod
    def _use(name: str) -> str:
        segment = shared_memory.SharedMemory(name)
        _count_in(segment.buf)
        segment.close()
        return name

    def run(self, cycles: int) -> float:
        """Give the seconds of one hand-over."""
        (before,) = COUNT.unpack_from(self.segment.buf, 0)
        hand_overs = cycles * PROCESSES // 2
        name = self.segment.name
        started = time.perf_counter()
        for _ in range(hand_overs):
            self.mine.send(name)
            name = self._use(self.mine.recv())
        seconds = time.perf_counter() - started
        assert COUNT.unpack_from(self.segment.buf, 0)[0] - before == 2 * hand_overs
        return seconds / hand_overs / 2

    def close(self) -> None:
        """End."""
        self.mine.close()
        os.waitpid(self.child, 0)
        self.segment.close()
        self.segment.unlink()


class Barest:
    """The same by pipes of the system's, and with the segment mapped once for all."""

    def __init__(self, size: int) -> None:
        self.segment = _segment(size)
        self.name = self.segment.name.encode()
        self.ring = Ring(2, self._other)

    def _count(self, name: bytes) -> None:
        assert name == self.name
        _count_in(self.segment.buf)

    def _other(self, source: int, to: int) -> None:
        while name := take(source):
            self._count(name)
            put(to, name)

    def run(self, cycles: int) -> float:
        """Give the seconds of one hand-over."""
        before = COUNT.unpack_from(self.segment.buf, 0)[0]
        ring, hand_overs = self.ring, cycles * PROCESSES // 2
        started = time.perf_counter()
        for _ in range(hand_overs):
            put(ring.to, self.name)
            self._count(take(ring.source))
        seconds = time.perf_counter() - started
        assert COUNT.unpack_from(self.segment.buf, 0)[0] - before == 2 * hand_overs
        return seconds / hand_overs / 2

    def close(self) -> None:
        """End."""
        self.ring.close()
        self.segment.close()
        self.segment.unlink()


def use(store: Store, where: Where) -> bytes:
    """Get a version, count in it, make it the next one, and say where that is."""
    with store.get(where).write(where.version + 1) as writing:
        _count_in(writing.view)
    return _encode(store.where(where.resource))


class Passing:
    """Eight processes of one host that pass a resource round, without a lock."""

    def __init__(self, size: int, *, keep_last: bool) -> None:
        self.run_name = f"{RUN} {keep_last}"
        self.ring = Ring(PROCESSES, self._other)
        self.store = Store(self.run_name)
        self.store.create("data", size, keep_last=keep_last)
        self.where = self.store.where("data")

    def _other(self, source: int, to: int) -> None:
        with Store(self.run_name) as store:
            while data := take(source):
                put(to, use(store, _decode(data)))

    def run(self, cycles: int) -> float:
        """Give the seconds of one hand-over."""
        ring = self.ring
        data, before = _encode(self.where), self.where.version
        started = time.perf_counter()
        for _ in range(cycles):
            put(ring.to, data)
            data = use(self.store, _decode(take(ring.source)))
        seconds = time.perf_counter() - started
        self.where = _decode(data)
        (count,) = COUNT.unpack_from(self.store.get(self.where).read(self.where.version), 0)
        assert count == self.where.version == before + cycles * PROCESSES
        return seconds / cycles / PROCESSES

    def close(self) -> None:
        """End."""
        self.ring.close()
        self.store.close()


class Sharing:
    """Eight processes of one host that want a resource of a space all the time: the lock and its data."""

    def __init__(self, size: int) -> None:
        self.pipes = list[tuple[int, int]]()
        self.children = list[int]()
        for _ in range(PROCESSES):
            told, tell = os.pipe()
            heard, said = os.pipe()

            def work(told: int = told, tell: int = tell, said: int = said) -> None:
                os.close(tell)
                for _, end in self.pipes:
                    os.close(end)
                self._work(size, told, said)

            self.children.append(split_off(work))
            os.close(told)
            os.close(said)
            self.pipes.append((heard, tell))
            assert take(heard) == b"ready"
        self.counted = 0

    @staticmethod
    def _work(size: int, told: int, said: int) -> None:
        with solvent.shared.join(RUN) as space, space.handle("data", size=size) as handle:
            _use_shared(handle)
            put(said, b"ready")
            while order := take(told):
                for _ in range(int(order)):
                    _use_shared(handle)
                with memoryview(handle.acquire()) as view:
                    put(said, b"%d" % COUNT.unpack_from(view, 0)[0])
                handle.release()

    def run(self, cycles: int) -> float:
        """Give the seconds of one hand-over."""
        started = time.perf_counter()
        for _, tell in self.pipes:
            put(tell, b"%d" % cycles)
        counts = [int(take(heard)) for heard, _ in self.pipes]
        seconds = time.perf_counter() - started
        done = cycles * PROCESSES
        self.counted += done
        assert max(counts) == self.counted + PROCESSES
        return seconds / (done + PROCESSES)

    def close(self) -> None:
        """End."""
        for heard, tell in self.pipes:
            os.close(tell)
            os.close(heard)
        for child in self.children:
            os.waitpid(child, 0)


def _use_shared(handle: Any) -> None:
    _count_in(handle.acquire())
    handle.release()


class Socket:
    """A process that sends mapped memory over a bare socket to one that receives it into place."""

    def __init__(self, size: int) -> None:
        listening = socket.create_server(("127.0.0.1", 0))
        self.size = size

        def serve() -> None:
            memory = memoryview(_mapped(size))
            connection, _ = listening.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while connection.recv(1):
                connection.sendall(memory)

        self.child = split_off(serve)
        self.line = socket.create_connection(listening.getsockname())
        listening.close()
        self.memory = memoryview(_mapped(size))

    def run(self) -> float:
        """Give the seconds of one transfer."""
        started = time.perf_counter()
        self.line.send(b"x")
        place = 0
        while place < self.size:
            place += self.line.recv_into(self.memory[place:])
        return time.perf_counter() - started

    def close(self) -> None:
        """End."""
        self.line.close()
        os.waitpid(self.child, 0)


def _mapped(size: int) -> mmap.mmap:
    file = os.memfd_create("bench")
    os.posix_fallocate(file, 0, size)
    memory = mmap.mmap(file, size)
    os.close(file)
    # Touched once, so that neither side pays for pages that are not there yet.
    memory[:: mmap.PAGESIZE] = bytes(len(range(0, size, mmap.PAGESIZE)))
    return memory


class Fetching:
    """Two hosts, of which one makes new versions and the other gets them."""

    def __init__(self, size: int) -> None:
        self.folder = tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)  # noqa: S108
        self.told, self.tell = os.pipe()
        source, self.ask = os.pipe()
        away = Path(self.folder.name, "away")

        def serve() -> None:
            os.close(self.ask)
            with Store(RUN, folder=away) as store:
                region = store.create("data", size)
                for version in iter(lambda: len(os.read(source, 1)) and (region.version or 0) + 1, 0):
                    with region.write(version) as writing:
                        COUNT.pack_into(writing.view, 0, version)
                    put(self.tell, _encode(store.where("data")))

        self.child = split_off(serve)
        os.close(source)
        # With this end open a child that has failed would be waited for without end.
        os.close(self.tell)
        self.store = Store(RUN, folder=Path(self.folder.name, "here"))

    def run(self) -> float:
        """Give the seconds of one fetch."""
        os.write(self.ask, b"x")
        where = _decode(take(self.told))
        started = time.perf_counter()
        region = self.store.get(where)
        seconds = time.perf_counter() - started
        assert COUNT.unpack_from(region.read(where.version), 0)[0] == where.version
        return seconds

    def close(self) -> None:
        """End."""
        os.close(self.ask)
        os.waitpid(self.child, 0)
        self.store.close()
        self.folder.cleanup()


class Stored:
    """A value on a Redis server, and the client's own lock: one process alone, that waits for nobody."""

    def __init__(self, size: int) -> None:
        import redis

        self.server = Redis()
        self.client = redis.Redis(port=self.server.port)
        self.client.set("data", bytes(size))

    def run(self) -> float:
        """Give the seconds of one use: the lock taken, the value got, changed and set, the lock given back."""
        started = time.perf_counter()
        with self.client.lock("lock"):
            value = bytearray(self.client.get("data"))
            _count_in(memoryview(value))
            self.client.set("data", value)
        return time.perf_counter() - started

    def close(self) -> None:
        """End."""
        self.client.close()
        self.server.close()
