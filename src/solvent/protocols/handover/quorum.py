"""Who may make a repair: which of those that answered a muster may go on together.

A repair leaves those out that have not answered. If all of these are dead for certain, that is no question. If one is
only silent it may live, behind a cut in the network, and make a repair as well. So more than half of all must have
answered; or half, with the founder among them.

*All* are those of the last epoch that any answer tells of, as far as any of its processes knows. Processes that come or
go are known to all before they count, or until they do not (`Attendance.is_voter`); so any two majorities meet in
somebody, although their members do not know quite the same.

A repair that was begun before may have been completed unknown to those that answer here. But then all of its members
have agreed to it. So if one of them answers here and has not, it was not, and never will be. If all that answer have
agreed, it counts as completed, besides the epoch before: a majority of both is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from solvent.protocols.handover.state import NOBODY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from solvent.protocols.handover.messages import Attendance
    from solvent.protocols.handover.vocabulary import Ballot
    from solvent.protocols.machine import NodeId


class Verdict(NamedTuple):
    """What may be made of the answers to a muster."""

    #: Whether the repair may be made; and of those that answered who takes part from then on.
    is_enough: bool
    members: frozenset[NodeId]
    #: The epochs that it follows.
    after: tuple[Ballot, ...]


def judged(answers: Mapping[NodeId, Attendance], dead: frozenset[NodeId], *, needs_majority: bool = True) -> Verdict:
    """Say whether those that answered may go on without the others."""
    latest = max(one.epoch for one in answers.values())
    bases = {latest: _members_of(answers, latest)}
    for ballot, members in _agreements(answers).items():
        is_void = any(
            one in answers and not any(agreement.ballot == ballot for agreement in answers[one].agreements)
            for one in members
        )
        if ballot > latest and not is_void:
            bases[ballot] = members
    # Those who are about to come in had no part in anything, and lose none.
    members = frozenset.intersection(*bases.values()) | {one.node for one in answers.values() if one.epoch == NOBODY}
    is_enough = all(
        not needs_majority or _is_majority(answers, ballot, base - dead, base) for ballot, base in bases.items()
    )
    return Verdict(is_enough, members.intersection(answers), tuple(sorted(bases)))


def _members_of(answers: Mapping[NodeId, Attendance], epoch: Ballot) -> frozenset[NodeId]:
    """Give all that anybody in an epoch knows to take part in it."""
    return frozenset(node for one in answers.values() if one.epoch == epoch for node, _ in one.members)


def _agreements(answers: Mapping[NodeId, Attendance]) -> dict[Ballot, frozenset[NodeId]]:
    return {one.ballot: frozenset(one.members) for answer in answers.values() for one in answer.agreements}


def _is_majority(
    answers: Mapping[NodeId, Attendance], ballot: Ballot, living: frozenset[NodeId], base: frozenset[NodeId]
) -> bool:
    """Say whether all that may live have answered, or enough."""
    if living.issubset(answers):
        return True
    voters = {node for node in base if node in answers and answers[node].is_voter}
    # Those who answer and have no vote will have none elsewhere.
    count = len(base) - sum(node in answers and not answers[node].is_voter for node in base)
    return 2 * len(voters) > count or (2 * len(voters) == count and ballot[1] in voters)


__all__ = ["Verdict", "judged"]
