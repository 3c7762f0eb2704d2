"""Small worlds of the token, every order of events; the counts are pinned so that a change of the protocol shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from solvent_lab.broken.token import BROKEN
from solvent_lab.checker.explore import GOAL, Verdict, check
from solvent_lab.models.token import MODELS, variant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from _pytest.mark import ParameterSet

#: By variant, with two, three and four nodes.
COUNTS = {
    "ring": (22, 101, 50),
    "binary": (78, 1_864, 1_727),
    "one-by-one": (78, 1_864, 1_735),
    "inverse": (106, 5_686, 2_209),
    "no-clean-up": (106, 5_081, 2_275),
    "directed": (119, 16_760, 4_646),
    "one-search": (78, 1_920, 1_805),
    "uses": (135, 5_111, 2_198),
    "uses-again": (487, 18_386, 4_743),
    "rests": (178, 5_858, 3_037),
    "one-search-rests": (178, 23_272, 9_227),
    "again": (192, 5_728, 1_654),
    "push": (213, 2_951, 1_735),
    "both": (325, 13_356, 5_792),
    "both-moves": (78, 1_864, 4_120),
    "found": (105, 2_516, 829),
    "found-one-by-one": (105, 2_440, 848),
    "found-inverse": (117, 3_427, 893),
    "found-directed": (126, 4_416, 1_483),
}
#: Rings with more states than this are left to the long tests; each variant has others.
MAX_QUICK = 10_000
VIOLATED = {
    "strides-from-whole": "nobody waits for a token that rests",
    "trap-is-token": "there is one token",
    "stamps-alone": "nobody waits for a token that rests",
    "served-traps-stay": "who borrows it waits for it",
    "strides-from-half": "nobody waits for a token that rests",
    "keeps-it": "there is one token",
    "never-returns": "there is one token",
    "rests-for-ever": GOAL,
}


def _rings() -> Iterator[ParameterSet]:
    for name, counts in COUNTS.items():
        for size, states in zip((2, 3, 4), counts, strict=True):
            marks = [pytest.mark.soak] if states > MAX_QUICK else []
            yield pytest.param(name, size, states, id=f"{name}-{size}", marks=marks)


@pytest.mark.parametrize("name,size,states", [*_rings()])
def test_a_small_ring_holds(name: str, size: int, states: int) -> None:
    """There is one token at every moment, and whoever wants it gets it, in every order, whatever cheap gets lost."""
    result = check(MODELS[f"{name}-{size}"]())
    assert (result.verdict, result.states) == (Verdict.HOLDS, states)


def test_every_model_is_counted() -> None:
    """No model is left out of the counts, and no fault of the list."""
    assert set(MODELS) == {f"{name}-{size}" for name in COUNTS for size in (2, 3, 4)}
    assert set(BROKEN) == set(VIOLATED)


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_ring_is_caught(name: str) -> None:
    """Each known fault breaks what it must."""
    result = check(BROKEN[name]())
    assert [violation.property for violation in result.violations] == [VIOLATED[name]]


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", COUNTS)
def test_a_larger_ring_holds(name: str) -> None:
    """With four nodes, of which three want the token, all holds too."""
    assert check(variant(name, 4, wanting=3)).verdict is Verdict.HOLDS
