"""A space in bad weather: messages lost, doubled and late, networks torn apart, processes that come, go and die.

Users at all processes claim two resources again and again: one with data that everybody changes, one of which parts are
claimed and which is read. Now and then they wait for a while only, think better of it, or leave a resource and come
back to it. Hosts say of their own dead that they are dead, and of processes of other hosts that are dead
or behind a cut that they seem to be; and now and then of some that are quite well. Whatever happens, no two that count
hold what excludes each other, and there is one space; and when the weather clears, everybody that lives and was not
expelled is served, unless too few are left.

With an even seed all processes are on one host, which knows for certain who is dead, and find each other's data: then
no version that was released is ever lost. With an odd one there are three hosts, and the network between them is cut
now and then. To see one run again: `python -m tests.simulation.handover_storm SEED PROCESSES`.
"""

from __future__ import annotations

import sys
from random import Random
from typing import Any

from solvent.protocols.elmp.state import ElmpConfig
from solvent.protocols.elmp.vocabulary import (
    Claim,
    Data,
    Dropped,
    Entrusted,
    Fetched,
    Granted,
    Leave,
    Left,
    Release,
    Request,
    Withdraw,
)
from solvent.protocols.handover.invariants import (
    SAFETY,
    Scene,
    epochs_follow_each_other,
    the_founder_takes_part_in_all_resources,
    what_excludes_each_other_is_not_held_together,
    who_takes_part_is_known,
)
from solvent.protocols.handover.machine import SpaceMachine
from solvent.protocols.handover.state import Role, SpaceConfig
from solvent.protocols.handover.vocabulary import (
    Astray,
    Ballot,
    Departed,
    Died,
    Enter,
    Entered,
    Expelled,
    Go,
    In,
    Of,
    Open,
    Opened,
    Repaired,
    Stays,
    Watch,
)
from solvent.protocols.link import Linked
from solvent.protocols.machine import NodeId
from solvent_lab.simulator.environment import Environment
from solvent_lab.simulator.network import FOREVER, Faults
from solvent_lab.simulator.timed import TimedRun

DATA, PARTS = "data", "parts"
LOOK_EVERY_MS = 100
CLAIMS = (Claim(), Claim(is_shared=True), Claim(first=0, length=5), Claim(first=5, length=5))


class Weather(Environment):
    """All users and hosts."""

    def __init__(self, count: int, *, seed: int, during_ms: float) -> None:
        self.hosts = 3 if seed % 2 else 1
        self.locks = ElmpConfig(order=2 + seed % 3 // 2, exchange_every=1 + 4 * (seed % 5 // 3))
        self.run: TimedRun | None = None
        self.chance = Random(seed)
        self.count, self.during_ms = count, during_ms
        self.watched: dict[NodeId, tuple[NodeId, ...]] = {}
        self.dead: set[NodeId] = set()
        self.gone: set[NodeId] = set()
        self.inside: set[NodeId] = {NodeId(0)}
        #: Who waits for what.
        self.waiting: set[tuple[NodeId, str]] = set()
        #: The last version of the data that was released by who counted, and what each host has in its memory.
        self.version = 0
        self.memory: dict[int, Data] = {}
        self.after: dict[Ballot, tuple[Ballot, ...]] = {}
        self.begun: dict[Ballot, set[NodeId]] = {}
        self.granted = self.repairs = self.expelled = self.entered = self.dropped = self.left = 0
        self.wrong = ""

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
                self.want(node, Open(DATA), 50)
                self.want(node, Open(PARTS), 50)
            case Astray():
                self.enter(node)
            case Opened(resource):
                self.claim(node, resource)
            case Of(resource, Granted() as granted):
                self.use(node, resource, granted)
            case Of(resource, Entrusted(data, use)):
                self.want(node, In(resource, Fetched(data.version, use=use)), 30, is_needed=True)
            case Of(resource, Dropped()):
                self.dropped += 1
                self.waiting.discard((node, resource))
            case Of(resource, Left() | Stays()):
                self.left += 1
                self.want(node, Open(resource), 100)
            case Repaired(epoch, after):
                self.repairs += epoch not in self.after
                self.after[epoch] = after
                self.begun.setdefault(epoch, set()).add(node)
                self.wrong = self.wrong or epochs_follow_each_other(self.after, self.living()) or ""
            case Departed() | Expelled():
                self.expelled += isinstance(outcome, Expelled)
                self.leave(node)

    def use(self, node: NodeId, resource: str, granted: Granted) -> None:
        """Use what was granted for a while, and release it, perhaps changed."""
        self.granted += 1
        self.waiting.discard((node, resource))
        if resource == PARTS:
            self.want(node, In(resource, Release(granted.handle)), 40, is_needed=True)
        else:
            data = granted.data
            version = 0 if data is None else data.version
            if version < self.version and self.hosts == 1:
                self.wrong = self.wrong or f"{node} is granted version {version}, and {self.version} was released"
            if data is not None:
                self.want(node, In(resource, Fetched(version, use=granted.use)), 10, is_needed=True)
            after = self.chance.uniform(10, 40)
            assert self.run is not None
            self.run.request(node, _Written(version + 1, granted), after_ms=after)
        whim = self.chance.random()
        if whim < 0.8:
            self.claim(node, resource, 400)
        elif whim < 0.9:
            self.want(node, In(resource, Leave()), 100)

    def write(self, node: NodeId, written: _Written) -> Any:
        """Put a new version into the memory of the host, and release it."""
        granted = written.granted
        data = Data(written.version, node)
        state = self.state(node)
        held = [] if state is None or DATA not in state.resources else state.resources[DATA].uses
        if not any(use.number == granted.use and use.is_held for use in held):
            # It was withdrawn meanwhile, or is to be granted again with another version.
            return In(DATA, Release(granted.handle))
        old = self.memory.get(node % self.hosts)
        if old is None or old.version < data.version:
            self.memory[node % self.hosts] = data
        if state.is_running:
            # Else it waits for a repair, in which what has been released before counts.
            self.version = max(self.version, data.version)
        return In(DATA, Release(granted.handle, data))

    def claim(self, node: NodeId, resource: str, after_ms: float = 60) -> None:
        """Want a resource, unless it is late."""
        assert self.run is not None
        if self.run.now < self.during_ms:
            claim = self.chance.choice(CLAIMS) if resource == PARTS else Claim()
            self.waiting.add((node, resource))
            patience = self.chance.randrange(20, 500) if self.chance.random() < 0.2 else 0
            # Not before what is held is released.
            after = self.chance.uniform(50, after_ms)
            self.run.request(node, In(resource, Request(patience=patience, claim=claim)), after_ms=after)
            if self.chance.random() < 0.1:
                self.run.request(node, In(resource, Withdraw()), after_ms=after + self.chance.uniform(0, 300))

    def enter(self, node: NodeId) -> None:
        """Turn to somebody who seems to be in."""
        if node not in self.gone:
            contacts = sorted(self.inside - {node}) or [NodeId(0)]
            self.want(node, Enter(self.chance.choice(contacts)), 200, is_needed=True)

    def leave(self, node: NodeId) -> None:
        """Take no part any more."""
        self.gone.add(node)
        self.inside.discard(node)
        self.watched[node] = ()
        self.waiting = {one for one in self.waiting if one[0] != node}

    def answer(self, node: NodeId, question: Any, chance: Random) -> Any:
        """Find what is in the memory of the host."""
        del question, chance
        found = self.memory.get(node % self.hosts)
        return {} if found is None else {DATA: Data(found.version, node)}

    def crashed(self, node: NodeId, at: int) -> None:
        """Let the user die with its process."""
        del at
        self.dead.add(node)
        self.leave(node)

    def want(self, node: NodeId, request: Any, within_ms: float, *, is_needed: bool = False) -> None:
        """Want something soon; what is not needed is not wanted when it is late."""
        assert self.run is not None
        if is_needed or self.run.now < self.during_ms:
            self.run.request(node, request, after_ms=self.chance.uniform(0, within_ms))

    # --- Hosts.

    def look_round(self) -> None:
        """Let hosts say who is dead, or seems to be."""
        run = self.run
        assert run is not None
        for node, watched in sorted(self.watched.items()):
            for peer in watched:
                is_wrong = run.now < self.during_ms and self.chance.random() < 0.002
                is_silent = peer in self.gone or run._network.is_parted(node, peer, run.now)
                if peer % self.hosts == node % self.hosts:
                    if peer in self.gone:
                        self.run_died(node, peer, is_certain=True)
                elif is_wrong or (is_silent and self.chance.random() < 0.2):
                    self.run_died(node, peer, is_certain=False)

    def run_died(self, node: NodeId, peer: NodeId, *, is_certain: bool) -> None:
        """Let a process hear that another is dead."""
        assert self.run is not None
        self.run.request(node, Died(peer, is_certain))

    # --- What must be.

    def state(self, node: NodeId) -> Any:
        """Give what a process is, if it lives."""
        assert self.run is not None
        one = self.run.nodes[node]
        return None if one.state is None or one.life else one.state.inner

    def living(self) -> set[Ballot]:
        """Give the epochs in which somebody has been that still is about."""
        return {epoch for epoch, nodes in self.begun.items() if nodes - self.gone}

    def scene(self) -> Scene:
        """Give all that live."""
        states = {NodeId(node): self.state(NodeId(node)) for node in range(self.count)}
        return Scene({node: state for node, state in states.items() if state is not None}, (), self.locks)

    def is_well(self, _world: Any) -> str | None:
        """Say what is wrong, if anything is."""
        scene = self.scene()
        checks = (
            what_excludes_each_other_is_not_held_together,
            who_takes_part_is_known,
            the_founder_takes_part_in_all_resources,
        )
        return self.wrong or next((wrong for check in checks if (wrong := check(scene))), None)

    def are_too_few(self, standings: dict[NodeId, Any]) -> bool:
        """Whether those that are left cannot be sure that there are no others."""
        members = max(standings.values(), key=lambda one: one.epoch).members
        voters = [node for node in members if node not in standings or standings[node].role is Role.INSIDE]
        return 2 * sum(node in standings for node in voters) <= len(voters)

    def standings(self) -> dict[NodeId, Any]:
        """Give what those that live and have not gone know of the others."""
        return {node: state for node, state in self.scene().states.items() if node not in self.gone}

    def is_stuck(self) -> bool:
        """Whether some wait for others for ever, since they are too few: of two the founder is lost, say."""
        standings = self.standings()
        is_waiting = any(one.role is Role.INSIDE and not one.is_running for one in standings.values())
        return is_waiting and self.are_too_few(standings)

    def is_gone(self) -> bool:
        """Whether all that had entered died or left before others could enter: there is no space any more."""
        return not any(one.role is Role.INSIDE for one in self.standings().values())

    def unfinished(self) -> str:
        """Say who has not got what it wanted, when all is quiet."""
        scene, standings = self.scene(), self.standings()
        stuck = [node for node, one in standings.items() if one.role is Role.INSIDE and not one.is_running]
        epochs = {one.epoch for one in standings.values() if one.role is Role.INSIDE}
        entering = [node for node, one in standings.items() if one.role is Role.ENTERING]
        if not epochs or self.is_stuck():
            return ""
        broken = [wrong for check in SAFETY if (wrong := check(scene))]
        if stuck or len(epochs) > 1 or entering or self.waiting or broken:
            return f"{stuck=} {epochs=} {entering=} waiting={sorted(self.waiting)} {broken=}"
        return ""


class _Written:
    """A user's wish to release a new version, made when the time has come."""

    def __init__(self, version: int, granted: Granted) -> None:
        self.version, self.granted = version, granted


class Tenant(SpaceMachine):
    """A process whose user releases what it has written."""

    weather: Weather

    def step(self, state: Any, event: Any) -> Any:
        """Take one event."""
        request = getattr(event, "request", None)
        if isinstance(request, _Written):
            event = type(event)(self.weather.write(self.node, request))
        return super().step(state, event)


class Mortal(Linked[Any]):
    """A process that is dead when it has died: nobody hears of it any more."""

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> Any:
        """Begin; once."""
        del saved
        return super().start((), 0) if not life else (super().start((), 0)[0], ())

    def step(self, state: Any, event: Any) -> Any:
        """Take one event, if it lives."""
        return (state, ()) if self.me in self.inner.weather.dead else super().step(state, event)


def storm(seed: int, count: int = 10, *, during_ms: float = 15_000, check_every: int = 7) -> Weather:
    """Run a space of so many processes through a storm, and say how it was; an `AssertionError` if it ends badly."""
    weather = Weather(count, seed=seed, during_ms=during_ms)
    chance = Random(seed)
    config = SpaceConfig(weather.locks)
    faults = Faults(
        min_latency_ms=1,
        max_latency_ms=20,
        may_reorder=True,
        loss=0.05,
        duplication=0.05,
        crashes_every_ms=during_ms / 5,
        max_crashes=count // 3,
        min_downtime_ms=during_ms * 2,
        max_downtime_ms=during_ms * 2.5,
        partitions_every_ms=during_ms / 4 if seed % 2 else FOREVER,
        max_partition_ms=during_ms / 8,
        until_ms=during_ms,
    )
    nodes = [NodeId(node) for node in range(count)]
    machines = [Tenant(node, f"a{node}", config, is_first=node == 0) for node in nodes]
    for machine in machines:
        machine.weather = weather
    run = weather.run = TimedRun(
        [Mortal(machine, me=machine.node, peers=()) for machine in machines],
        weather,
        seed=seed,
        faults=faults,
        invariants=(weather.is_well,),
        check_every=check_every,
        max_history=40,
        replay=f"python -m tests.simulation.handover_storm {seed} {count}",
    )
    for node in nodes[1:]:
        late = during_ms * 0.7 if node % 2 else 500
        run.request(node, Enter(NodeId(0)), after_ms=chance.uniform(0, late))
    for node in chance.sample(nodes, count // 4):
        run.request(node, Go(), after_ms=chance.uniform(during_ms / 4, during_ms))
    # Hosts look round now and then, until the weather is fair and nobody wants anything any more.
    at_ms = 0.0
    while at_ms < during_ms or (weather.unfinished() and at_ms < during_ms * 10):
        at_ms += LOOK_EVERY_MS
        run.run(max_ms=at_ms)
        weather.look_round()
    wrong = weather.is_well(None) or weather.unfinished()
    assert not wrong, f"{wrong}\nto see it again: {run.replay}"
    return weather


if __name__ == "__main__":
    done = storm(int(sys.argv[1]), int(sys.argv[2]))
    print(done.granted, done.dropped, done.left, done.repairs, done.expelled, done.entered, done.version)
