"""Chooses the calls of a run that are made now: as many as can run, and a few more, so that no thread is idle.

A ready call waits here, and the journal has nothing of it. If its shard goes to another agent, that agent makes the
call for the first time, so a death costs a waiting call nothing. A call is noted and made when there is room. Each
thread is room for one call, and for as many more as end while the agent is busy with a turn (`AHEAD_SECONDS`). How many
that are is estimated from earlier calls of the service: hardly any that take a second, many that take a millisecond.
Services with limits of their own get no more calls than those allow. Calls of a shard that is to be left to another
agent come last.

Calls that still wait are made at other agents with room (`peers`), as many as keep these busy for `AHEAD_SECONDS`. A
call stays here if there is room for it here, or if it is so short that asking another agent costs more than it saves. A
service with limits of its own is called at one agent at a time (`Elsewhere.holder`), so that its limits hold.
"""

from __future__ import annotations

import math
import time
from collections import deque
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from solvent.services.admission import is_limited

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from solvent.runs.calls import CallMaker, OpenCall, Remote
    from solvent.runs.execution import Execution
    from solvent.runs.nested import Inside
    from solvent.services import Caller
    from solvent.workflows.model import Service

AHEAD_SECONDS = 0.1
"""For how long calls that have been noted should keep the threads busy."""
MIN_SECONDS = 0.0001
MAX_OPEN_PER_JOB = 4
"""How many sub-workflows of a service are open at once, at one depth: what they wait for is deeper inside."""
WEIGHT = 0.25
"""How much the last call counts in what is known of how long calls take."""
MIN_SECONDS_ELSEWHERE = 0.005
"""Calls that keep a thread for less than this are made here: `bench.agents.spread` and `speed` chose it."""
SPARE = 2
"""How many calls more than there is room for are taken from other agents, rather than refused."""
UNKNOWN_SECONDS = 0.03
"""When none has ended by then, they are taken for longer."""


class Place:
    """Where calls are made: here, or at another agent; and how much room is there."""

    __slots__ = ("agent", "is_full", "lacks", "need", "pooled", "slots", "token")

    def __init__(self, agent: str = "", token: str = "", slots: int = 1, lacks: Iterable[str] = ()) -> None:
        self.agent = agent
        #: Of its process: one that has been started again has another.
        self.token = token
        self.slots = slots
        #: The services that it does not have.
        self.lacks = set(lacks)
        #: Whether it has refused a call since it last offered room.
        self.is_full = False
        #: How many calls are there that take room from others, and how many end in `AHEAD_SECONDS`.
        self.pooled = 0
        self.need = 0.0


def path_of(within: tuple[str, ...], service: str) -> str:
    """Return the name of a service that is called inside others, for all agents."""
    return "/".join((*within, service))


class Elsewhere(Protocol):
    """Who has calls made at other agents."""

    def holder(self, service: Service, /) -> Place | None:
        """Return where a service with limits of its own is called now; nothing if that is not known yet."""

    def ask(self, call: OpenCall, place: Place, /) -> Remote:
        """Have a call made at another agent."""

    def adopt(self, call: OpenCall, agent: str, number: int, /) -> Remote | None:
        """Return the agent that makes a call by now; nothing if it was never asked to."""


class _Lane:
    """The calls of one service."""

    __slots__ = (
        "_seen_at", "_tokens", "is_limited", "is_pooled", "may_spread", "most", "names", "needs", "out", "queue",
        "rate", "service", "spare", "waits_since",
    )  # fmt: skip

    def __init__(
        self, service: Service, within: tuple[str, ...] = (), *, needs_worker: bool, jobs: int, may_spread: bool = False
    ) -> None:
        policy = service.policy
        self.service = service
        #: What an agent must not lack that makes its calls: the outermost service that leads to it, and it itself.
        self.names = frozenset(((*within, service.name)[0], path_of(within, service.name)))
        #: Whether other agents can make its calls.
        self.may_spread = may_spread
        self.rate = policy.rate
        self.is_limited = is_limited(service)
        #: Whether its calls take room from others; not where they may wait for limits of their own, without a worker.
        self.is_pooled = needs_worker and not self.is_limited
        most: float = math.inf if policy.concurrency is None else policy.concurrency
        if needs_worker and self.is_limited:
            most = min(most, jobs) + round(policy.rate or 0)
        if service.kind == "workflow":
            # Each has molecules of its own; those that are open keep the threads busy.
            most = min(most, MAX_OPEN_PER_JOB * jobs)
        # One more than may run, so that it is there when one of them ends.
        self.most = most + 1
        #: How many calls end in `AHEAD_SECONDS` at each place where one has been seen to end.
        self.needs: dict[Place, float] = {}
        #: When the first call waited.
        self.waits_since = math.inf
        self.out = 0
        self.queue: deque[OpenCall] = deque()
        #: Those of shards that are to be left to others.
        self.spare: dict[Execution, deque[OpenCall]] = {}
        self._tokens, self._seen_at = math.inf, time.monotonic()

    def may_begin(self) -> bool:
        """Whether its own limits let another one begin soon."""
        if self.out >= self.most:
            return False
        if self.rate is None:
            return True
        now = time.monotonic()
        # As many as may begin in a second: the agent looks more often than that.
        self._tokens = min(self.rate + 1, self._tokens + self.rate * (now - self._seen_at))
        self._seen_at = now
        return self._tokens >= 1

    @property
    def waiting(self) -> int:
        """How many calls wait."""
        return len(self.queue) + sum(map(len, list(self.spare.values())))

    def bring_back(self) -> None:
        """Let calls of shards that are kept after all have their turn again."""
        for execution in [one for one in self.spare if not one.is_leaving]:
            self.queue.extendleft(reversed(self.spare.pop(execution)))

    def next(self) -> OpenCall:
        """Remove and return the next call; of shards that are to be left only if there are no others."""
        while self.queue:
            call = self.queue.popleft()
            if not call.execution.is_leaving:
                return call
            self.spare.setdefault(call.execution, deque()).append(call)
        execution, calls = next(iter(self.spare.items()))
        call = calls.popleft()
        if not calls:
            del self.spare[execution]
        return call

    def take(self) -> None:
        """Count one that is made."""
        self.out += 1
        self._tokens -= 1


class _Batch:
    """Calls that are noted together, and made together."""

    __slots__ = ("began",)

    def __init__(self) -> None:
        #: When they were made.
        self.began = math.inf


class CallQueue:
    """The calls of a run that are ready or out in this process; for one thread."""

    def __init__(
        self,
        caller: Caller,
        elsewhere: Elsewhere | None = None,
        peers: Mapping[str, Place] = MappingProxyType({}),
    ) -> None:
        """`peers` are other agents that have offered room, by name."""
        self.here = Place(slots=caller.jobs)
        self._caller = caller
        self._peers = peers
        self._elsewhere = elsewhere
        #: By the services that lead to them: those inside wait for none of those around them.
        self._lanes: dict[tuple[tuple[str, ...], str, int], _Lane] = {}
        #: Those of them in which calls wait.
        self._ready: dict[_Lane, None] = {}
        #: The calls that are out: their lanes and places, how many were there when each was noted, and with which
        #: others it is made.
        self._out: dict[Any, tuple[_Lane, Place, int, _Batch]] = {}
        self._noted = _Batch()

    @property
    def waiting(self) -> int:
        """How many calls are ready and wait."""
        return sum(lane.waiting for lane in list(self._ready))

    def wait(self, call: OpenCall) -> None:
        """Let a call wait until there is room for it."""
        instance = call.instance
        lane = self._lane(instance.services[call.request.service], instance.caller, instance.inside)
        self._ready[lane] = None
        lane.queue.append(call)
        if lane.waits_since == math.inf:
            lane.waits_since = time.monotonic()

    def _lane(self, service: Service, caller: CallMaker, inside: Inside | None = None) -> _Lane:
        within = () if inside is None else inside.services
        key = within, service.name, id(service)
        lane = self._lanes.get(key)
        if lane is None:
            # What a call claims is in the memory of this process.
            may_spread = self._elsewhere is not None and service.kind != "workflow" and not caller.lends_to(service)
            lane = self._lanes[key] = _Lane(
                service,
                within,
                needs_worker=caller.needs_worker(service),
                jobs=self.here.slots,
                may_spread=may_spread and (inside is None or inside.may_spread),
            )
        return lane

    def admit(self) -> set[Execution]:
        """Admit calls, as many as there is room for, one of each service in turn; give those that have them."""
        found: set[Execution] = set()
        for lane in self._ready:
            lane.bring_back()
        self._admit(found, self._own_place)
        if self._peers and self._ready:
            self._admit(found, self._peer)
        return found

    def _admit(self, found: set[Execution], place_of: Callable[[_Lane], Place | None]) -> None:
        turn = list(self._ready)
        while turn:
            further = []
            for lane in turn:
                call = self._next(lane, place_of)
                if call is not None:
                    found.add(call.execution)
                    further.append(lane)
                elif not lane.queue and not lane.spare:
                    del self._ready[lane]
            turn = further

    def _next(self, lane: _Lane, place_of: Callable[[_Lane], Place | None]) -> OpenCall | None:
        """Admit the next call of a service, if there is room."""
        while lane.queue or lane.spare:
            place = place_of(lane)
            if place is None:
                return None
            call = lane.next()
            if place is not self.here and self._elsewhere is not None:
                call.remote = self._elsewhere.ask(call, place)
            if call.execution.admit(call):
                self._begin(call, lane, place)
                return call
        return None

    def _own_place(self, lane: _Lane) -> Place | None:
        """Return where calls of a service are to be made before all, if there is room."""
        if lane.is_limited and lane.may_spread and self._elsewhere is not None:
            place = self._elsewhere.holder(lane.service) if lane.may_begin() else None
            # Who has the limit may have another version of the sub-workflow.
            return place if place is None or lane.names.isdisjoint(place.lacks) else self.here
        return self.here if self._has_room(lane, self.here) else None

    def _peer(self, lane: _Lane) -> Place | None:
        """Return the agent with the most room for calls that take long enough."""
        if not lane.is_pooled or not lane.may_spread or not self._is_long(lane):
            return None
        found = [
            one
            for one in self._peers.values()
            if not one.is_full and lane.names.isdisjoint(one.lacks) and self._has_room(lane, one)
        ]
        return min(found, key=lambda one: one.pooled / one.slots, default=None)

    def _is_long(self, lane: _Lane) -> bool:
        need = lane.needs.get(self.here)
        if need is None:
            return time.monotonic() - lane.waits_since >= UNKNOWN_SECONDS
        return self.here.slots * AHEAD_SECONDS >= need * MIN_SECONDS_ELSEWHERE

    @property
    def is_undecided(self) -> bool:
        """Whether calls wait of which it is not known yet whether they take long."""
        if not self._peers:
            return False
        lanes = (one for one in self._ready if one.is_pooled and one.may_spread)
        return any(self.here not in one.needs and not self._is_long(one) for one in lanes)

    @staticmethod
    def _has_room(lane: _Lane, place: Place, more: int = 0) -> bool:
        if lane.is_pooled:
            known = lane.needs.get(place)
            # Of a service of which nothing is known it may be that it takes long, though others do not.
            need = min(place.need, place.slots) if known is None else known
            if place.pooled >= place.slots + round(need) + more:
                return False
        return lane.may_begin()

    @property
    def has_room(self) -> bool:
        """Whether further calls can be made here, though none waits."""
        return self.here.pooled < self.here.slots and not any(lane.is_pooled for lane in self._ready)

    def accept(self, call: Any, service: Service, caller: CallMaker) -> bool:
        """Take a call of another agent's shard, if there is room that the calls here do not need."""
        lane = self._lane(service, caller)
        if lane.is_pooled:
            # Who asks and who is asked measure how long calls take each for itself.
            if not self._has_room(lane, self.here, SPARE) or any(one.is_pooled for one in self._ready):
                return False
            self._begin(call, lane, self.here)
        return True

    def occupy(self, call: Any, service: Service, caller: CallMaker, inside: Inside | None = None) -> None:
        """Count a call that is being made already, whether there is room or not."""
        if call not in self._out:
            self._begin(call, self._lane(service, caller, inside), self.here)

    def _begin(self, call: Any, lane: _Lane, place: Place) -> None:
        lane.take()
        place.pooled += lane.is_pooled
        self._out[call] = lane, place, place.pooled, self._noted

    def go(self) -> None:
        """Count time for the calls that were noted: they are made now."""
        self._noted.began = time.monotonic()
        self._noted = _Batch()

    def end(self, call: Any, *, is_done: bool) -> None:
        """Make room: a call has ended, or its first attempt, or it was given up; unless it was counted before."""
        found = self._out.pop(call, None)
        if found is None:
            return
        lane, place, number, batch = found
        if is_done and batch.began < math.inf:
            need = number * AHEAD_SECONDS / max(MIN_SECONDS, time.monotonic() - batch.began)
            known = lane.needs.get(place)
            lane.needs[place] = need if known is None else known + WEIGHT * (need - known)
            place.need += WEIGHT * (need - place.need)
        lane.out -= 1
        place.pooled -= lane.is_pooled

    def adopt(self, call: OpenCall, agent: str, number: int) -> Remote | None:
        """Return the agent that makes a call by now; nothing if it was never asked to."""
        return None if self._elsewhere is None else self._elsewhere.adopt(call, agent, number)


__all__ = ["AHEAD_SECONDS", "CallQueue", "Elsewhere", "Place"]
