"""Users of a token: when they want it, how their waits are counted, and how often others came first."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from solvent.protocols.machine import NodeId, Requested
from solvent.protocols.token.vocabulary import Acquire, Granted, Moved
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


def test_without_a_gap_all_want_it_from_the_first_step_on() -> None:
    """All nodes want it at once, and then further requests follow from services alone."""
    users, heard = users_of(3, 0)
    assert users.heard_next == 1
    users.want(1)
    assert heard.requests == [(NodeId(node), Acquire()) for node in range(3)]
    assert users.heard_next is None


def test_without_a_gap_who_was_served_wants_it_again_in_the_next_step() -> None:
    """At full load the user that was served asks again, and time counts from when that is heard."""
    users, heard = users_of(3, 0)
    users.want(1)
    users.told(ONE, Granted(1), 4)
    assert heard.requests[3:] == [(ONE, Acquire())]
    users.told(ONE, Granted(2), 5)
    assert (users.wait_sum, users.max_wait, users.served) == (3, 3, 2)
    assert (users.responsiveness_sum, users.max_responsiveness) == (4, 3)


def test_requests_come_as_often_as_the_gap_says() -> None:
    """Over a long time, requests are as many as time divided by the gap, and spread evenly over the nodes."""
    users, heard = users_of(5, 4.0, requests=10_000)
    while len(heard.requests) < 10_000:
        step = users.heard_next
        assert step is not None
        before = len(heard.requests)
        users.want(step)
        for node, _ in heard.requests[before:]:
            users.told(node, Granted(1), step)
    assert step == pytest.approx(40_000, rel=0.05)
    nodes = [node for node, _ in heard.requests]
    assert all(nodes.count(NodeId(node)) == pytest.approx(2_000, rel=0.1) for node in range(5))
    assert (users.wait_sum, users.max_responsiveness) == (0, 0)


def test_who_waits_asks_no_second_time() -> None:
    """A request falls on somebody who does not wait; where all wait there is none, and time goes on."""
    users, heard = users_of(4, 0.1)
    for step in range(1, 20):
        users.want(step)
    assert sorted(node for node, _ in heard.requests) == list(range(4))
    assert users.heard_next is not None
    assert users.heard_next >= 20


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


def test_moves_are_counted_and_other_reports_are_not() -> None:
    """Where the token goes is counted by why it does; what is none of users' business is let pass."""
    users, _ = users_of(2, 1.0)
    users.told(ONE, Moved(TWO, "lent"), 1)
    users.told(ONE, Moved(TWO, "round"), 2)
    users.told(ONE, Requested(1), 3)
    assert users.moves == {"lent": 1, "round": 1}


def test_it_is_over_when_enough_are_served_and_the_token_has_been_round() -> None:
    """Both must be: so many served, and so many regular visits."""
    users, _ = users_of(2, 1.0, requests=1, visits=2)
    assert not users.is_over()
    users._request(ONE, 1)
    users.told(ONE, Granted(1), 1)
    users.told(ONE, Moved(TWO, "round"), 1)
    assert not users.is_over()
    users.told(TWO, Moved(ONE, "round"), 2)
    assert users.is_over()


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
