"""`solvent lab serve token`: a node of a ring, in which one sees the token move; or a whole ring, to look at.

A node may take the lock now and then and say something. With `--nodes` a ring of processes of this machine is started
and shown; `cli.token_demo` does that.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from solvent.cli.loading import add_format, at_least, parser_for, seconds
from solvent.cli.render import complain
from solvent.errors import INTERRUPTED, Misuse
from solvent_lab.cli.serve import add_place, given_secret, hints_of_options

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from solvent.ring import Ring
    from solvent_lab.cli.token_view import View

SAYS = "Be a node of a ring: one lock, and one order of messages, for many processes. Or see a whole ring at work."
EXAMPLE = (
    "solvent lab serve token --nodes 8 --kill-every 3\n"
    "  solvent lab serve token --node 0 --peers 0=127.0.0.1:7000,1=127.0.0.1:7001 --lock-every 1 --say hello"
)


def main(arguments: list[str]) -> int:
    """Serve until somebody stops the node (130), its time is over, or it fails."""
    options = parser().parse_args(arguments)
    if options.nodes is not None:
        from solvent_lab.cli.token_demo import run_demo

        return run_demo(options)
    if options.kill_every is not None:
        raise Misuse("P346", "only a whole ring can have its processes killed", hint="give --nodes N too")
    import asyncio

    from solvent_lab.cli.token_view import view_of

    with view_of(options.format, is_whole=False) as view:
        is_stopped = asyncio.run(_serve(options, view))
    if is_stopped:
        complain(f"node {options.node} stopped")
    return INTERRUPTED if is_stopped else 0


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    parser = parser_for("lab serve token", SAYS, example=EXAMPLE)
    add_place(parser)
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
    parser.add_argument(
        "--say", action="append", default=[], metavar="TEXT", help="say something to all; may be repeated"
    )
    parser.add_argument("--seconds", type=seconds, metavar="S", help="end after so many seconds")
    says = "start a ring of so many processes of this machine, and show it"
    parser.add_argument("--nodes", type=at_least(1), metavar="N", help=says)
    says = "with --nodes: every so many seconds kill the process that has the lock; it is started again"
    parser.add_argument("--kill-every", "--kill-holder-every", type=seconds, metavar="S", help=says)
    add_format(parser)
    return parser


async def _serve(options: Namespace, view: View) -> bool:
    """Be a node; tell whether somebody stopped it."""
    import asyncio
    import signal

    from solvent.net.status_files import board_from
    from solvent.ring import join as make
    from solvent_lab.cli.token_board import event_from

    began = time.monotonic()

    def tell(kind: str, **more: Any) -> None:
        view.take({"event": kind, "seconds": round(time.monotonic() - began, 4), "node": node.node, **more})

    def watch(outcome: Any) -> None:
        event = event_from(outcome)
        if event is not None:
            tell(event.pop("event"), **event)

    with hints_of_options():
        node = make(
            node=None if options.join and not options.node else options.node,
            listen=None if options.listen == "127.0.0.1:0" else options.listen,
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
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    for which in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(which, stopped.set)
    working = asyncio.create_task(_work(options, node, tell))
    stopping = asyncio.create_task(stopped.wait())
    try:
        await asyncio.wait((working, stopping), timeout=options.seconds, return_when=asyncio.FIRST_COMPLETED)
        # A second signal is not waited for.
        for which in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(which)
    finally:
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


async def _work(options: Namespace, node: Ring, tell: Any) -> None:
    """Be in the ring, lock and say what is to be said, until cancelled."""
    import asyncio

    async def lock_again_and_again() -> None:
        from solvent.errors import LockLost

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
            tell("heard", place=message.place, origin=message.origin, data=_printable(message.data))


def _printable(data: Any) -> Any:
    """Give data that JSON can carry."""
    try:
        json.dumps(data)
    except (TypeError, ValueError):
        return str(data)
    return data


__all__ = ["EXAMPLE", "SAYS", "main", "parser"]
