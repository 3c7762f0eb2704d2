"""A space whose users count in parts of one resource that overlap, on several hosts, and are killed at any moment.

Each host has a memory, as real ones have: a card that says which stretch is of which version, and bytes, each of them a
counter. Whoever is granted a part fetches it into the memory of its host, which takes a while, counts in it, brings it
to the host that has the data, and releases it some time later. What a memory has is read off its card by the code of
real processes. On each host one process is never killed; so no count that was brought may be lost, nor counted twice.

To see one run again: `python -m tests.simulation.handover_parts SEED`.
"""

from __future__ import annotations

import sys
from random import Random
from typing import Any

from msgspec.structs import replace

from solvent.handover.data.card import ANOTHER, SOME, UNDER_WAY, VOID, Extent, Level, Sheet, part, raised, whole
from solvent.handover.data.writing import stamped
from solvent.handover.filling import ends_of
from solvent.handover.keeping import found_on
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
        #: The epoch that those who change a part here must have heard of.
        self.bar = 0

    def row(self, start: int, end: int) -> tuple[Extent, ...]:
        """Give what a stretch is."""
        return part(self.sheet.extents, start, end)

    def begin(self, start: int, end: int) -> None:
        """Give up what is there for something newer."""
        self.sheet = stamped(self.sheet, start, end, UNDER_WAY)

    def fill(self, start: int, version: int, counters: list[int], level: Level) -> None:
        """Have something newer."""
        end = start + len(counters)
        self.counters[start:end] = counters
        self.sheet = stamped(self.sheet, start, end, version, level)

    def details(self, version: int) -> str:
        """Say which version is there."""
        return text_from_details(version, rest_of(CELLS, self.sheet.birth, keep_last=True, form=""))


class Counting:
    """What was granted to a process, and is used when the time has come."""

    def __init__(self, granted: Granted, claim: Claim) -> None:
        self.granted, self.claim = granted, claim


class Counters(Weather):
    """All users and hosts."""

    def __init__(self, count: int, *, seed: int, during_ms: float, wrong: str = "") -> None:
        """Have users do something wrong, if told: "keeps-it", bring it "too-late", or amid a repair ("not-barred")."""
        super().__init__(count, seed=seed, during_ms=during_ms)
        self.is_wrong = wrong
        self.hosts = 2 + seed % 2
        self.memories = [Memory(host) for host in range(self.hosts)]
        self.counted = [0] * CELLS
        #: What was claimed and not released yet; each claim has another handle, so that none is taken for a later one.
        self.claims: dict[tuple[NodeId, int], Claim] = {}
        self.handles = 0
        self.uses: dict[NodeId, Counting] = {}
        self.lost_tokens = self.fetched = self.refused = 0

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
        claim = self.claims.get((node, granted.handle))
        if claim is None:
            # A repair grants again what was released meanwhile.
            return
        self.granted += 1
        details = None if granted.data is None else details_from_text(granted.data.details)
        if granted.data is not None and details is None:
            self.wrong = self.wrong or f"{node} is told that all of it is lost"
            return
        if granted.data is not None:
            here, there = self.memory_of(node), self.memory_of(granted.data.holder)
            start, end = ends_of(claim, CELLS)
            for one in there.row(start, end) if here is not there else ():
                if any(other.version != one.version for other in here.row(one.start, one.end)):
                    here.begin(one.start, one.end)
        self.uses[node] = using = Counting(granted, claim)
        self.run.request(node, using, after_ms=self.chance.uniform(1, 30))

    def memory_of(self, node: NodeId) -> Memory:
        """Give the memory of a process's host."""
        return self.memories[node % self.hosts]

    def write(self, node: NodeId, using: Any) -> Any:
        """Fetch it, look at it, count in it, and release it; unless it was granted again meanwhile."""
        assert self.run is not None
        granted, claim = using.granted, using.claim
        data = self.data_of(node, granted)
        if self.uses.get(node) is not using or data is _NOT_HELD:
            return In(PARTS, Release(_NOBODY))
        here, there = self.memory_of(node), self.memory_of(node if data is None else data.holder)
        start, end = ends_of(claim, CELLS)
        base = 0 if data is None else details_from_text(data.details).version  # type: ignore[union-attr]
        if data is not None and not self.fetch(node, data, base, start, end):
            return In(PARTS, Release(_NOBODY))
        seen, known = here.counters[start:end], self.counted[start:end]
        if seen != known:
            self.wrong = self.wrong or f"{node} sees {seen} from {start} on, and {known} was released"
        is_part = not claim.is_shared and not claim.is_plain
        if is_part and self.is_wrong != "not-barred" and self.state(node).epoch[0] < there.bar:
            self.refused += 1
            self.run.request(node, using, after_ms=self.chance.uniform(1, 10))
            return In(PARTS, Release(_NOBODY))
        del self.uses[node], self.claims[node, granted.handle]
        self.waiting.discard((node, PARTS))
        self.claim(node, PARTS, 60)
        if claim.is_shared:
            return In(PARTS, Release(granted.handle))
        known = self.counted[start:end] = [one + 1 for one in seen]
        if is_part:
            version = part_version(node, granted.use)
            if there is not here and self.is_wrong == "too-late":
                self.run.request(node, _Late(there, start, version, known, base), after_ms=self.chance.uniform(0, 30))
            elif there is here or self.is_wrong != "keeps-it":
                there.fill(start, version, known, (base, ANOTHER))
            if there is not here:
                here.fill(start, version, known, (base, SOME))
            if self.is_wrong != "too-late":
                self.run.request(node, In(PARTS, Release(granted.handle)), after_ms=self.chance.uniform(0, 10))
                return In(PARTS, Release(_NOBODY))
            return In(PARTS, Release(granted.handle))
        version = next_version(granted.turn, base)
        here.fill(start, version, known, (version, 0))
        return In(PARTS, Release(granted.handle, Data(version, node, here.details(version))))

    def fetch(self, node: NodeId, data: Data, base: int, start: int, end: int) -> bool:
        """Have a stretch here, from the host that has it."""
        here, there = self.memory_of(node), self.memory_of(data.holder)
        if there.sheet.level[0] != base or there.sheet.level[1] < 0:
            self.wrong = self.wrong or f"{node} cannot have version {base}: {data.holder} has {there.sheet.level}"
            return False
        rows = there.row(start, end)
        if not data.has_parts and any(one.version != base for one in rows):
            self.wrong = self.wrong or f"{node} is not told that parts were changed: {rows}"
        if here is there:
            return True
        for one in rows:
            if any(other.version != one.version for other in here.row(one.start, one.end)):
                self.fetched += 1
                here.fill(one.start, one.version, there.counters[one.start : one.end], (base, SOME))
        if (start, end) == (0, CELLS):
            here.sheet = replace(here.sheet, level=raised(here.sheet.level, there.sheet.level))
        return True

    def data_of(self, node: NodeId, granted: Granted) -> Any:
        """Give where the data of a claim is now, as far as its process knows."""
        state = self.state(node)
        held = [] if state is None or PARTS not in state.resources else state.resources[PARTS].uses
        return next((use.data for use in held if use.number == granted.use and use.is_held), _NOT_HELD)

    def answer(self, node: NodeId, question: Any, chance: Random) -> Any:
        """Find what is in the memory of the host; no part is changed there any more in the epoch that ends."""
        del question, chance
        memory = self.memory_of(node)
        memory.bar = max(memory.bar, self.state(node).epoch[0] + 1)
        found = found_on(memory.sheet, node, is_torn=any(one.version < 0 for one in memory.sheet.extents))
        return {} if found is None else {PARTS: found}

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


_NOT_HELD = Data(-2, NodeId(_NOBODY))


class _Late:
    """A part that is brought when its claim is over."""

    def __init__(self, memory: Memory, start: int, version: int, counters: list[int], base: int) -> None:
        self.memory, self.start, self.version, self.counters, self.base = memory, start, version, counters, base

    def bring(self) -> None:
        """Bring it."""
        self.memory.fill(self.start, self.version, self.counters, (self.base, ANOTHER))


class Counter(SpaceMachine):
    """A process whose user counts in what it was granted."""

    weather: Counters

    def step(self, state: Any, event: Any) -> Any:
        """Take one event."""
        request = getattr(event, "request", None)
        if isinstance(request, Counting):
            event = type(event)(self.weather.write(self.node, request))
        elif isinstance(request, _Late):
            request.bring()
            event = type(event)(In(PARTS, Release(_NOBODY)))
        return super().step(state, event)


def counted(seed: int, count: int = 14, *, during_ms: float = 4_000, wrong: str = "") -> Counters:
    """Let processes count and be killed; an `AssertionError` if a count is lost, or if it does not come to an end."""
    world = Counters(count, seed=seed, during_ms=during_ms, wrong=wrong)
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
    found = world.is_well(None) or world.unfinished()
    assert not found, f"{found}\nto see it again: {run.replay}"
    return world


if __name__ == "__main__":
    done = counted(int(sys.argv[1]))
    print(done.granted, done.repairs, done.lost_tokens, done.fetched, done.counted)
