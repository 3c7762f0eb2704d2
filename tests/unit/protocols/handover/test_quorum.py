"""Who may go on without the others."""

from __future__ import annotations

from typing import Any

import pytest

from solvent.protocols.handover.messages import Agreement, Attendance
from solvent.protocols.handover.quorum import judged
from solvent.protocols.handover.state import NOBODY, Role, SpaceState
from solvent.protocols.machine import NodeId

FIRST = (0, NodeId(0))
NONE: frozenset[NodeId] = frozenset()


def present(node: int, members: int = 5, **fields: Any) -> Attendance:
    """Give the answer of a process that knows so many."""
    known = tuple((NodeId(one), "") for one in range(members))
    return Attendance(NodeId(node), fields.pop("epoch", FIRST), known, **{"is_voter": True, **fields})


def of(*answers: Attendance) -> dict[NodeId, Attendance]:
    """Give answers by who gave them."""
    return {one.node: one for one in answers}


def agreed(number: int, *members: int) -> tuple[Agreement, ...]:
    """Give what a process has agreed to, of the repair of its first member."""
    return (Agreement((number, NodeId(members[0])), tuple((NodeId(one), "") for one in members)),)


@pytest.mark.parametrize("answering, count", [((0, 1, 2), 5), ((1, 2, 3), 5), ((0, 1), 4), ((0,), 1)])
def test_more_than_half_may_go_on(answering: tuple[int, ...], count: int) -> None:
    """Or half, with the founder."""
    answers = of(*(present(node, count) for node in answering))
    assert judged(answers, NONE) == (True, frozenset(answers), (FIRST,))


@pytest.mark.parametrize("answering, count", [((1, 2), 5), ((2, 3), 4), ((1,), 2)])
def test_fewer_wait(answering: tuple[int, ...], count: int) -> None:
    """Others may be more."""
    assert not judged(of(*(present(node, count) for node in answering)), NONE).is_enough


def test_certain_deaths_are_no_question() -> None:
    """If all that do not answer are dead for certain, any number will do; else the dead count as members."""
    answers = of(present(4))
    assert judged(answers, frozenset(map(NodeId, range(4)))).is_enough
    assert not judged(answers, frozenset(map(NodeId, range(3)))).is_enough


def test_who_comes_or_goes_has_no_vote_and_is_not_counted() -> None:
    """Newcomers take part afterwards all the same."""
    answers = of(present(0, 4), present(1, 4, is_voter=False), present(7, 0, epoch=NOBODY, is_voter=False))
    verdict = judged(answers, NONE)
    assert (verdict.is_enough, verdict.members) == (False, frozenset((0, 1, 7)))
    assert judged(answers | of(present(3, 4)), NONE).is_enough


def test_last_epoch_counts() -> None:
    """Who has missed it, and takes no part in it, is left out."""
    answers = of(present(0, 2, epoch=(1, NodeId(0))), present(1, 5), present(2, 5))
    assert judged(answers, NONE) == (True, frozenset((0, 1)), ((1, NodeId(0)),))


def test_epoch_that_one_has_not_agreed_to_has_not_begun() -> None:
    """It needs all its members."""
    answers = of(present(1, agreements=agreed(1, 0, 1, 2)), present(2), present(3))
    assert judged(answers, NONE) == (True, frozenset((1, 2, 3)), (FIRST,))


def test_epoch_that_all_who_answer_have_agreed_to_may_have_begun() -> None:
    """Then only its members go on, with a majority of both: one that does not answer may say that it has not."""
    known = agreed(1, 0, 1, 2, 3)
    answers = of(present(1, agreements=known), present(2, agreements=known), present(4))
    assert judged(answers, NONE) == (False, frozenset((1, 2)), (FIRST, (1, NodeId(0))))
    assert judged(answers | of(present(0, agreements=known)), NONE).is_enough
    # A majority of it alone is not enough: the founder, the third and the last may go on, if the third has not agreed.
    known = agreed(1, 1, 2, 3)
    assert not judged(of(present(1, agreements=known), present(2, agreements=known)), NONE).is_enough
    assert judged(of(present(0), present(3), present(4)), NONE).is_enough


def test_epoch_that_all_have_agreed_to_is_the_one_that_counts() -> None:
    """Who made it has agreed first; a majority of its members goes on, though of the last epoch it is none."""
    known = agreed(1, 0, 1, 2)
    answers = of(present(1, agreements=known), present(2, agreements=known), present(3), present(4))
    assert judged(answers, NONE) == (True, frozenset((1, 2)), (FIRST, (1, NodeId(0))))
    assert not judged(of(present(1, agreements=known), present(3), present(4)), NONE).is_enough


def test_epoch_whose_other_members_are_dead_restricts_nobody() -> None:
    """Nobody lives in it."""
    answers = of(present(1, agreements=agreed(1, 0, 1)), present(2), present(3))
    assert judged(answers, frozenset((NodeId(0),))) == (True, frozenset((1, 2, 3)), (FIRST, (1, NodeId(0))))


@pytest.mark.parametrize(
    "count, fields, found",
    [
        (5, {"suspects": (3, 4)}, None),
        (5, {"suspects": (2, 3, 4)}, (2, 5)),
        (5, {"dead": (3, 4), "suspects": (2,)}, (2, 5)),
        (5, {"dead": (1, 2, 3, 4)}, None),
        (4, {"suspects": (2, 3)}, None),
        (4, {"suspects": (0, 1)}, (2, 4)),
        (5, {"doubted": (1, 2), "suspects": (0,)}, (2, 5)),
    ],
)
def test_process_knows_that_too_few_answer(
    count: int, fields: dict[str, tuple[int, ...]], found: tuple[int, int] | None
) -> None:
    """It counts those that it hears, or that whoever makes the repair does; those dead for certain hold up nobody."""
    members = {NodeId(one): "" for one in range(count)}
    lost = {name: frozenset(map(NodeId, nodes)) for name, nodes in fields.items()}
    assert SpaceState(Role.INSIDE, FIRST, (1, NodeId(0)), members, **lost).shortage == found  # type: ignore[arg-type]
