"""The same peers on SimGrid: an actor for each, mailboxes between them, SimGrid's clock and its model of the network.

SimGrid is a package of its own (the extra `simgrid` of the lab; it is built from source, see
docs/explanation/handover-experiments.md). It allows one simulation in the life of a process, which it ends the hard way
if a bit of one is left, so each run has a process to itself (`simulate_apart`) that tells the outcome and is gone:

    echo '{"setup": {"peers": 50}, "seed": 1}' | python -m solvent_lab.simulator.handover_simgrid

Messages of one sender to one peer may not overtake each other, and SimGrid hands them out as they were sent by all
together, which would let one from afar hold up all others. So several are awaited at a time, in whichever order they
come, and numbers bring those of one sender into their order.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from solvent.errors import Misuse, install_hint
from solvent_lab.simulator.handover import CameToNothing, outcome_of, peers_of
from solvent_lab.simulator.handover_peers import Seen
from solvent_lab.simulator.handover_platform import BANDWIDTH_FACTOR, LATENCY_FACTOR, PLATFORMS, xml_of
from solvent_lab.simulator.handover_setup import Outcome, Setup
from solvent_lab.simulator.network import encoded_size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solvent.protocols.machine import NodeId
    from solvent_lab.simulator.handover import Cast

_AWAITED = 8
"""Messages that a peer awaits at a time."""
_SETTINGS = (
    f"network/latency-factor:{LATENCY_FACTOR}",
    f"network/bandwidth-factor:{BANDWIDTH_FACTOR}",
    # Acknowledgements take nothing from what goes the other way, and nobody's share depends on its latency.
    "network/crosstraffic:0",
    "network/weight-S:0",
    "network/TCP-gamma:0",
)


def can_simulate() -> bool:
    """Say whether SimGrid is there."""
    return find_spec("simgrid") is not None


def load() -> Any:
    """Import SimGrid, or say how to get it."""
    found = find_spec("simgrid")
    if found is None or found.origin is None:
        made = "it is built from source: docs/explanation/handover-experiments.md"
        hint = f"{install_hint('simgrid', 'solvent-lab')} ({made})"
        raise Misuse("P332", "SimGrid is not installed", hint=hint)
    try:
        for library in sorted(Path(found.origin).parent.glob("libsimgrid.so.*")):
            # It lies beside the module, where the system does not look for libraries.
            ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
        with _without_a_word():
            return import_module("simgrid")
    except (ImportError, OSError) as error:
        raise Misuse("P332", f"SimGrid is installed, and cannot be loaded: {error}") from None


@contextmanager
def _without_a_word() -> Iterator[None]:
    """Let nothing come on standard error: SimGrid tells of its settings when it is loaded, before it can be asked."""
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def simulate_apart(setup: Setup, seed: int) -> Outcome:
    """Run once, in another process."""
    if not can_simulate():
        load()
    came = subprocess.run(  # noqa: S603 - this very module
        [sys.executable, "-m", __name__],
        input=msgspec.json.encode(Task(setup=setup, seed=seed)),
        capture_output=True,
        check=False,
    )
    if came.returncode != 0:
        said = came.stderr.decode(errors="replace").strip().splitlines()
        raise CameToNothing("P405", f"a run on SimGrid failed: {said[-1] if said else came.returncode}")
    return msgspec.json.decode(came.stdout, type=Outcome)


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """What the other process is to do."""

    setup: Setup
    seed: int


def main() -> None:
    """Do the task on standard input, in this process, which can do it once only, and end."""
    task = msgspec.json.decode(sys.stdin.buffer.read(), type=Task)
    setup, simgrid = task.setup, load()
    seen = Seen(setup, Random(task.seed))
    engine = simgrid.Engine(["solvent", "--log=root.thres:error", *[f"--cfg={one}" for one in _SETTINGS]])
    with TemporaryDirectory() as folder:
        file = Path(folder) / "platform.xml"
        platform = PLATFORMS[setup.platform]
        file.write_text(xml_of(platform, setup.peers + (setup.mode == "server")), encoding="utf-8")
        engine.load_platform(str(file))
    stage = _Stage(simgrid, seen)
    stage.begin(peers_of(seen, stage))
    engine.run()
    # All actors wait for ever: it has come to nothing.
    stage.end()


class _Stage:
    """What actors share: the ground of all peers."""

    def __init__(self, simgrid: Any, seen: Seen) -> None:
        self.simgrid = simgrid
        self.seen = seen
        self._actors: dict[NodeId, _Actor] = {}
        self._counts: dict[tuple[NodeId, NodeId], int] = {}

    def begin(self, cast: list[Cast]) -> None:
        """Make the actors."""
        self._actors = {one.peer.node: _Actor(self, one) for one in cast}
        for node, actor in self._actors.items():
            self.simgrid.Host.by_name(f"host-{node}").add_actor(f"peer-{node}", actor.run)

    def end(self) -> NoReturn:
        """Tell the outcome, and let this process be gone with all that is under way."""
        sys.stdout.buffer.write(msgspec.json.encode(outcome_of(self.seen, self.now)))
        sys.stdout.flush()
        os._exit(0)

    @property
    def now(self) -> float:
        """Seconds since the start."""
        return float(self.simgrid.Engine.clock)

    def say(self, sender: NodeId, to: NodeId, message: Any) -> None:
        """Put a message into the mailbox of another; one to oneself waits until all else is done."""
        if sender == to:
            self._actors[to].own.append(message)
            return
        number = self._counts[sender, to] = self._counts.get((sender, to), 0) + 1
        self._put(to, (number, sender, message), encoded_size(message))

    def ship(self, sender: NodeId, to: NodeId, message: Any) -> None:
        """Put data into the mailbox of another; it has no number, since nobody waits for it in order."""
        self._put(to, (0, sender, message), self.seen.setup.bytes)

    def _put(self, to: NodeId, item: tuple[int, NodeId, Any], size: int) -> None:
        self.simgrid.Mailbox.by_name(f"peer-{to}").put_init(item, size).detach()

    def wake(self, node: NodeId, seconds: float) -> None:
        """Let a peer sleep, as it does by not waiting longer."""
        self._actors[node].wakes_at = self.now + seconds


class _Actor:
    """One peer's actor."""

    def __init__(self, stage: _Stage, cast: Cast) -> None:
        self.stage = stage
        self.wakes_at: float | None = None
        #: Messages to itself.
        self.own: list[Any] = []
        self._cast = cast
        self._peer = cast.peer
        #: Messages of each sender that came before those they were sent after, and the number that comes next.
        self._early: dict[tuple[NodeId, int], Any] = {}
        self._next: dict[NodeId, int] = {}

    def run(self) -> None:
        """Live until the run is over."""
        try:
            self._live()
        except Exception as error:  # noqa: BLE001 - nobody hears what an actor raises
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
            sys.stderr.flush()
            os._exit(1)

    def _live(self) -> None:
        simgrid, seen = self.stage.simgrid, self.stage.seen
        mailbox = simgrid.Mailbox.by_name(f"peer-{self._peer.node}")
        # Messages set out at once, whether they are awaited yet or not.
        mailbox.set_receiver(simgrid.Actor.self())
        awaited = simgrid.ActivitySet([mailbox.get_async() for _ in range(_AWAITED)])
        self._cast.begin()
        while True:
            while self.own:
                self._peer.hear(self._peer.node, self.own.pop(0))
            if seen.is_over:
                self.stage.end()
            try:
                arrived = awaited.wait_any_for(self._patience())
            except simgrid.TimeoutException:
                self.wakes_at = None
                self._peer.go_on()
                continue
            item = arrived.get_payload()
            awaited.push(mailbox.get_async())
            self._hear(*item)

    def _patience(self) -> float:
        """Give how long to wait; for ever if nothing is to be done meanwhile."""
        return -1.0 if self.wakes_at is None else max(0.0, self.wakes_at - self.stage.now)

    def _hear(self, number: int, sender: NodeId, message: Any) -> None:
        if not number:
            self._peer.hear(sender, message)
            return
        self._early[sender, number] = message
        follows = self._next.get(sender, 1)
        while (sender, follows) in self._early:
            self._next[sender] = follows + 1
            self._peer.hear(sender, self._early.pop((sender, follows)))
            follows += 1


if __name__ == "__main__":
    main()

__all__ = ["Task", "can_simulate", "load", "main", "simulate_apart"]
