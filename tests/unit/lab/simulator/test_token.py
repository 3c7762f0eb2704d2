"""Simulated token passing: setups, outcomes, what must be so of every protocol, and lost messages."""

from __future__ import annotations

from math import log2
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from solvent.errors import Misuse
from solvent.protocols.machine import NodeId, Report, Send, SetTimer
from solvent.protocols.token.messages import Probe, Token
from solvent_lab.simulator import token
from solvent_lab.simulator.token import PROTOCOLS, Loss, NobodyServed, Setup, simulate

if TYPE_CHECKING:
    from solvent.protocols.machine import Step


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("gap", [0, 0.5, 3, 40])
def test_figures_fit_each_other(protocol: str, gap: float) -> None:
    """Nobody waits shorter than somebody, means are below maxima, and the token moves by messages."""
    seen = simulate(Setup(nodes=16, gap=gap, protocol=protocol, requests=300), 1)
    assert 300 <= seen.requests <= 302
    assert 0 <= seen.responsiveness <= seen.wait <= seen.max_wait
    assert seen.responsiveness <= seen.max_responsiveness <= seen.max_wait + 1
    assert seen.others <= seen.max_others
    assert seen.max_one_other <= seen.max_others
    assert seen.searches_per_request >= 0
    assert seen.messages_per_request == pytest.approx(
        seen.searches_per_request + sum(seen.moves.values()) / seen.requests
    )
    # Time goes on while nobody wants anything.
    assert seen.steps_per_grant >= max(0.9 * gap, 0.9)


def test_in_a_ring_all_is_known_beforehand() -> None:
    """Whoever waits in a ring of N waits (N - 1) / 2 on average, and never N; at full load each step serves one."""
    seldom = simulate(Setup(nodes=50, gap=200, protocol="ring", requests=800), 1)
    assert seldom.wait == pytest.approx(24.5, abs=2)
    assert seldom.max_wait < 50
    assert (seldom.searches_per_request, set(seldom.moves)) == (0, {"round"})
    full = simulate(Setup(nodes=50, gap=0, protocol="ring", requests=1000), 1)
    assert (full.max_responsiveness, full.steps_per_grant, full.max_others, full.max_one_other) == (1, 1, 49, 1)


def test_naimi_and_trehel_s_needs_as_many_messages_as_they_prove() -> None:
    """A request takes the sum of 1/k for k up to N - 1 on average, which the paper of 1996 proves."""
    for nodes in (10, 100):
        seen = simulate(Setup(nodes=nodes, gap=300, protocol="naimi", requests=3000), 1)
        assert seen.messages_per_request == pytest.approx(sum(1 / k for k in range(1, nodes)), rel=0.04)


def test_raymond_s_tree_is_crossed_twice() -> None:
    """A request takes twice the distance in the tree, on average over any two nodes of it."""

    def distance(one: int, other: int) -> int:
        steps = 0
        while one != other:
            one, other = max(one, other), min(one, other)
            one, steps = (one - 1) // 2, steps + 1
        return steps

    nodes = 31
    mean = sum(distance(one, other) for one in range(nodes) for other in range(nodes)) / nodes**2
    seen = simulate(Setup(nodes=nodes, gap=300, protocol="raymond", requests=3000), 1)
    assert seen.messages_per_request == pytest.approx(2 * mean, rel=0.04)
    assert seen.wait == pytest.approx(2 * mean, rel=0.06)


def test_a_run_may_last_for_rounds() -> None:
    """A run ends only when the token has been at every node so often."""
    seen = simulate(Setup(nodes=30, gap=10, protocol="binary", requests=1, rounds=20), 1)
    assert seen.moves["round"] == 600
    assert seen.requests > 40


@pytest.mark.parametrize("options", [
    {"clean_up": "inverse"},
    {"clean_up": "none"},
    {"is_directed": True},
    {"has_one_search": True},
    {"max_rest": 20},
    {"lends_one_by_one": True},
    {"lends_to_newest": True},
    {"finding": "push"},
    {"loss": 0.2},
    {"loss": 1.0},
    {"loss": 0.2, "max_rest": 20, "again": 10},
    {"loss": 0.2, "finding": "push"},
])  # fmt: skip
def test_variants_serve_everybody(options: dict[str, Any]) -> None:
    """Every variant of the search is a search: others than the usual one do something else, and serve all."""
    usual = Setup(nodes=32, gap=3, requests=400)
    seen, other = simulate(usual, 1), simulate(Setup(nodes=32, gap=3, requests=400, **options), 1)
    assert other != seen
    assert other.requests >= 400
    assert other.max_wait < 32 * 32


@pytest.mark.parametrize("options,slower", [
    ({}, 1),
    ({"lends_one_by_one": True}, 1),
    ({"clean_up": "none"}, 1),
    ({"has_one_search": True}, 1),
    ({"finding": "both"}, 1),
    # Twice as many messages lead to the token, or from it.
    ({"clean_up": "inverse"}, 2),
    ({"is_directed": True}, 2),
])  # fmt: skip
def test_a_token_that_rests_saves_messages_and_is_found_as_soon(options: dict[str, Any], slower: int) -> None:
    """With every variant of a search it is woken by one: few messages, and log2 N steps and a little more."""
    moves = simulate(Setup(nodes=30, gap=200, requests=150, **options), 1)
    rests = simulate(Setup(nodes=30, gap=200, requests=150, max_rest=200, **options), 1)
    assert rests.messages_per_request < moves.messages_per_request / 10
    assert rests.responsiveness <= slower * log2(30) + 1


@pytest.mark.parametrize("options,said", [
    ({"protocol": "tree"}, "there is no protocol `tree`"),
    ({"clean_up": "broom"}, "there is no clean-up `broom`"),
    ({"nodes": 1}, "two nodes"),
    ({"gap": -1.0}, "the gap is -1.0"),
    ({"gap": float("nan")}, "the gap is nan"),
    ({"gap": float("inf")}, "the gap is inf"),
    ({"protocol": "ring", "is_directed": True}, "`ring` has none"),
    ({"protocol": "ring", "lends_one_by_one": True}, "`ring` has none"),
    ({"protocol": "ring", "max_rest": 3}, "`ring` has none"),
    ({"finding": "luck"}, "there is no way of finding `luck`"),
    ({"loss": 1.1}, "the loss is 1.1"),
    ({"protocol": "naimi", "clean_up": "none"}, "`naimi` has none"),
    ({"protocol": "raymond", "rounds": 3}, "does not go round"),
])  # fmt: skip
def test_setups_that_cannot_be_are_refused(options: dict[str, Any], said: str) -> None:
    """What makes no sense is said before anything runs."""
    with pytest.raises(Misuse, match=said) as error:
        Setup(**options)
    assert error.value.code == "P314"


class Deaf:
    """A node that does nothing."""

    def start(self, *_: object) -> Step[None]:
        """Begin."""
        return None, ()

    def step(self, *_: object) -> Step[None]:
        """Let it pass."""
        return None, ()


def test_a_run_in_which_nobody_is_served_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A protocol that forgets about requests is found out, and does not run for ever."""
    monkeypatch.setattr(token, "machines_of", lambda setup: [Deaf() for _ in range(setup.nodes)])
    for gap in (0.0, 3.0):
        with pytest.raises(NobodyServed, match="nobody is served"):
            simulate(Setup(nodes=3, gap=gap), 1)


ONE = NodeId(1)
KEPT = (Send(ONE, Token(3)), Report("told"), SetTimer("rest", 3))


def test_only_what_is_cheap_gets_lost() -> None:
    """The token, timers and reports are never lost, and all else always if all is."""
    loss = Loss(1.0, Random(1))
    assert loss.rest_of((*KEPT, Send(ONE, Probe(ONE, 2)))) == KEPT
    assert loss.lost == 1
