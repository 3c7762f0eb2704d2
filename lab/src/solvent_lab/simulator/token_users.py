"""Users of a token in a simulation: when they want it, and how long they wait.

With a gap, somebody wants the token every so often on average, after exponential times, and it is any of those who do
not want it already; a request that finds nobody left is none. Without a gap (zero) all nodes want it all the time: each
asks again in the step after it was served, which is what ever smaller gaps come to.

A request made in the course of a step is heard in the next whole one, and time counts from there; a user that has been
given the token needs no time with it. Responsiveness is the paper's Definition 3, service by service: from the first
moment somebody waits, or from the last service if somebody waited then, until somebody is served, not necessarily the
same.
"""

from __future__ import annotations

from collections import Counter
from math import ceil
from typing import TYPE_CHECKING, Any

from solvent.protocols.machine import NodeId
from solvent.protocols.token.messages import Acquire, Granted, Moved
from solvent_lab.simulator.environment import Environment

if TYPE_CHECKING:
    from random import Random

    from solvent_lab.simulator.discrete import DiscreteRun


class Fairness:
    """Counts how often others got the token while one waited: all together, and any single one of them.

    The first is a difference of two counts. The second would take a look at every possession of every wait, which at
    full load is the square of the nodes for every round; it is found without. Let `most` be the most so far. A wait
    beats it if it spans `most + 1` possessions of one node, and it does if it began before the latest moment from which
    some node has had the token so often. This moment changes with every possession, and costs one comparison to keep.
    """

    def __init__(self) -> None:
        #: How often somebody got the token.
        self.grants = 0
        #: The most often any one other node got it during one wait.
        self.most = 0
        #: The most often all others together got it during one wait, and the sum of this over all waits that are over.
        self.max_others = 0
        self.others_sum = 0
        #: How many grants there had been when each wait began.
        self._since: dict[NodeId, int] = {}
        #: The numbers of each node's grants, upwards.
        self._of: dict[NodeId, list[int]] = {}
        #: For each n, the number of the latest grant since which some node has had n + 1 of them; n is at most `most`.
        self._latest = [-1]

    def begins(self, node: NodeId) -> None:
        """Let a node wait."""
        self._since[node] = self.grants

    def ends(self, node: NodeId) -> None:
        """End the wait of a node: it has the token."""
        since = self._since.pop(node)
        self.others_sum += self.grants - since
        self._look(since)
        own = self._of.setdefault(node, [])
        own.append(self.grants)
        self.grants += 1
        latest = self._latest
        for count in range(min(len(latest), len(own))):
            start = own[-1 - count]
            latest[count] = max(latest[count], start)

    def breaks_off(self) -> None:
        """Count also what those still waiting have seen; their waits would last at least so long."""
        for since in self._since.values():
            self._look(since)

    def _look(self, since: int) -> None:
        others = self.grants - since
        self.max_others = max(self.max_others, others)
        latest = self._latest
        while latest[self.most] >= since:
            self.most += 1
            latest.append(max((own[-1 - self.most] for own in self._of.values() if len(own) > self.most), default=-1))


class Users(Environment):
    """All users of one run, and what they see."""

    def __init__(self, *, nodes: int, gap: float, requests: int, visits: int, chance: Random) -> None:
        self.run: DiscreteRun | None = None
        self.fairness = Fairness()
        self.served = 0
        #: How often the token moved, by why it did.
        self.moves: Counter[str] = Counter()
        self.responsiveness_sum = self.max_responsiveness = 0
        self.wait_sum = self.max_wait = 0
        #: When the last service was, or when the first began to wait.
        self.at = 0
        self._requests, self._visits = requests, visits
        self._gap, self._chance = gap, chance
        self._waiting: dict[NodeId, int] = {}
        #: Since when somebody has been waiting and nobody has been served.
        self._since = 0
        self._idle = [NodeId(node) for node in range(nodes)]
        self._due = 0.0
        self._draw(0)

    # ------------------------------------------------------------------------------------------ what they want

    @property
    def heard_next(self) -> int | None:
        """The step in which the next request is heard; none if further requests follow from services alone."""
        return ceil(self._due) if self._gap or self._idle else None

    @property
    def is_somebody_waiting(self) -> bool:
        """Whether anybody waits."""
        return bool(self._waiting)

    def want(self, step: int) -> None:
        """Make the requests that are heard in this step, which is the next one."""
        if not self._gap:
            for node in self._idle:
                self._request(node, step)
            self._idle = []
            return
        while self._due <= step:
            if not self._idle:
                # Whoever comes now comes in vain, and exponential times have no memory.
                self._draw(step)
                return
            place = int(self._chance.random() * len(self._idle))
            node, last = self._idle[place], self._idle.pop()
            if node != last:
                self._idle[place] = last
            self._request(node, step)
            self._draw(self._due)

    def _draw(self, after: float) -> None:
        self._due = after + self._chance.expovariate(1 / self._gap) if self._gap else 1.0

    def _request(self, node: NodeId, step: int) -> None:
        assert self.run is not None, "users need a run before they want anything"
        if not self._waiting:
            self._since = step
            self.at = step
        self._waiting[node] = step
        self.fairness.begins(node)
        self.run.request(node, Acquire())

    # ------------------------------------------------------------------------------------------- what they get

    def told(self, node: NodeId, outcome: Any, at: int) -> None:
        """Hear that a node was served, or where the token went."""
        if type(outcome) is Moved:
            self.moves[outcome.why] += 1
        elif type(outcome) is Granted:
            self._on_granted(node, at)

    def _on_granted(self, node: NodeId, at: int) -> None:
        waited, passed = at - self._waiting.pop(node), at - self._since
        self.fairness.ends(node)
        self.served += 1
        self.at = self._since = at
        self.wait_sum += waited
        self.max_wait = max(self.max_wait, waited)
        self.responsiveness_sum += passed
        self.max_responsiveness = max(self.max_responsiveness, passed)
        if self._gap:
            self._idle.append(node)
        else:
            self._request(node, at + 1)

    def is_over(self) -> bool:
        """Return whether enough have been served, and the token has been round often enough."""
        return self.served >= self._requests and self.moves["round"] >= self._visits

    def break_off(self, at: int) -> None:
        """Count also the waits that are not over, as far as they are greater than any other."""
        self.fairness.breaks_off()
        self.max_wait = max([self.max_wait, *[at - heard for heard in self._waiting.values()]])
