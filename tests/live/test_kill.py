"""Processes that are killed, and go on from their journals."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from solvent.net import Codec, Host, Identity, Journal, TcpTransport
from solvent.protocols.link import Linked
from tests.live.ledger import LEDGER, PAYER, RECORDS, WIRE, Booked, Payer, direct_host
from tests.live.networks import MAX_SECONDS, run, until

if TYPE_CHECKING:
    from solvent.protocols.machine import NodeId

ROOT = Path(__file__).parents[2]
COUNT = 4_000
KILLS = 3


def test_a_killed_process_books_every_payment_once(tmp_path: Path) -> None:
    """Killed in the middle of its work, several times, a node forgets nothing it confirmed and does nothing twice."""
    path = tmp_path / "ledger.journal"

    async def start(way: TcpTransport) -> asyncio.subprocess.Process:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.live.ledger",
            "linked",
            str(path),
            str(way.address[1]),
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        way.know(LEDGER, "127.0.0.1", int(await process.stdout.readline()))
        return process

    async def test() -> None:
        way = TcpTransport(Identity(PAYER, "ledger"), Codec(WIRE))
        payer = Host(Linked(Payer(COUNT), me=PAYER, peers=(PAYER, LEDGER), resend_after=50), way)
        await payer.start()
        process = await start(way)
        payer.request("go")
        for kill in range(1, KILLS + 1):
            goal = kill * COUNT // (KILLS + 1)
            await until(lambda goal=goal: payer.state.inner >= goal)  # type: ignore[misc]
            process.kill()
            await process.wait()
            process = await start(way)
        await until(lambda: payer.state.inner == COUNT)
        process.kill()
        await process.wait()
        await payer.stop()

    run(test())
    _check(path, RECORDS)


def test_a_killed_process_books_every_payment_once_by_a_direct_host(tmp_path: Path) -> None:
    """The same over channels: what was taken and not saved is said again, and nothing that was saved."""
    path = tmp_path / "ledger.journal"
    places: dict[NodeId, tuple[str, int]] = {}
    payer = direct_host(Payer(COUNT), PAYER, places.get)
    payer.start()

    def start() -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tests.live.ledger", "direct", str(path), str(payer.address[1])]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)
        assert process.stdout is not None
        places[LEDGER] = ("127.0.0.1", int(process.stdout.readline()))
        return process

    def kill(process: subprocess.Popen[bytes]) -> None:
        process.kill()
        process.communicate()

    process = start()
    try:
        payer.request("go")
        for number in range(1, KILLS + 1):
            goal = number * COUNT // (KILLS + 1)
            assert payer.wait(lambda goal=goal: payer.state >= goal, MAX_SECONDS)  # type: ignore[misc]
            kill(process)
            process = start()
        assert payer.wait(lambda: payer.state == COUNT, MAX_SECONDS)
    finally:
        kill(process)
        payer.close()
    _check(path, Booked)


def _check(path: Path, records: Any) -> None:
    journal = Journal(path, records).open()
    assert [record.number for record in journal.saved if isinstance(record, Booked)] == list(range(1, COUNT + 1))
    assert journal.life == KILLS + 1
    journal.close()
