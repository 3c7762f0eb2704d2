"""`solvent lab serve token`: one node of a ring that prints how the token moves, or a whole ring of processes.

A node may take the lock now and then and broadcast something. With `--nodes`, a ring of processes of this machine is
started; each is `solvent lab serve token --format json`, and their events come together here. The process that has the
lock may be killed now and then: it is started again from its journal, and how long the ring was without a lock is
printed.

An event is a mapping with `event` (its kind), `seconds` (since the start), `node`, and what belongs to its kind.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from solvent.cli.arguments import add_format, at_least, parser_for, seconds
from solvent.cli.render import complain, shortened, show_error, write, write_json
from solvent.errors import INTERRUPTED, LockLost, Misuse, SolventError
from solvent_lab.cli.serve import add_secret, given_secret, hints_of_options

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Iterator

    from solvent.ring import Ring

Event: TypeAlias = dict[str, Any]

_SAYS = "Be a node of a ring: one lock, and one order of messages, for many processes. Or see a whole ring at work."
_EXAMPLE = (
    "solvent lab serve token --nodes 8 --kill-every 3\n"
    "  solvent lab serve token --node 0 --peers 0=127.0.0.1:7000,1=127.0.0.1:7001 --lock-every 1 --say hello"
)
_ANY_PORT = "127.0.0.1:0"
_LOCK_EVERY = 0.25
_RESTART_SECONDS = 1.0
_END_SECONDS = 10.0
_MAX_LINE_BYTES = 1 << 22
_MAX_TEXT = 80


def main(arguments: list[str]) -> int:
    """Serve until the command is stopped (130), its time is over, or it fails."""
    options = parser().parse_args(arguments)
    if options.nodes is not None:
        with tempfile.TemporaryDirectory() as folder:
            is_stopped = asyncio.run(_Processes(options, Path(options.journal or folder)).run())
        name = "the ring"
    else:
        if options.kill_every is not None:
            raise Misuse("P346", "only a whole ring can have its processes killed", hint="give --nodes N too")
        is_stopped = asyncio.run(_serve(options))
        name = f"node {options.node}"
    if is_stopped:
        complain(f"{name} stopped")
    return INTERRUPTED if is_stopped else 0


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    parser = parser_for("lab serve token", _SAYS, example=_EXAMPLE)
    parser.add_argument("--node", type=at_least(0), default=0, metavar="N", help="this node's number (default: 0)")
    says = "where to listen (default: any port of 127.0.0.1)"
    parser.add_argument("--listen", default=_ANY_PORT, metavar="HOST:PORT", help=says)
    says = "the other nodes; this one may be among them: `0=HOST:PORT,1=HOST:PORT`"
    parser.add_argument("--peers", default="", metavar="PEERS", help=says)
    parser.add_argument("--run", default="", metavar="NAME", help="nodes of different runs do not talk to each other")
    add_secret(parser, "a file with a secret that all nodes know")
    says = "what the node must not forget when it is killed; started again, it resumes from there"
    parser.add_argument("--journal", metavar="FILE", help=says)
    says = "let the journal survive a loss of power too, not only the end of the process"
    parser.add_argument("--fsync", action="store_true", help=says)
    says = "instead of --peers: join the ring of the node at this address"
    parser.add_argument("--join", metavar="HOST:PORT", help=says)
    says = "where the other nodes find this one, if not where it listens"
    parser.add_argument("--address", metavar="HOST:PORT", help=says)
    says = "how long nothing may be heard of the token before it is missed, in seconds (default: %(default)s)"
    parser.add_argument("--patience", type=seconds, default=1.0, metavar="S", help=says)
    says = "take the lock, keep it (--hold) and take it again after so many seconds"
    parser.add_argument("--lock-every", type=seconds, metavar="S", help=says)
    says = "how long to keep the lock, in seconds (default: %(default)s)"
    parser.add_argument("--hold", type=seconds, default=0.02, metavar="S", help=says)
    says = "say something to all; may be repeated"
    parser.add_argument("--say", action="append", default=[], metavar="TEXT", help=says)
    parser.add_argument("--seconds", type=seconds, metavar="S", help="end after so many seconds")
    says = "start a ring of so many processes of this machine, and print what happens in it"
    parser.add_argument("--nodes", type=at_least(1), metavar="N", help=says)
    says = "with --nodes: every so many seconds kill the process that has the lock; it is started again"
    parser.add_argument("--kill-every", type=seconds, metavar="S", help=says)
    add_format(parser)
    return parser


@contextmanager
def _stop_signals() -> Iterator[asyncio.Event]:
    """Set the event at the first Ctrl-C or request to terminate; later ones act as usual."""
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    for which in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(which, stopped.set)
    try:
        yield stopped
    finally:
        for which in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(which)


# ------------------------------------------------------------------------------------------------------------ one node


async def _serve(options: Namespace) -> bool:
    """Be a node; return whether it was stopped."""
    from solvent.net.status_files import board_from
    from solvent.ring import join

    began = time.monotonic()

    def tell(kind: str, **more: Any) -> None:
        event = {"event": kind, "seconds": round(time.monotonic() - began, 4), "node": node.node, **more}
        _print(event, describe(event, names_node=True) if options.format == "text" else None)

    def watch(outcome: Any) -> None:
        event = event_from(outcome)
        if event is not None:
            tell(event.pop("event"), **event)

    with hints_of_options():
        node = join(
            node=None if options.join and not options.node else options.node,
            listen=None if options.listen == _ANY_PORT else options.listen,
            address=options.address,
            peers=options.peers or None,
            join=options.join,
            journal=options.journal,
            fsync=options.fsync,
            secret=given_secret(options),
            patience=options.patience,
            name=options.run,
            watch=watch,
            # This is there to be looked at.
            board=board_from(None) or True,
        )
    with _stop_signals() as stopped:
        working = asyncio.create_task(_work(options, node, tell))
        stopping = asyncio.create_task(stopped.wait())
        await asyncio.wait((working, stopping), timeout=options.seconds, return_when=asyncio.FIRST_COMPLETED)
    for task in (working, stopping):
        task.cancel()
    await asyncio.gather(working, stopping, return_exceptions=True)
    if not working.cancelled():
        try:
            working.result()
        except ExceptionGroup as faults:
            raise faults.exceptions[0] from None
    tell("ended")
    return stopped.is_set()


async def _work(options: Namespace, node: Ring, tell: Callable[..., None]) -> None:
    """Be in the ring, lock and broadcast, until cancelled."""

    async def lock_again_and_again() -> None:
        while True:
            try:
                async with node.lock() as lock:
                    tell("locked", fence=list(lock.fence))
                    await asyncio.sleep(options.hold)
            except LockLost:
                tell("lost")
            else:
                tell("unlocked")
            await asyncio.sleep(options.lock_every)

    async def say() -> None:
        for text in options.say:
            tell("said", place=await node.broadcast(text), data=text)

    async with node, asyncio.TaskGroup() as tasks:
        tell("began", address=node.address)
        tell("ring", epoch=node.status().epoch, ring=list(node.status().ring))
        tasks.create_task(say())
        if options.lock_every is not None:
            tasks.create_task(lock_again_and_again())
        async for message in node.messages():
            tell("heard", place=message.place, origin=message.origin, data=_as_json(message.data))


def _as_json(data: Any) -> Any:
    """Return data that JSON can carry."""
    try:
        json.dumps(data)
    except (TypeError, ValueError):
        return str(data)
    return data


# -------------------------------------------------------------------------------------------------------------- events


def event_from(outcome: Any) -> Event | None:
    """Return the event for a report of a node; None if it means nothing to people."""
    from solvent.net import PeerFault
    from solvent.protocols.link import LinkFault
    from solvent.protocols.token.group.messages import MemberChanged, Suspected, ViewBegan
    from solvent.protocols.token.messages import Moved

    match outcome:
        case Moved(to, why):
            return {"event": "moved", "to": to, "why": why}
        case ViewBegan(epoch, ring):
            return {"event": "ring", "epoch": epoch.number, "ring": list(ring)}
        case MemberChanged(place, node, where, is_member):
            return {"event": "joined" if is_member else "left", "who": node, "address": where, "place": place}
        case Suspected():
            return {"event": "missed"}
        case PeerFault(peer, reason):
            return {"event": "fault", "peer": peer, "reason": reason}
        case LinkFault(peer, reason):
            return {"event": "fault", "peer": f"node {peer}", "reason": reason}
    return None


_ACTS = {
    "began": "listens at {address}",
    "locked": "has the lock, fence {fence}",
    "unlocked": "leaves the lock",
    "lost": "has lost the lock: the others took it for dead",
    "heard": "hears node {origin} at place {place}: {data}",
    "said": "has said something that is safe at place {place}",
    "missed": "has the others agree on a new token",
    "ended": "has ended",
    "killed": "is killed while it has the lock",
    "started": "is started again",
    "back": "has the lock {gap:.2f} s after its holder was killed",
}
"""What a node does."""
_NEWS = {
    "moved": "the token goes to node {to} ({why})",
    "ring": "a token of epoch {epoch} goes round {ring}",
    "joined": "node {who} is a member",
    "left": "node {who} is no member any more",
    "fault": "{peer}: {reason}",
}
"""What a node knows of the ring."""
_RARE = ("ring", "joined", "left", "missed", "lost", "killed", "started", "back", "fault")
_TOLD_BY_ALL = ("ring", "joined", "left")


def describe(event: Event, *, names_node: bool) -> str:
    """Return a line of text for an event; `names_node`: begin with the node if it is the one that acts."""
    kind, words = event["event"], dict(event)
    if kind == "locked":
        words["fence"] = ".".join(map(str, event["fence"]))
    elif kind == "heard":
        words["data"] = shortened(str(event["data"]), _MAX_TEXT)
    elif kind == "ring":
        words["ring"] = " ".join(map(str, event["ring"]))
    text = (_ACTS.get(kind) or _NEWS[kind]).format(**words)
    return f"node {event['node']} {text}" if names_node and kind in _ACTS else text


def _print(event: Event, line: str | None) -> None:
    """Print an event as a line of text, or as JSON where there is none."""
    if line is None:
        write_json(event)
    else:
        write(f"{event['seconds']:7.2f} s  {line}")
    sys.stdout.flush()


class Overview:
    """Prints the events of a whole ring: as text only what is rare, once, and a summary every second."""

    def __init__(self, *, is_json: bool) -> None:
        self.locker: int | None = None
        self._is_json = is_json
        self._holder: int | None = None
        self._moves = 0
        self._locks = Counter[int]()
        self._printed_at = 0.0
        self._printed = set[tuple[Any, ...]]()

    def take(self, event: Event) -> None:
        """Note an event and print it."""
        kind, node = event["event"], event["node"]
        if kind == "moved":
            self._moves += 1
            self._holder = event["to"]
        elif kind == "locked":
            self._holder = self.locker = node
            self._locks[node] += 1
        elif kind in ("unlocked", "lost", "killed") and self.locker == node:
            self.locker = None
        if self._is_json:
            _print(event, None)
            return
        if kind in _RARE and self._is_new(event):
            _print(event, describe(event, names_node=True))
        if event["seconds"] - self._printed_at >= 1:
            self._printed_at = event["seconds"]
            most, fewest = max(self._locks.values(), default=0), min(self._locks.values(), default=0)
            where = "nobody" if self._holder is None else f"node {self._holder}"
            locks = f"locks of a node: {fewest:,} to {most:,}"
            _print(event, f"the token is at {where}; {self._moves:,} moves; {locks}")

    def _is_new(self, event: Event) -> bool:
        """Return whether no other node has said the same."""
        if event["event"] not in _TOLD_BY_ALL:
            return True
        key = (event["event"], event.get("epoch"), event.get("who"), event.get("place"))
        is_new = key not in self._printed
        self._printed.add(key)
        return is_new


# ------------------------------------------------------------------------------------------------------- a whole ring


class _Processes:
    """A ring of processes."""

    def __init__(self, options: Namespace, folder: Path) -> None:
        from solvent.net.ports import LOOPBACK, free_ports

        self._options = options
        self._folder = folder
        self._overview = Overview(is_json=options.format == "json")
        self._began = time.monotonic()
        self._peers = ",".join(f"{node}={LOOPBACK}:{port}" for node, port in enumerate(free_ports(options.nodes)))
        self._processes = dict[int, asyncio.subprocess.Process]()
        self._reading = set[asyncio.Task[None]]()
        self._killed_at: float | None = None
        self._fault = ""

    async def run(self) -> bool:
        """Run the ring; return whether it was stopped."""
        with _stop_signals() as stopped:
            await asyncio.gather(*[self._start(node) for node in range(self._options.nodes)])
            killing = asyncio.create_task(self._kill_holders())
            with suppress(TimeoutError):
                async with asyncio.timeout(self._options.seconds):
                    await stopped.wait()
        killing.cancel()
        await asyncio.gather(killing, return_exceptions=True)
        await self._end()
        return stopped.is_set()

    async def _start(self, node: int) -> None:
        options = self._options
        every = _LOCK_EVERY if options.lock_every is None else options.lock_every
        words = ["--node", str(node), "--peers", self._peers, "--format", "json", "--run", f"demo {os.getpid()}"]
        words += ["--lock-every", str(every), "--hold", str(options.hold), "--patience", str(options.patience)]
        words += ["--journal", str(self._folder / f"node-{node}.journal")]
        for text in options.say:
            words += ["--say", text]
        self._processes[node] = process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "solvent", "lab", "serve", "token", *words),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=_MAX_LINE_BYTES,
            # Ctrl-C is for this process; it ends the others in good order.
            start_new_session=True,
        )
        task = asyncio.create_task(self._read(node, process))
        self._reading.add(task)
        task.add_done_callback(self._reading.discard)

    async def _read(self, node: int, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        while line := await process.stdout.readline():
            with suppress(ValueError):
                event = json.loads(line)
                if event["event"] != "ended":
                    self._take(node, event)
        said = (await process.stderr.read()).decode(errors="replace")
        if await process.wait() in (1, 2):
            self._fault = said

    def _take(self, node: int, event: Event) -> None:
        now = time.monotonic()
        self._overview.take({**event, "node": node, "seconds": round(now - self._began, 4)})
        if event["event"] == "locked" and self._killed_at is not None:
            gap, self._killed_at = now - self._killed_at, None
            self._take(node, {"event": "back", "gap": round(gap, 4)})

    async def _kill_holders(self) -> None:
        every = self._options.kill_every
        while every is not None:
            await asyncio.sleep(every)
            # Nobody is killed while another's loss is still felt.
            while self._overview.locker is None or self._killed_at is not None:  # noqa: ASYNC110 - it soon is
                await asyncio.sleep(0.001)
            node = self._overview.locker
            process = self._processes[node]
            process.kill()
            self._killed_at = time.monotonic()
            self._take(node, {"event": "killed"})
            await process.wait()
            await asyncio.sleep(_RESTART_SECONDS)
            self._take(node, {"event": "started"})
            await self._start(node)

    async def _end(self) -> None:
        """Let all processes end in good order, and kill those that do not."""
        for process in self._processes.values():
            with suppress(ProcessLookupError):
                process.terminate()
        with suppress(TimeoutError):
            async with asyncio.timeout(_END_SECONDS):
                await asyncio.gather(*[process.wait() for process in self._processes.values()])
        for process in self._processes.values():
            with suppress(ProcessLookupError):
                process.kill()
        await asyncio.gather(*self._reading)
        for line in self._fault.splitlines():
            try:
                error = json.loads(line)["error"]
                show_error(SolventError(error["code"], error["message"], hint=error.get("hint", "")))
            except (ValueError, KeyError, TypeError):
                complain(line)


__all__ = ["Overview", "describe", "event_from", "main", "parser"]
