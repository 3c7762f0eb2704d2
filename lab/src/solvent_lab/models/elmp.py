"""Small worlds of ELMP, every order of events: one thing at a time, all of it together, and users that never stop.

What lies in whose memory is part of the worlds in `elmp_memory`; `elmp_world` builds the others.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from solvent.protocols.elmp.state import ElmpConfig
from solvent.protocols.elmp.vocabulary import Granted, Joined, Leave, Left, Request, Withdraw
from solvent_lab.models.elmp_memory import MEMORY
from solvent_lab.models.elmp_world import (
    ALL,
    FIVE,
    FOUR,
    LAZY,
    ONCE,
    PARTS,
    READS,
    SELDOM,
    STAR,
    STAR_FOURTH,
    STAR_SELDOM,
    STRICT,
    THREAD,
    THREE,
    TWICE,
    Late,
    all_want,
    elmp,
    endless,
    join_at,
    part_of,
    timed,
    together,
    with_data,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from solvent_lab.checker.model import Model

_LAZY_SECOND, _LAZY_SELDOM = ElmpConfig(is_lazy=True, exchange_every=2), ElmpConfig(is_lazy=True, exchange_every=100)
_STAR_SECOND = ElmpConfig(order=3, exchange_every=2)
_STAR_SHORT = ElmpConfig(order=3, exchange_every=100, max_trail=1)
_TWO_LEAVE = [(0, Leave()), (1, Request()), (2, Leave()), (3, Request()), (4, join_at(3))]
_ROOT_LEAVES = [(0, Leave()), (2, Request()), (3, Request()), (4, join_at(3))]
_BELOW_A_REQUESTER = [(0, Leave()), (1, Request()), (2, Request()), (4, join_at(1))]

MODELS: Mapping[str, Callable[[], Model]] = {
    # --- One thing at a time.
    "requests-4": partial(elmp, FOUR, ALL, title="four processes, all request"),
    "requests-5": partial(elmp, FIVE, all_want(5, Request())[1:], title="five processes, all but the root request"),
    "requests-again": partial(
        elmp, THREAD, [*ONCE, (0, Request()), (1, Request())], title="a thread of three, two twice"
    ),
    "requests-seldom-4": partial(elmp, FOUR, ALL, config=SELDOM, title="the root knows the last and keeps its seat"),
    "use-takes-time": partial(timed, FOUR, ALL[1:], title="four processes; users need time"),
    "departures-4": partial(elmp, FOUR, all_want(4, Leave()), title="four processes, all leave"),
    "departures-5": partial(
        elmp, FIVE, [(0, Leave()), (1, Leave()), (2, Leave()), (4, Leave())], title="five processes, four leave"
    ),
    "insertions-4": partial(
        elmp,
        (None,),
        [(1, join_at(0)), (2, join_at(0)), (3, join_at(1)), (0, Leave())],
        title="three join, also through each other, and the first leaves",
    ),
    "rebuilding": partial(
        elmp,
        THREAD,
        [(3, join_at(2)), (1, Request()), (2, Request())],
        config=LAZY,
        title="a lazy tree becomes too high while two request",
    ),
    "rebuilding-leaving": partial(
        elmp,
        THREAD,
        [(3, join_at(2)), (2, Request()), (1, Request()), (0, Leave())],
        config=LAZY,
        title="the same, and the root leaves",
    ),
    # --- Claims that end early, and data.
    "withdrawals": partial(
        timed, THREE, [*ONCE, (1, Withdraw()), (2, Withdraw())], title="three request, two think better of it"
    ),
    "patience": partial(
        timed,
        THREE,
        [(0, Request()), (1, Request(patience=1)), (2, Request(patience=1))],
        title="two wait for a while only",
    ),
    "leaving-the-queue": partial(
        timed,
        THREE,
        [(0, Request()), (1, Request()), (1, Leave()), (2, Leave())],
        title="a process leaves while it waits in the queue",
    ),
    "data": partial(
        with_data, THREE, [(1, Request()), (1, Leave()), (2, Request())], title="the process that has the data leaves"
    ),
    "data-root": partial(
        with_data,
        THREE,
        [(0, Leave()), (1, Request()), (2, Request())],
        title="the root leaves with the token and the data",
    ),
    "data-late": partial(
        elmp,
        THREE,
        [(1, Request()), (1, Leave()), (2, Request())],
        user=Late,
        has_data=True,
        config=SELDOM,
        title="the process that has the data leaves, and the next one takes its time to fetch it",
    ),
    # --- Claims that may be held together.
    "readers": partial(
        together,
        THREE,
        [(0, READS), (1, Request()), (2, READS)],
        title="two read together, and one writes before, between or after them",
    ),
    "readers-leaving": partial(
        elmp,
        THREE,
        [(1, READS), (1, Leave()), (2, Request())],
        is_in_order=False,
        title="one has read and leaves, and another writes",
    ),
    "readers-leaving-seldom": partial(
        together,
        THREE,
        [(1, READS), (1, Leave()), (2, Request())],
        config=SELDOM,
        title="the same, writing takes time, and the root keeps its seat",
    ),
    "parts": partial(together, THREE, PARTS, title="three claim parts that overlap"),
    "parts-data": partial(
        with_data,
        (None, 0),
        [(0, part_of(0)), (1, part_of(1)), (0, Request(1))],
        is_in_order=False,
        title="parts are changed here and there, and then all is wanted",
    ),
    "parts-data-leaving": partial(
        with_data,
        (None, 0),
        [(1, part_of(1)), (1, Leave()), (0, READS)],
        is_in_order=False,
        title="a process that has changed a part leaves",
    ),
    **MEMORY,
    # --- Requests, departures and insertions at the same time: both ways to keep the tree low, and a root that changes
    # seats each time, every second time, or (nearly) never.
    "mixed-4": partial(
        elmp, FOUR, _TWO_LEAVE, title="four processes: two request, the root and a leaf leave, a fifth joins"
    ),
    "mixed-seldom-4": partial(elmp, FOUR, _TWO_LEAVE, config=SELDOM, title="the same, and the root keeps its seat"),
    "mixed-middle-4": partial(
        elmp,
        FOUR,
        [(0, Request()), (1, Leave()), (3, Request()), (4, join_at(1))],
        title="four processes: two request, one between them leaves, a fifth joins through that",
    ),
    "mixed-lazy-4": partial(
        elmp, FOUR, _ROOT_LEAVES, config=LAZY, title="a lazy tree of four: two request, one leaves, one joins"
    ),
    "mixed-lazy-second-4": partial(
        elmp, FOUR, _ROOT_LEAVES, config=_LAZY_SECOND, title="the same, seats change at every second request"
    ),
    "mixed-star-4": partial(
        elmp, STAR, _BELOW_A_REQUESTER, config=STAR_SELDOM, title="four in a star; the root keeps its seat"
    ),
    "mixed-star-second-4": partial(
        elmp, STAR, _BELOW_A_REQUESTER, config=_STAR_SECOND, title="the same, seats change at every second request"
    ),
    "mixed-star-leaf-4": partial(
        elmp,
        STAR,
        [(1, Request()), (2, Request()), (1, Leave()), (4, join_at(1))],
        config=STAR_SELDOM,
        title="a process that requests leaves, and one joins through it",
    ),
    "mixed-rebuilding": partial(
        elmp,
        FOUR,
        [(4, join_at(3)), (2, Request()), (3, Request())],
        config=STRICT,
        title="the tree is built anew while one below the root has not heard of its place",
    ),
    "mixed-patience-4": partial(
        timed,
        THREE,
        [(0, Leave()), (1, Request(patience=1)), (2, Request()), (3, join_at(2))],
        config=SELDOM,
        title="one waits for a while only, one leaves, one joins",
    ),
    "mixed-parts-4": partial(
        together,
        THREE,
        [(1, part_of(1)), (2, part_of(2)), (1, Leave()), (3, join_at(1))],
        config=SELDOM,
        title="two claim parts that overlap, one leaves, one joins",
    ),
    "mixed-data-4": partial(
        with_data,
        THREE,
        [(1, Request()), (1, Leave()), (2, Request()), (3, join_at(0))],
        config=SELDOM,
        title="the process that has the data leaves, one joins",
    ),
    # --- Some request for ever.
    "endless-request": partial(
        endless, THREE, (2, Request()), wanting=(0, 1), outcome=Granted, title="two request for ever, a third once"
    ),
    "endless-departure": partial(
        endless, THREAD, (1, Leave()), wanting=(0, 2), outcome=Left, title="two request for ever, another leaves"
    ),
    "endless-insertion": partial(
        endless, (None, 0), (2, join_at(1)), wanting=(0, 1), outcome=Joined, title="two request for ever, a third joins"
    ),
    "endless-request-seldom": partial(
        endless,
        THREE,
        (2, Request()),
        wanting=(0, 1),
        outcome=Granted,
        config=SELDOM,
        title="two request for ever, a third once, and the root keeps its seat",
    ),
    "endless-departure-seldom": partial(
        endless,
        THREE,
        (0, Leave()),
        wanting=(1, 2),
        outcome=Left,
        config=SELDOM,
        title="two request for ever, the root, which keeps its seat, leaves",
    ),
    "endless-insertion-seldom": partial(
        endless,
        (None, 0),
        (2, join_at(1)),
        wanting=(0, 1),
        outcome=Joined,
        config=_LAZY_SELDOM,
        title="two request for ever, a third joins a lazy tree whose root keeps its seat",
    ),
    # --- The root waits itself, and keeps the places behind its own for the token to tell. Trees are stars whose root
    # keeps its seat: only there nobody needs to hear of its place at once.
    "trail": partial(timed, STAR, ALL, config=STAR_SELDOM, title="four request, the root among them"),
    "trail-short": partial(timed, STAR, ALL, config=_STAR_SHORT, title="the same, and the token tells of two"),
    "trail-again": partial(timed, THREE, TWICE, config=STAR_SELDOM, title="three request, two of them twice"),
    "trail-exchange": partial(timed, THREE, TWICE, config=STAR_FOURTH, title="the same, and seats are changed between"),
    "trail-withdrawals": partial(
        timed,
        STAR,
        [*ALL, (1, Withdraw()), (2, Withdraw())],
        config=STAR_SELDOM,
        title="four request, two think better of it",
    ),
    "trail-root": partial(
        timed,
        THREE,
        [*ONCE, (0, Withdraw()), (0, Request(1))],
        config=STAR_SELDOM,
        title="the root gives its place up and takes another",
    ),
    "trail-patience": partial(
        timed,
        THREE,
        [(0, Request()), (1, Request(patience=1)), (2, Request(patience=1)), (1, Request(1))],
        config=STAR_SELDOM,
        title="two wait for a while only, and one of them requests again",
    ),
    "trail-handles": partial(
        timed,
        THREE,
        [*ONCE, (1, Request(1)), (2, Withdraw())],
        config=STAR_SELDOM,
        title="two claims of one process, and another is withdrawn",
    ),
    "trail-leaving": partial(
        timed,
        THREE,
        [*ONCE, (1, Leave())],
        config=STAR_SELDOM,
        title="a process that has not heard of its place leaves",
    ),
    "trail-joining": partial(
        timed,
        THREE,
        [*ONCE, (3, join_at(1))],
        config=STAR_SELDOM,
        title="one joins below a process that has not heard of its place",
    ),
    "trail-parts": partial(together, THREE, PARTS, config=STAR_SELDOM, title="three claim parts that overlap"),
}

LARGE: Mapping[str, Callable[[], Model]] = {
    "requests-6": partial(
        elmp, (*FIVE, 2), [(node, Request()) for node in range(1, 6)], title="six processes, all but the root request"
    ),
    "mixed-patience-exchange-4": partial(
        timed,
        THREE,
        [(0, Leave()), (1, Request(patience=1)), (2, Request()), (3, join_at(2))],
        title="one waits for a while only, one leaves, one joins, and seats are changed",
    ),
    "mixed-data-exchange-4": partial(
        with_data,
        THREE,
        [(1, Request()), (1, Leave()), (2, Request()), (3, join_at(0))],
        title="the process that has the data leaves, one joins, and seats are changed",
    ),
    "endless-request-4": partial(
        endless, FOUR, (3, Request()), wanting=(1, 2), outcome=Granted, title="two of four request for ever"
    ),
    "endless-departure-4": partial(
        endless, FOUR, (1, Leave()), wanting=(2, 3), outcome=Left, title="two of four request for ever, another leaves"
    ),
    "trail-leaving-4": partial(
        timed,
        STAR,
        [*ALL, (1, Leave())],
        config=STAR_SELDOM,
        title="four request, and one that has not heard of its place leaves",
    ),
    "trail-leaving-root-4": partial(
        timed, STAR, [*ALL, (0, Leave())], config=STAR_SELDOM, title="four request, and the root leaves"
    ),
}
"""Worlds that take minutes."""

__all__ = ["LARGE", "MODELS"]
