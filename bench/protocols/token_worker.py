"""One of the processes that want a lock, or say something, all the time; started by `bench.protocols.token`.

It says `ready`, and then does what the lines that it reads tell it, each with the time of the common clock at which it
is to end: `lock END` takes the lock as often as it can, `say END` broadcasts as often as it can, `hold` takes the lock
and keeps it. What came of it is printed as JSON.

Who had the lock last is written to a file that all have mapped into memory, so that hand-offs from one process to
another can be told from a process that takes the lock again and again; so is who has it now.
"""

from __future__ import annotations

import asyncio
import json
import mmap
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

NOBODY = 255


class Board:
    """What all processes see: who has the lock, and who had it last."""

    def __init__(self, path: str, me: int) -> None:
        with Path(path).open("r+b") as file:
            self.seen = mmap.mmap(file.fileno(), 2)
        self.me = me
        self.grants = self.handoffs = self.clashes = 0

    def enter(self) -> None:
        """Note that this process has the lock."""
        seen, me = self.seen, self.me
        self.clashes += seen[0] != NOBODY
        seen[0] = me
        self.grants += 1
        self.handoffs += seen[1] != me
        seen[1] = me

    def leave(self) -> None:
        """Note that it is done."""
        self.seen[0] = NOBODY

    def take(self) -> dict[str, int]:
        """Give the counts, and begin anew."""
        found = {"grants": self.grants, "handoffs": self.handoffs, "clashes": self.clashes}
        self.grants = self.handoffs = self.clashes = 0
        return found


async def solvent(board: Board, peers: str) -> None:
    """Be a node of a ring."""
    import solvent as package

    async def command() -> list[str]:
        return (await asyncio.to_thread(sys.stdin.readline)).split()

    async with package.ring.join(node=board.me, peers=peers, name="bench") as ring:
        print("ready", flush=True)
        while words := await command():
            if words[0] == "hold":
                async with ring.lock():
                    print(json.dumps({"at": time.monotonic()}), flush=True)
                    await asyncio.sleep(3600)
            end = float(words[1])
            if words[0] == "lock":
                while time.monotonic() < end:
                    async with ring.lock():
                        board.enter()
                        board.leave()
                print(json.dumps(board.take()), flush=True)
            elif words[0] == "first":
                async with ring.lock():
                    print(json.dumps({"at": time.monotonic()}), flush=True)
            else:
                print(json.dumps({"said": await _say(ring, end, int(words[2]))}), flush=True)


async def _say(ring: object, end: float, tasks: int) -> int:
    said = 0

    async def one() -> None:
        nonlocal said
        while time.monotonic() < end:
            await ring.broadcast(board_text)
            said += 1

    board_text = "x" * 100
    await asyncio.gather(*[one() for _ in range(tasks)])
    return said


@contextmanager
def by_list(client: object) -> Iterator[None]:
    """A fair lock: whoever takes the one item of a list has it, and those that wait are served in order."""
    client.blpop("token")
    try:
        yield
    finally:
        client.lpush("token", b"x")


def redis(board: Board, how: str, port: str) -> None:
    """Use a lock of a Redis server."""
    import redis as package

    client = package.Redis(port=int(port))
    if how == "list":
        client.ping()
        entered = lambda: by_list(client)  # noqa: E731
    else:
        lock = client.lock("lock", timeout=30, sleep=float(how))
        lock.acquire()
        lock.release()
        entered = lambda: lock  # noqa: E731
    print("ready", flush=True)
    while words := sys.stdin.readline().split():
        end = float(words[1])
        while time.monotonic() < end:
            with entered():
                board.enter()
                board.leave()
        print(json.dumps(board.take()), flush=True)


def main() -> None:
    """Take part in one way or the other."""
    path, me, how, where = sys.argv[1:]
    board = Board(path, int(me))
    if how == "solvent":
        asyncio.run(solvent(board, where))
    else:
        redis(board, how, where)


if __name__ == "__main__":
    main()
