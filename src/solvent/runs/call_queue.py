"""Which calls of a recorded run are made now: as many as can run, and a few more, so that no thread waits for the next.

A call that is ready waits, and nothing is noted of it: another agent that gets its shard makes it as if nobody had had
it before, and a death costs it nothing. It is noted and made when there is room: a thread for each call that needs one,
and as many more as end while the agent is busy with a turn (`AHEAD_SECONDS`), as was seen of this service: hardly any
of calls that take a second, many of those that take a millisecond. Services with limits of their own get no more than
those allow. Calls of a shard that is to be left to another agent come last.
"""

from __future__ import annotations

import math
import time
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from solvent.runs.calls import OpenCall
    from solvent.runs.execution import Execution
    from solvent.services import Caller
    from solvent.workflows.model import Service

AHEAD_SECONDS = 0.1
"""For how long calls that have been noted should keep the threads busy."""
MIN_SECONDS = 0.0001
MAX_OPEN_PER_JOB = 4
"""How many sub-workflows of a service are open at once, at one depth: what they wait for is deeper inside."""
WEIGHT = 0.25
"""How much the last call counts in what is known of how long calls take."""


class _Lane:
    """The calls of one service."""

    __slots__ = ("_seen_at", "_tokens", "is_pooled", "most", "need", "out", "queue", "rate", "spare")

    def __init__(self, service: Service, *, needs_worker: bool, jobs: int) -> None:
        policy = service.policy
        self.rate = policy.rate
        is_limited = policy.concurrency is not None or policy.rate is not None
        #: Whether its calls take room from others; not where they may wait for limits of their own, without a worker.
        self.is_pooled = needs_worker and not is_limited
        most: float = math.inf if policy.concurrency is None else policy.concurrency
        if needs_worker and is_limited:
            most = min(most, jobs) + round(policy.rate or 0)
        if service.kind == "workflow":
            # Each has molecules of its own; those that are open keep the threads busy.
            most = min(most, MAX_OPEN_PER_JOB * jobs)
        # One more than may run, so that it is there when one of them ends.
        self.most = most + 1
        #: How many calls end in `AHEAD_SECONDS`; nothing if none has been seen.
        self.need: float | None = None
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


class CallQueue:
    """The calls of a run that are ready or out in this process; for one thread."""

    def __init__(self, caller: Caller) -> None:
        self._jobs = caller.jobs
        #: By the depth of what calls them: those inside wait for none of those around them.
        self._lanes: dict[tuple[int, str, int], _Lane] = {}
        #: Those of them in which calls wait.
        self._ready: dict[_Lane, None] = {}
        #: The calls that are out: their lanes, how many were when each was noted, and since when it is made.
        self._out: dict[OpenCall, tuple[_Lane, int, float]] = {}
        self._noted: list[OpenCall] = []
        self._pooled = 0
        self._need = 0.0

    @property
    def waiting(self) -> int:
        """How many calls are ready and wait."""
        return sum(lane.waiting for lane in list(self._ready))

    def wait(self, call: OpenCall) -> None:
        """Let a call wait until there is room for it."""
        instance = call.instance
        service, caller = instance.services[call.request.service], instance.caller
        key = instance.depth, service.name, id(service)
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = _Lane(service, needs_worker=caller.needs_worker(service), jobs=self._jobs)
        self._ready[lane] = None
        lane.queue.append(call)

    def admit(self) -> set[Execution]:
        """Admit calls, as many as there is room for, one of each service in turn; give those that have them."""
        found: set[Execution] = set()
        turn = list(self._ready)
        for lane in turn:
            lane.bring_back()
        while turn:
            further = []
            for lane in turn:
                call = self._next(lane)
                if call is not None:
                    found.add(call.execution)
                    further.append(lane)
                elif not lane.queue and not lane.spare:
                    del self._ready[lane]
            turn = further
        return found

    def _next(self, lane: _Lane) -> OpenCall | None:
        """Admit the next call of a service, if there is room."""
        while lane.queue or lane.spare:
            if not self._has_room(lane):
                return None
            call = lane.next()
            if call.execution.admit(call):
                self._begin(call, lane)
                return call
        return None

    def _has_room(self, lane: _Lane) -> bool:
        if lane.is_pooled:
            # Of a service of which nothing is known it may be that it takes long, though others do not.
            need = min(self._need, self._jobs) if lane.need is None else lane.need
            if self._pooled >= self._jobs + round(need):
                return False
        return lane.may_begin()

    def _begin(self, call: OpenCall, lane: _Lane) -> None:
        lane.take()
        self._pooled += lane.is_pooled
        self._out[call] = lane, self._pooled, math.inf
        self._noted.append(call)

    def go(self) -> None:
        """Count time for the calls that were noted: they are made now."""
        now, noted, self._noted = time.monotonic(), self._noted, []
        for call in noted:
            found = self._out.get(call)
            if found is not None:
                self._out[call] = found[0], found[1], now

    def end(self, call: OpenCall, *, is_done: bool) -> None:
        """Make room: a call has ended, or its first attempt, or it was given up; unless it was counted before."""
        found = self._out.pop(call, None)
        if found is None:
            return
        lane, number, began = found
        if is_done and began < math.inf:
            need = number * AHEAD_SECONDS / max(MIN_SECONDS, time.monotonic() - began)
            lane.need = need if lane.need is None else lane.need + WEIGHT * (need - lane.need)
            self._need += WEIGHT * (need - self._need)
        lane.out -= 1
        self._pooled -= lane.is_pooled


__all__ = ["CallQueue"]
