"""Three processes count in one file, one at a time, and tell each other what they have counted.

Each takes the lock of the ring, reads the number, adds one and writes it back. Without the lock some of that would be
lost. What they say all hear in the same order; the last word is the greatest number.
"""

import asyncio
import multiprocessing
import socket
import tempfile
from pathlib import Path

import solvent

PROCESSES, TIMES = 3, 20


async def count(node: int, peers: dict[int, str], file: Path) -> None:
    async with solvent.ring.join(node=node, peers=peers) as ring:
        for _ in range(TIMES):
            async with ring.lock():
                number = read(file) + 1
                await asyncio.sleep(0.001)
                write(file, number)
                # Under the lock, so that all hear the numbers in their order.
                await ring.broadcast(number)
        heard = []
        async for message in ring.messages():
            heard.append(message.data)
            if len(heard) == PROCESSES * TIMES:
                break
        order = "in order" if heard == sorted(heard) else "out of order"
        async with ring.lock():
            print(f"heard {heard[0]}, {heard[1]}, ..., {heard[-1]}: {order}", flush=True)


def read(file: Path) -> int:
    return int(file.read_text())


def write(file: Path, number: int) -> None:
    file.write_text(str(number))


def run(node: int, peers: dict[int, str], file: Path) -> None:
    asyncio.run(count(node, peers, file))


def free_places(count: int) -> dict[int, str]:
    probes = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    places = {node: f"127.0.0.1:{probe.getsockname()[1]}" for node, probe in enumerate(probes)}
    for probe in probes:
        probe.close()
    return places


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "number")
        write(file, 0)
        peers = free_places(PROCESSES)
        processes = [multiprocessing.Process(target=run, args=(node, peers, file)) for node in range(PROCESSES)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        print(f"{PROCESSES} processes have counted to {read(file)}")


if __name__ == "__main__":
    main()
