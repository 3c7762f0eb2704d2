"""How often others got the token while one waited: the quick count against a plain one."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from solvent.protocols.machine import NodeId
from solvent_lab.simulator.token_fairness import Fairness


def test_nobody_else_while_nobody_waits() -> None:
    """A node that is served at once, again and again, keeps nobody waiting."""
    fairness = Fairness()
    for _ in range(5):
        fairness.begins(NodeId(0))
        fairness.ends(NodeId(0))
    assert (fairness.grants, fairness.most, fairness.max_others, fairness.others_sum) == (5, 0, 0, 0)


def test_one_node_again_and_again_before_another() -> None:
    """What one other node got is counted apart from what all others got."""
    fairness = Fairness()
    fairness.begins(NodeId(9))
    for node in (1, 2, 1, 3, 1):
        fairness.begins(NodeId(node))
        fairness.ends(NodeId(node))
    fairness.ends(NodeId(9))
    assert (fairness.most, fairness.max_others, fairness.others_sum) == (3, 5, 5)


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
