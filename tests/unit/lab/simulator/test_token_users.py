"""Users of a token: when they want it, how their waits are counted, and how often others came first."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from solvent.protocols.machine import NodeId
from solvent.protocols.token.messages import Granted
from solvent_lab.simulator.token_users import Fairness, Users

ONE, TWO = NodeId(1), NodeId(2)


class Heard:
    """Takes the place of a run, and keeps what was requested."""

    def __init__(self) -> None:
        self.requests: list[tuple[NodeId, object]] = []

    def request(self, node: NodeId, request: object) -> None:
        """Keep a request."""
        self.requests.append((node, request))


def users_of(nodes: int, gap: float, *, requests: int = 10, visits: int = 0) -> tuple[Users, Heard]:
    """Make users and what stands for their run."""
    users, heard = Users(nodes=nodes, gap=gap, requests=requests, visits=visits, chance=Random(1)), Heard()
    users.run = heard  # type: ignore[assignment]
    return users, heard


def test_responsiveness_counts_from_the_first_who_waits_or_the_last_service() -> None:
    """It is Definition 3 for each service: from when somebody waits until somebody, perhaps another, is served."""
    users, _ = users_of(4, 1.0)
    users._request(ONE, 10)
    users._request(TWO, 12)
    users.told(TWO, Granted(1), 15)
    assert (users.responsiveness_sum, users.wait_sum) == (5, 3)
    users.told(ONE, Granted(1), 18)
    assert (users.responsiveness_sum, users.wait_sum) == (8, 11)
    users._request(TWO, 30)
    users.told(TWO, Granted(2), 30)
    assert (users.responsiveness_sum, users.max_responsiveness, users.max_wait) == (8, 5, 8)


def test_who_is_still_waiting_counts_for_the_longest_wait() -> None:
    """A wait that is broken off is no shorter than it was by then."""
    users, _ = users_of(2, 1.0)
    users._request(ONE, 1)
    users.break_off(40)
    assert (users.max_wait, users.wait_sum) == (39, 0)


def test_who_is_still_waiting_counts_at_the_end() -> None:
    """A node that never gets the token has seen others get it all the same."""
    fairness = Fairness()
    fairness.begins(NodeId(9))
    for _ in range(4):
        fairness.begins(NodeId(1))
        fairness.ends(NodeId(1))
    assert (fairness.most, fairness.max_others) == (0, 0)
    fairness.breaks_off()
    assert (fairness.most, fairness.max_others, fairness.others_sum) == (4, 4, 0)


@pytest.mark.parametrize("seed", range(20))
def test_it_counts_as_one_would_by_hand(seed: int) -> None:
    """In a random run the figures are those of looking at every possession of every wait."""
    chance = Random(seed)
    fairness, log, waiting = Fairness(), list[int](), dict[int, int]()
    most = max_others = others_sum = 0
    for _ in range(300):
        node = int(chance.paretovariate(0.7)) % 8
        if node not in waiting:
            waiting[node] = len(log)
            fairness.begins(NodeId(node))
        elif chance.random() < 0.5:
            others = log[waiting.pop(node) :]
            most = max([most, *Counter(others).values()])
            max_others, others_sum = max(max_others, len(others)), others_sum + len(others)
            log.append(node)
            fairness.ends(NodeId(node))
    assert (fairness.most, fairness.max_others, fairness.others_sum) == (most, max_others, others_sum)
    assert most > 1
