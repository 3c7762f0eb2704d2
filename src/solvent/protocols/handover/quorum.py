"""Who may make a repair: which of those that answered a muster may go on together.

A repair leaves those out that have not answered. If all of these are dead for certain, that is no question. If one is
only silent it may live, behind a cut in the network, and make a repair as well. So more than half of all must take part
in the new epoch, or half, with the founder among them; and all of these must agree before it begins.

*All* are those of the last epoch that any answer tells of, as far as any of its processes knows. Processes that come or
go are known to all before they count, or until they do not (`Attendance.is_voter`); so any two majorities meet in
somebody, although their members do not know quite the same.

An epoch that was agreed to before may have begun unknown to those that answer here. But then all of its members have
agreed to it. So if one of them answers here and has not, it did not begin, and never will. If all that do not answer
are dead for certain, nobody lives in it, and whoever has agreed is here. Else it counts as begun: only its members may
go on, and a majority of them is needed, besides one of the last epoch: elsewhere it may turn out not to have begun.

If all of its members are known to have agreed, it cannot turn out so anywhere: whoever makes a repair hears of it from
one of them, since they are enough of the last epoch. Then a majority of its members alone may go on.
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
    after = [latest]
    for ballot, members in sorted(_agreements(answers).items()):
        if ballot > latest and not _is_void(answers, ballot, members):
            after.append(ballot)
            if not (members - dead).issubset(answers):
                bases = {ballot: members} if _is_agreed(answers, ballot, members) else {**bases, ballot: members}
    # Those who are about to come in had no part in anything, and lose none.
    members = frozenset.intersection(*bases.values()) | {one.node for one in answers.values() if one.epoch == NOBODY}
    members = members.intersection(answers)
    is_enough = not needs_majority or all(
        _is_majority(answers, ballot, members, base, dead) for ballot, base in bases.items()
    )
    return Verdict(is_enough, members, tuple(after))


def _is_void(answers: Mapping[NodeId, Attendance], ballot: Ballot, members: frozenset[NodeId]) -> bool:
    """Say whether an epoch cannot have begun, since one that answers here has not agreed to it."""
    return any(
        one in answers and all(agreement.ballot != ballot for agreement in answers[one].agreements) for one in members
    )


def _is_agreed(answers: Mapping[NodeId, Attendance], ballot: Ballot, members: frozenset[NodeId]) -> bool:
    """Say whether all members of an epoch have agreed to it; who made it did so first."""
    return all(
        one == ballot[1] or (one in answers and any(each.ballot == ballot for each in answers[one].agreements))
        for one in members
    )


def _members_of(answers: Mapping[NodeId, Attendance], epoch: Ballot) -> frozenset[NodeId]:
    """Give all that anybody in an epoch knows to take part in it."""
    return frozenset(node for one in answers.values() if one.epoch == epoch for node, _ in one.members)


def _agreements(answers: Mapping[NodeId, Attendance]) -> dict[Ballot, frozenset[NodeId]]:
    return {
        one.ballot: frozenset(node for node, _ in one.members)
        for answer in answers.values()
        for one in answer.agreements
    }


def _is_majority(
    answers: Mapping[NodeId, Attendance],
    ballot: Ballot,
    members: frozenset[NodeId],
    base: frozenset[NodeId],
    dead: frozenset[NodeId],
) -> bool:
    """Say whether of an epoch all that may live go on, or enough."""
    if base - dead <= members:
        return True
    voters = {node for node in base & members if answers[node].is_voter}
    # Those who answer and have no vote will have none elsewhere.
    count = len(base) - sum(node in answers and not answers[node].is_voter for node in base)
    return 2 * len(voters) > count or (2 * len(voters) == count and ballot[1] in voters)


__all__ = ["Verdict", "judged"]
