"""Stores for tests: hosts that are folders in memory, processes that can be killed, and lines that can be cut."""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import struct
import tempfile
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from solvent.handover.data import Store, Where
from solvent.net.addresses import address_from_text, text_from_address
from solvent.net.private_folder import MEMORY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from solvent.handover.data import Region

RUN = "test"
SECRET = b"of the tests"


def text_from_where(where: Where) -> str:
    """Write where data is, for another process."""
    return msgspec.json.encode(where).decode()


def where_from_text(text: str) -> Where:
    """Read where data is."""
    return msgspec.json.decode(text, type=Where)


class Hosts:
    """Some hosts, each a folder of its own, and the stores on them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stores = list[Store]()

    def base(self, name: str) -> Path:
        """Give the folder that stands for a host."""
        return self._folder / name

    def store(self, name: str, **options: object) -> Store:
        """Open a store on a host, as one more process of it would."""
        settings: dict[str, object] = {"secret": SECRET, "folder": self.base(name)} | options
        store = Store(RUN, **settings)  # type: ignore[arg-type]
        self._stores.append(store)
        return store

    def close(self) -> None:
        """Close all."""
        for store in self._stores:
            store.close()


@contextmanager
def hosts() -> Iterator[Hosts]:
    """Make a place for hosts, in memory where the system has such a place."""
    root = MEMORY if MEMORY.is_dir() else None
    folder = Path(tempfile.mkdtemp(prefix="solvent-test-", dir=root))
    some = Hosts(folder)
    try:
        yield some
    finally:
        some.close()
        shutil.rmtree(folder, ignore_errors=True)


def filled(store: Store, resource: str, content: bytes, *, version: int = 1, **options: object) -> Region:
    """Make a resource with some content."""
    region = store.create(resource, len(content), **options)  # type: ignore[arg-type]
    with region.write(version) as writing:
        writing.view[:] = content
    return region


def split_off(work: Callable[[], None]) -> int:
    """Do something in a process of its own; give its number."""
    child = os.fork()
    if not child:
        # Whatever becomes of the test, nobody stays behind.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(200)
        try:
            work()
        except BaseException:  # noqa: BLE001 - nothing of the test goes on in a copy of it
            import traceback

            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return child


class Child:
    """A process that does something and says lines about it."""

    def __init__(self, work: Callable[[Callable[[str], None]], None]) -> None:
        self._heard, said = os.pipe()

        def say(text: str) -> None:
            os.write(said, f"{text}\n".encode())

        self.number = split_off(lambda: work(say))
        os.close(said)
        self._lines = b""

    def hear(self) -> str:
        """Wait for what it says next; nothing if it has ended."""
        while b"\n" not in self._lines and (more := os.read(self._heard, 4096)):
            self._lines += more
        line, _, self._lines = self._lines.partition(b"\n")
        return line.decode()

    def kill(self) -> str:
        """Kill it; give the last that it said, if it was not heard before."""
        os.kill(self.number, signal.SIGKILL)
        os.waitpid(self.number, 0)
        os.set_blocking(self._heard, False)
        with suppress(BlockingIOError):
            while more := os.read(self._heard, 65536):
                self._lines += more
        os.close(self._heard)
        lines = self._lines.decode().split()
        return lines[-1] if lines else ""

    def end(self) -> None:
        """Wait until it is done."""
        assert os.waitpid(self.number, 0)[1] == 0
        os.close(self._heard)


class Cutter:
    """A relay that really breaks connections: after so many bytes of the answers, by a reset."""

    def __init__(self, where: Where, cuts: list[int]) -> None:
        """Cut the first connection after the first number of bytes, and so on; those after the last are not cut."""
        self._target = address_from_text(where.address)
        self._cuts = cuts
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.where = replace(where, address=text_from_address(self._listening.getsockname()))
        self.sent = 0
        self.connections = 0
        threading.Thread(target=self._listen, daemon=True).start()

    def close(self) -> None:
        """End."""
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                self.connections += 1
                far = socket.create_connection(self._target)
                left = self._cuts.pop(0) if self._cuts else 1 << 60
                threading.Thread(target=self._pass_on, args=(near, far, left), daemon=True).start()

    def _pass_on(self, near: socket.socket, far: socket.socket, left: int) -> None:
        # One thread for both directions: a socket that another thread waits for would not really be closed.
        with near, far, suppress(OSError):
            while left:
                for source in select.select([near, far], [], [])[0]:
                    data = source.recv(min(left, 65536) if source is far else 65536)
                    if not data:
                        return
                    if source is near:
                        far.sendall(data)
                        continue
                    near.sendall(data)
                    left -= len(data)
                    self.sent += len(data)
            # Closed without a word: the other side sees a reset, as when a machine fails.
            for end in (near, far):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
