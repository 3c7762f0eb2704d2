"""Statements about token passing are judged by what was measured: each difference is found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from solvent_lab.experiments.claims import judged
from solvent_lab.experiments.token.cells import BY_NAME, SMALL, Measured, Scale, cells_of, name_of
from solvent_lab.experiments.token.claims import statements
from solvent_lab.simulator.token import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

SCALE = SMALL._replace(sizes=(8, 100), gaps=(2, 500), gaps_of_variants=(2, 10), sizes_full=(8,))
SEEN = Outcome(
    requests=100,
    steps=1000,
    messages=900,
    moves={"round": 500},
    responsiveness_sum=200,
    max_responsiveness=4,
    wait_sum=300,
    max_wait=8,
    others_sum=20,
    max_others=3,
    max_one_other=1,
)


def measured(scale: Scale, changes: Mapping[str, dict[str, Any]]) -> dict[str, Measured]:
    """Measure the same everywhere, but for changes."""
    return {
        name: Measured(setup=cell.setup, seed=1, outcomes=[replace(SEEN, **changes.get(name, {}))])
        for name, cell in cells_of(scale).items()
    }


def differences(changes: Mapping[str, dict[str, Any]]) -> dict[str, str]:
    """Judge all statements, and give the differences by what is said."""
    claims = judged(statements(SCALE), measured(SCALE, changes))
    return {claim.paper: claim.difference for claim in claims if claim.difference != "none"}


AS_IT_SHOULD = {
    name_of("ring", 100, 10): {"responsiveness_sum": 1000},
    name_of("ring", 100, 500): {"responsiveness_sum": 4950},
    name_of("binary", 100, 500): {"responsiveness_sum": 640},
    name_of("binary", 100, 2, BY_NAME["newest first"]): {"max_wait": 20},
}


def test_all_may_be_as_it_should() -> None:
    """Where figures are the paper's there are no differences."""
    assert differences(AS_IT_SHOULD) == {}


def test_each_difference_is_found() -> None:
    """Figures that are not the paper's are told, by what they break and where."""
    changes = AS_IT_SHOULD | {
        name_of("ring", 100, 10): {"responsiveness_sum": 1300},
        name_of("ring", 100, 500): {"responsiveness_sum": 3000},
        name_of("binary", 8, 10): {"responsiveness_sum": 310, "messages": 1200, "max_responsiveness": 7},
        name_of("binary", 100, 500): {"responsiveness_sum": 700},
        name_of("binary", 100, 2): {"max_one_other": 7, "max_others": 101},
        name_of("binary", 8, 0): {"steps": 1060},
        name_of("binary", 100, 10, BY_NAME["inverse"]): {"responsiveness_sum": 300},
        name_of("binary", 100, 10, BY_NAME["directed"]): {"messages": 1400},
        name_of("binary", 100, 2, BY_NAME["one search"]): {"moves": {"round": 300}},
        name_of("binary", 100, 2, BY_NAME["newest first"]): {},
        name_of("binary", 100, 2, BY_NAME["push"]): {"messages": 3000},
        name_of("binary", 100, 10, BY_NAME["rests"]): {"responsiveness_sum": 800},
        name_of("binary", 100, 10, BY_NAME["both, rests"]): {"messages": 1000},
    }
    found = differences(changes)
    assert {words.split(",")[0]: difference for words, difference in found.items()} == {
        "a ring's mean responsiveness approaches 10": "+3.0 at 100",
        "that of BinarySearch is bounded by log2 N": "above it at 8",
        "a ring's mean responsiveness approaches N/2 = 50": "-20.0",
        "that of BinarySearch approaches log2 100 = 6.64 from below": "above it",
        "a request is forwarded O(log N) times": "more",
        "responsiveness is O(log N)": "more",
        "while one waits": "more in 1 of 5 setups",
        "nor do all others together more than N times": "more in 1 of 5 setups",
        "log N fairness needs traps in the order they were set": "it makes no difference",
        "who has the token can look for who wants it": "linear, and shared by all who wait",
        "both schemes can be combined": "more than the better of them",
        "the token may go round slowly while few want it": "it is found late",
        "old traps can be cleaned up by the token's rotation": "the way back cleans up too little",
        "a directed search takes up to twice the search messages": "more",
        "with one search at a time there are no more search messages than token messages": (
            "more at every 2 (6.0 against 3.0)"
        ),
        "at fixed load": "above it at 8",
        "at falling load it approaches log2 100 from below": "above it",
        "at full load it takes at most 1.05 times a ring's steps per grant": "more",
    }


def test_far_below_is_a_difference_too() -> None:
    """Approaching a bound is more than staying below it."""
    found = differences({**AS_IT_SHOULD, name_of("binary", 100, 500): {"responsiveness_sum": 300}})
    assert set(found.values()) == {"far below"}
