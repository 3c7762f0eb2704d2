"""Small worlds of ELMP, every order of events: one thing at a time; all of it together is in `elmp_mixed`.

What lies in whose memory is part of the worlds in `elmp_memory`. Titles begin with what happens; E1 to E11 in those of
broken models are the flaws of the paper that docs/explanation/elmp.md lists.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from solvent.protocols.elmp.state import ElmpConfig
from solvent.protocols.elmp.vocabulary import Claim, Granted, Join, Leave, Request, Withdraw
from solvent.protocols.machine import NodeId
from solvent_lab.broken import elmp as broken
from solvent_lab.models.elmp_memory import MEMORY, MEMORY_BROKEN
from solvent_lab.models.elmp_mixed import MIXED, MIXED_LARGE
from solvent_lab.models.elmp_trail import TRAIL, TRAIL_BROKEN, TRAIL_LARGE
from solvent_lab.models.elmp_world import Late, User, elmp, endless

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from solvent_lab.checker.model import Model

_LAZY = ElmpConfig(is_lazy=True)
_SELDOM = ElmpConfig(exchange_every=100)
_STAR_SELDOM = ElmpConfig(order=3, exchange_every=100)
_ROOT = None
_THREE, _FOUR, _FIVE = (_ROOT, 0, 0), (_ROOT, 0, 0, 1), (_ROOT, 0, 0, 1, 1)
_THREAD = (_ROOT, 0, 1)
_READ = Claim(is_shared=True)


def _all(count: int, wanted: object) -> list[tuple[int, object]]:
    return [(node, wanted) for node in range(count)]


def _join(known: int) -> Join:
    return Join(NodeId(known))


MODELS: Mapping[str, Callable[[], Model]] = {
    # --- One thing at a time.
    "requests-4": partial(elmp, _FOUR, _all(4, Request()), title="four processes, all request"),
    "requests-5": partial(elmp, _FIVE, _all(5, Request())[1:], title="five processes, all but the root request"),
    "requests-again": partial(
        elmp,
        _THREAD,
        [*_all(3, Request()), (0, Request()), (1, Request())],
        title="a thread of three, two twice",
    ),
    "requests-seldom-4": partial(
        elmp, _FOUR, _all(4, Request()), config=_SELDOM, title="the root knows the last and keeps its seat"
    ),
    "use-takes-time": partial(
        elmp, _FOUR, _all(4, Request())[1:], user=User, title="four processes; users need time, and all goes on"
    ),
    "departures-4": partial(elmp, _FOUR, _all(4, Leave()), title="four processes, all leave"),
    "departures-5": partial(
        elmp, _FIVE, [(0, Leave()), (1, Leave()), (2, Leave()), (4, Leave())], title="five processes, four leave"
    ),
    "insertions-4": partial(
        elmp,
        (_ROOT,),
        [(1, _join(0)), (2, _join(0)), (3, _join(1)), (0, Leave())],
        outside=3,
        title="three join, also through each other, and the first leaves",
    ),
    "rebuilding": partial(
        elmp,
        _THREAD,
        [(3, _join(2)), (1, Request()), (2, Request())],
        outside=1,
        config=_LAZY,
        title="a lazy tree becomes too high while two request",
    ),
    "rebuilding-leaving": partial(
        elmp,
        _THREAD,
        [(3, _join(2)), (2, Request()), (1, Request()), (0, Leave())],
        outside=1,
        config=_LAZY,
        title="the same, and the root leaves",
    ),
    # --- Claims that end early, and data.
    "withdrawals": partial(
        elmp,
        _THREE,
        [*_all(3, Request()), (1, Withdraw()), (2, Withdraw())],
        user=User,
        title="three request, two think better of it",
    ),
    "patience": partial(
        elmp,
        _THREE,
        [(0, Request()), (1, Request(patience=1)), (2, Request(patience=1))],
        user=User,
        title="two wait for a while only",
    ),
    "leaving-the-queue": partial(
        elmp,
        _THREE,
        [(0, Request()), (1, Request()), (1, Leave()), (2, Leave())],
        user=User,
        title="who waits in the queue leaves",
    ),
    "data": partial(
        elmp,
        _THREE,
        [(1, Request()), (1, Leave()), (2, Request())],
        user=User,
        has_data=True,
        title="who has the data leaves",
    ),
    "data-root": partial(
        elmp,
        _THREE,
        [(0, Leave()), (1, Request()), (2, Request())],
        user=User,
        has_data=True,
        title="the root leaves with the token and the data",
    ),
    "data-late": partial(
        elmp,
        _THREE,
        [(1, Request()), (1, Leave()), (2, Request())],
        user=Late,
        has_data=True,
        config=_SELDOM,
        title="who has the data leaves, and the next one takes its time to fetch it",
    ),
    # --- Claims that may be held together.
    "readers": partial(
        elmp,
        _THREE,
        [(0, Request(claim=_READ)), (1, Request()), (2, Request(claim=_READ))],
        user=User,
        is_in_order=False,
        title="two read together, and one writes before, between or after them",
    ),
    "readers-leaving": partial(
        elmp,
        _THREE,
        [(1, Request(claim=_READ)), (1, Leave()), (2, Request())],
        is_in_order=False,
        title="one has read and leaves, and another writes",
    ),
    "readers-leaving-seldom": partial(
        elmp,
        _THREE,
        [(1, Request(claim=_READ)), (1, Leave()), (2, Request())],
        user=User,
        is_in_order=False,
        config=_SELDOM,
        title="the same, writing takes time, and the root keeps its seat",
    ),
    "parts": partial(
        elmp,
        _THREE,
        [(node, Request(claim=Claim(first=5 * node, length=8))) for node in range(3)],
        user=User,
        is_in_order=False,
        title="three claim parts that overlap",
    ),
    "parts-data": partial(
        elmp,
        (_ROOT, 0),
        [(0, Request(claim=Claim(first=0, length=8))), (1, Request(claim=Claim(first=5, length=8))), (0, Request(1))],
        user=User,
        has_data=True,
        is_in_order=False,
        title="parts are changed here and there, and then all is wanted",
    ),
    "parts-data-leaving": partial(
        elmp,
        (_ROOT, 0),
        [(1, Request(claim=Claim(first=5, length=8))), (1, Leave()), (0, Request(claim=_READ))],
        user=User,
        has_data=True,
        is_in_order=False,
        title="who has changed a part leaves",
    ),
    **MEMORY,
    **MIXED,
    **TRAIL,
}

# Those that take minutes.
LARGE: Mapping[str, Callable[[], Model]] = {**MIXED_LARGE, **TRAIL_LARGE}

BROKEN: Mapping[str, Callable[[], Model]] = {
    "hands-over-no-children": partial(
        elmp, _THREE, [(1, Request())], desk=broken.HandsOverNoChildren, title="E1: an empty list of children is sent"
    ),
    "circle-of-parents": partial(
        elmp, _THREE, [(1, Request())], desk=broken.CircleOfParents, title="E2: a root that is the requester's parent"
    ),
    "keeps-the-old-child": partial(
        elmp, _THREAD, [(2, Request())], desk=broken.KeepsTheOldChild, title="E3: the old parent keeps the wrong child"
    ),
    "knows-its-neighbours-once": partial(
        elmp,
        (*_FOUR, 3, 2),
        [(0, Leave()), (2, Leave())],
        desk=broken.KnowsItsNeighboursOnce,
        title="E4: neighbours that leave do not look again",
    ),
    "holds-itself-first": partial(
        elmp,
        _THREAD,
        [(0, Leave()), (2, Request())],
        desk=broken.HoldsItselfFirst,
        title="E5: a request meets a process that leaves",
    ),
    "only-idle-ones-follow": partial(
        elmp,
        _THREE,
        [(1, Request()), (2, Request())],
        desk=broken.OnlyIdleOnesFollow,
        title="E6: a child that is not idle stops the exchange",
    ),
    "refuses": partial(
        endless,
        _THREE,
        (2, Request()),
        wanting=(0, 1),
        outcome=Granted,
        desk=broken.Refuses,
        title="E7: refused requests begin again, and others overtake them",
    ),
    "leaves-with-the-data": partial(
        elmp,
        _THREE,
        [(1, Request()), (1, Leave())],
        user=User,
        has_data=True,
        desk=broken.LeavesWithTheData,
        title="E8: nobody has fetched the data",
    ),
    "withdraws-at-once": partial(
        elmp,
        _THREE,
        [*_all(3, Request()), (1, Withdraw())],
        user=User,
        desk=broken.WithdrawsAtOnce,
        title="E9: a claim is dropped and not taken out of the list",
    ),
    "does-not-wait-for-children": partial(
        elmp,
        _THREE,
        [(1, Request()), (2, Request())],
        desk=broken.DoesNotWaitForChildren,
        title="E10: a request is on its way to a parent that is exchanged",
    ),
    "never-rebuilds": partial(
        elmp,
        _THREAD,
        [(3, _join(2))],
        outside=1,
        config=_LAZY,
        desk=broken.NeverRebuilds,
        title="E11: a lazy tree grows without bounds",
    ),
    "gives-way-to-nobody": partial(
        elmp,
        _FOUR,
        [(0, Leave()), (1, Leave())],
        is_endless=True,
        desk=broken.GivesWayToNobody,
        title="of two that leave none comes first",
    ),
    "takes-the-newest-first": partial(
        endless,
        _THREAD,
        (2, Request()),
        wanting=(0, 1),
        outcome=Granted,
        desk=broken.TakesTheNewestFirst,
        title="queues are stacks",
    ),
    "last-come-first-served": partial(
        elmp,
        _THREE,
        _all(3, Request()),
        user=User,
        config=_SELDOM,
        desk=broken.LastComeFirstServed,
        title="the root puts who comes last before the others",
    ),
    "keeps-the-token": partial(
        elmp, _THREE, [(1, Request())], desk=broken.KeepsTheToken, title="who passes the token on has it still"
    ),
    "loses-the-token": partial(
        elmp,
        _THREE,
        [(0, Request()), (1, Request()), (1, Withdraw())],
        user=User,
        desk=broken.LosesTheToken,
        title="a withdrawn claim swallows the token",
    ),
    "waits-for-nobody": partial(
        elmp,
        _THREE,
        [(1, Request(claim=_READ)), (2, Request())],
        user=User,
        is_in_order=False,
        desk=broken.WaitsForNobody,
        title="one writes while another reads",
    ),
    "waits-for-those-that-hold": partial(
        elmp,
        _THREE,
        [(node, Request(claim=Claim(first=5 * node, length=8))) for node in range(3)],
        user=User,
        is_in_order=False,
        desk=broken.WaitsForThoseThatHold,
        title="who comes later is granted before who waits",
    ),
    "leaves-while-listed": partial(
        elmp,
        _THREE,
        [(1, Request(claim=_READ)), (1, Leave()), (2, Request())],
        is_in_order=False,
        desk=broken.LeavesWhileListed,
        title="somebody waits for an answer from who has left",
    ),
    "forgets-the-predecessor": partial(
        elmp,
        _THREE,
        [*_all(3, Request()), (1, Withdraw())],
        user=User,
        desk=broken.ForgetsThePredecessor,
        title="who comes next does not hear that one before it has gone",
    ),
    "forgets-the-end": partial(
        elmp, _THREE, _all(3, Request()), user=User, desk=broken.ForgetsTheEnd, title="the root does not note the last"
    ),
    "stays-root": partial(
        elmp, _THREE, [(1, Request()), (2, Request())], desk=broken.StaysRoot, title="two give turns"
    ),
    "tells-only-the-requester": partial(
        elmp,
        (_ROOT, 0, 1, 1),
        [(2, Request()), (4, _join(3))],
        outside=1,
        config=ElmpConfig(is_lazy=True, exchange_every=100, slack=1.1),
        desk=broken.TellsOnlyTheRequester,
        title="a path is free before the requester knows its place, and the tree is built anew",
    ),
    "ignores-impatience": partial(
        elmp,
        (_ROOT, 0, 0, 0),
        [(1, Request()), (4, _join(2))],
        outside=1,
        config=_STAR_SELDOM,
        desk=broken.IgnoresImpatience,
        title="who has not heard of its place never takes in who joins below it",
    ),
    "gathers-in-silence": partial(
        elmp,
        _FOUR,
        [(4, _join(3)), (0, Request()), (2, Request())],
        outside=1,
        user=User,
        config=ElmpConfig(is_lazy=True, exchange_every=100, slack=1.1),
        desk=broken.GathersInSilence,
        title="who has a place and has not heard of it begins its request again",
    ),
    "gives-up-the-token": partial(
        elmp,
        _THREE,
        [(1, Request()), (1, Leave()), (2, Request())],
        user=Late,
        has_data=True,
        config=_SELDOM,
        desk=broken.GivesUpTheToken,
        title="who needs the token to leave asks for it and lets itself be passed over, again and again",
    ),
    **MEMORY_BROKEN,
    **TRAIL_BROKEN,
}

__all__ = ["BROKEN", "LARGE", "MODELS"]
