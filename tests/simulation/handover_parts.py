"""A space whose users count in parts of one resource that overlap, on several hosts, and are killed at any moment.

Each host has a memory, as real ones have: a card that says which stretch is of which version, and bytes, each of them a
counter. Whoever is granted a part fetches what is elsewhere into the memory of its host, which takes a while, and
counts in it. What is in a memory is read off its card by the code of real processes, and so is what counts where. On
each host one process is never killed; so no count that was released may be lost, nor counted twice.

To see one run again: `python -m tests.simulation.handover_parts SEED`.
"""

from __future__ import annotations

import sys
from random import Random
from typing import Any

from msgspec.structs import replace

from solvent.handover.data.card import Sheet
from solvent.handover.data.extents import UNDER_WAY, VOID, first_other, part, whole
from solvent.handover.data.kept import stamped
from solvent.handover.filling import Row, ends_of, rows_of
from solvent.handover.finding import found_on
from solvent.handover.words import details_from_text, next_version, part_version, rest_of, text_from_details
from solvent.protocols.elmp.vocabulary import WHOLE, Claim, Data, Granted, Release, Request
from solvent.protocols.handover.machine import SpaceMachine
from solvent.protocols.handover.state import SpaceConfig
from solvent.protocols.handover.vocabulary import Astray, Enter, Entered, In, Of, Open, Opened, Repaired, Watch
from solvent.protocols.machine import NodeId
from solvent_lab.simulator.network import Faults
from solvent_lab.simulator.timed import TimedRun
from tests.simulation.handover_storm import Mortal, Weather

PARTS = "parts"
CELLS = 6
LOOK_EVERY_MS = 40
_NOBODY = 0


class Memory:
    """That of one host."""

    def __init__(self, host: int) -> None:
        self.sheet = Sheet(PARTS, host + 1, CELLS, whole(CELLS, VOID, 0), keep_last=True)
        self.counters = [0] * CELLS

    def has(self, row: Row) -> bool:
        """Tell whether a stretch is there."""
        return first_other(part(self.sheet.extents, row.start, row.end), row.version) is None

    def begin(self, row: Row) -> None:
        """Give up what is there for something newer."""
        self.sheet = stamped(self.sheet, row.start, row.end, UNDER_WAY)

    def fill(self, row: Row, counters: list[int]) -> None:
        """Have something newer."""
        self.counters[row.start : row.end] = counters
        self.sheet = stamped(self.sheet, row.start, row.end, row.version, row.origin)

    def details(self, version: int) -> str:
        """Say which version is there."""
        return text_from_details(version, rest_of(CELLS, self.sheet.birth, keep_last=True, form=""))


class Counting:
    """What was granted to a process, and is used when the time has come."""

    def __init__(self, granted: Granted, claim: Claim, rows: list[Row]) -> None:
        self.granted, self.claim, self.rows = granted, claim, rows


class Counters(Weather):
    """All users and hosts."""

    def __init__(self, count: int, *, seed: int, during_ms: float) -> None:
        super().__init__(count, seed=seed, during_ms=during_ms)
        self.hosts = 2 + seed % 2
        self.memories = [Memory(host) for host in range(self.hosts)]
        self.counted = [0] * CELLS
        #: What was claimed and not released yet; each claim has another handle, so that none is taken for a later one.
        self.claims: dict[tuple[NodeId, int], Claim] = {}
        self.handles = 0
        self.uses: dict[NodeId, Counting] = {}
        self.lost_tokens = self.fetched = 0

    # --- What happens.

    def told(self, node: NodeId, outcome: Any, at: int) -> None:
        """Do what a user or a host does when it is told something."""
        del at
        match outcome:
            case Watch(nodes):
                self.watched[node] = nodes
            case Entered():
                self.entered += 1
                self.inside.add(node)
                self.want(node, Open(PARTS), 30)
            case Astray():
                self.enter(node)
            case Opened() if node:
                self.claim(node, PARTS)
            case Opened():
                self.demand(node, WHOLE, 0)
            case Of(_, Granted() as granted):
                self.begin(node, granted)
            case Repaired(epoch, after, _, renewed):
                self.repairs += epoch not in self.after
                self.lost_tokens += epoch not in self.after and any(one.is_new_token for one in renewed)
                self.after[epoch] = after

    def claim(self, node: NodeId, resource: str, after_ms: float = 30) -> None:
        """Want some of it: seldom all, now and then to read it."""
        assert self.run is not None
        chance = self.chance
        if self.run.now < self.during_ms and resource == PARTS:
            first = chance.randrange(CELLS)
            some = Claim(first=first, length=chance.randint(1, 3))
            self.demand(node, chance.choices((some, WHOLE, Claim(is_shared=True)), (12, 1, 1))[0], after_ms)

    def demand(self, node: NodeId, claim: Claim, after_ms: float) -> None:
        """Claim something, if nothing is."""
        assert self.run is not None
        if (node, PARTS) in self.waiting or node in self.uses:
            return
        self.handles += 1
        self.claims[node, self.handles] = claim
        self.waiting.add((node, PARTS))
        request = Request(self.handles, claim=claim)
        self.run.request(node, In(PARTS, request), after_ms=self.chance.uniform(0, after_ms))

    def begin(self, node: NodeId, granted: Granted) -> None:
        """Fetch what is elsewhere, for a while; what is there until then is given up."""
        assert self.run is not None
        claim, rows = self.claims.get((node, granted.handle)), list[Row]()
        if claim is None:
            # A repair grants again what was released meanwhile.
            return
        self.granted += 1
        details = None if granted.data is None else details_from_text(granted.data.details)
        if granted.data is not None and details is None:
            self.wrong = self.wrong or f"{node} is told that all of it is lost"
            return
        if granted.data is not None and details is not None:
            rows = rows_of(granted.data, details, granted.sources, claim)
            memory = self.memories[node % self.hosts]
            for row in rows:
                if not memory.has(row) and self.memories[row.holder % self.hosts].has(row):
                    memory.begin(row)
        self.uses[node] = using = Counting(granted, claim, rows)
        self.run.request(node, using, after_ms=self.chance.uniform(1, 30))

    def write(self, node: NodeId, using: Any) -> Any:
        """Have what was fetched, look at it, count in it, and release it; unless it was granted again meanwhile."""
        granted, claim = using.granted, using.claim
        if self.uses.get(node) is not using or not self.is_held(node, granted):
            return In(PARTS, Release(_NOBODY))
        memory = self.memories[node % self.hosts]
        for row in using.rows:
            self.fetch(node, memory, row)
        start, end = ends_of(claim, CELLS)
        seen, known = memory.counters[start:end], self.counted[start:end]
        if seen != known:
            self.wrong = self.wrong or f"{node} sees {seen} from {start} on, and {known} was released"
        del self.uses[node], self.claims[node, granted.handle]
        self.waiting.discard((node, PARTS))
        self.claim(node, PARTS, 60)
        if claim.is_shared:
            return In(PARTS, Release(granted.handle))
        known = self.counted[start:end] = [one + 1 for one in seen]
        base = details_from_text(granted.data.details).version if granted.data is not None else 0  # type: ignore[union-attr]
        if not claim.is_plain:
            version = part_version(node, granted.use)
            memory.fill(Row(start, end, version, node, (granted.turn, base)), known)
            return In(PARTS, Release(granted.handle, Data(base, node)))
        version = next_version(granted.turn, base)
        memory.fill(Row(start, end, version, node, (granted.turn, granted.use)), known)
        return In(PARTS, Release(granted.handle, Data(version, node, memory.details(version))))

    def fetch(self, node: NodeId, memory: Memory, row: Row) -> None:
        """Have a stretch here, from a host that has it."""
        if memory.has(row):
            return
        source = self.memories[row.holder % self.hosts]
        if not source.has(row):
            self.wrong = self.wrong or f"{node} cannot have {row}: it is not at {row.holder}"
            return
        self.fetched += 1
        memory.fill(row, source.counters[row.start : row.end])

    def is_held(self, node: NodeId, granted: Granted) -> bool:
        """Whether a claim holds, as far as its process knows."""
        state = self.state(node)
        held = [] if state is None or PARTS not in state.resources else state.resources[PARTS].uses
        return any(use.number == granted.use and use.is_held for use in held)

    def answer(self, node: NodeId, question: Any, chance: Random) -> Any:
        """Find what is in the memory of the host."""
        del question, chance
        found = found_on(self.memories[node % self.hosts].sheet, node)
        return {PARTS: tuple(found)} if found else {}

    # --- Hosts.

    def kill(self, node: NodeId) -> None:
        """Let a process die with its user."""
        self.dead.add(node)
        self.uses.pop(node, None)
        self.leave(node)

    def state(self, node: NodeId) -> Any:
        """Give what a process is, if it lives."""
        return None if node in self.dead else super().state(node)

    def look_round(self) -> None:
        """Let hosts say who is dead: of their own for certain."""
        for node, watched in sorted(self.watched.items()):
            for peer in watched:
                if peer in self.dead:
                    self.run_died(node, peer, is_certain=peer % self.hosts == node % self.hosts)

    def is_well(self, _world: Any) -> str | None:
        """Say what is wrong, if anything is."""
        return self.wrong or None


class Counter(SpaceMachine):
    """A process whose user counts in what it was granted."""

    weather: Counters

    def step(self, state: Any, event: Any) -> Any:
        """Take one event."""
        request = getattr(event, "request", None)
        if isinstance(request, Counting):
            event = type(event)(self.weather.write(self.node, request))
        return super().step(state, event)


def counted(seed: int, count: int = 14, *, during_ms: float = 4_000) -> Counters:
    """Let processes count and be killed; an `AssertionError` if a count is lost, or if it does not come to an end."""
    world = Counters(count, seed=seed, during_ms=during_ms)
    config, chance = SpaceConfig(world.locks), Random(seed)
    nodes = [NodeId(node) for node in range(count)]
    machines = [Counter(node, f"a{node}", config, is_first=node == 0) for node in nodes]
    for machine in machines:
        machine.weather = world
    run = world.run = TimedRun(
        [Mortal(machine, me=machine.node, peers=()) for machine in machines],
        world,
        seed=seed,
        faults=Faults(min_latency_ms=1, max_latency_ms=10, may_reorder=True, loss=0.02, max_answer_ms=3),
        invariants=(world.is_well,),
        replay=f"python -m tests.simulation.handover_parts {seed}",
    )
    keepers, mortal = nodes[: world.hosts], nodes[world.hosts :]
    for node in keepers[1:]:
        run.request(node, Enter(nodes[0]), after_ms=100)
    # One after the other comes, and sooner or later each is killed.
    ends = {}
    for number, node in enumerate(mortal):
        comes = 300 + number * during_ms / count
        run.request(node, Enter(nodes[0]), after_ms=comes)
        ends[node] = comes + chance.uniform(0.15, 0.6) * during_ms
    at_ms = 0.0
    while at_ms < 1.5 * during_ms or (world.unfinished() and at_ms < 10 * during_ms):
        at_ms += LOOK_EVERY_MS * chance.random()
        run.run(max_ms=at_ms)
        for node in [node for node, end in ends.items() if end < at_ms]:
            del ends[node]
            world.kill(node)
        world.look_round()
    for node in keepers:
        world.demand(node, replace(WHOLE, is_shared=True), 0)
        run.run(max_ms=run.now + 2_000)
    wrong = world.is_well(None) or world.unfinished()
    assert not wrong, f"{wrong}\nto see it again: {run.replay}"
    return world


if __name__ == "__main__":
    done = counted(int(sys.argv[1]))
    print(done.granted, done.repairs, done.lost_tokens, done.fetched, done.counted)
