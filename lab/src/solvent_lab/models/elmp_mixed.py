"""Small worlds of ELMP in which processes request, leave and join at the same time, and such in which some never end.

Both ways to keep the tree low, and a root that changes seats each time, every second time, or (nearly) never.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from solvent.protocols.elmp.state import ElmpConfig
from solvent.protocols.elmp.vocabulary import Claim, Granted, Join, Joined, Leave, Left, Request
from solvent.protocols.machine import NodeId
from solvent_lab.models.elmp_world import User, elmp, endless

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from solvent_lab.checker.model import Model

_LAZY, _LAZY_SECOND = ElmpConfig(is_lazy=True), ElmpConfig(is_lazy=True, exchange_every=2)
_SELDOM, _LAZY_SELDOM = ElmpConfig(exchange_every=100), ElmpConfig(is_lazy=True, exchange_every=100)
_STAR_SECOND, _STAR_SELDOM = ElmpConfig(order=3, exchange_every=2), ElmpConfig(order=3, exchange_every=100)
_STRICT = ElmpConfig(is_lazy=True, exchange_every=100, slack=1.1)
_ROOT = None
_THREE, _FOUR, _FIVE = (_ROOT, 0, 0), (_ROOT, 0, 0, 1), (_ROOT, 0, 0, 1, 1)
_STAR = (_ROOT, 0, 0, 0)
_THREAD = (_ROOT, 0, 1)


def _join(known: int) -> Join:
    return Join(NodeId(known))


def _part(node: int) -> Request:
    return Request(claim=Claim(first=5 * node, length=8))


_TWO_LEAVE = [(0, Leave()), (1, Request()), (2, Leave()), (3, Request()), (4, _join(3))]
_ROOT_LEAVES = [(0, Leave()), (2, Request()), (3, Request()), (4, _join(3))]
_BELOW_A_REQUESTER = [(0, Leave()), (1, Request()), (2, Request()), (4, _join(1))]

MIXED: Mapping[str, Callable[[], Model]] = {
    "mixed-4": partial(
        elmp,
        _FOUR,
        _TWO_LEAVE,
        outside=1,
        title="four processes: two request, the root and a leaf leave, a fifth joins",
    ),
    "mixed-seldom-4": partial(
        elmp, _FOUR, _TWO_LEAVE, outside=1, config=_SELDOM, title="the same, and the root keeps its seat"
    ),
    "mixed-middle-4": partial(
        elmp,
        _FOUR,
        [(0, Request()), (1, Leave()), (3, Request()), (4, _join(1))],
        outside=1,
        title="four processes: two request, one between them leaves, a fifth joins through that",
    ),
    "mixed-lazy-4": partial(
        elmp,
        _FOUR,
        _ROOT_LEAVES,
        outside=1,
        config=_LAZY,
        title="a lazy tree of four: two request, one leaves, one joins",
    ),
    "mixed-lazy-second-4": partial(
        elmp,
        _FOUR,
        _ROOT_LEAVES,
        outside=1,
        config=_LAZY_SECOND,
        title="the same, seats change at every second request",
    ),
    "mixed-star-4": partial(
        elmp, _STAR, _BELOW_A_REQUESTER, outside=1, config=_STAR_SELDOM, title="four in a star; the root keeps its seat"
    ),
    "mixed-star-second-4": partial(
        elmp,
        _STAR,
        _BELOW_A_REQUESTER,
        outside=1,
        config=_STAR_SECOND,
        title="the same, seats change at every second request",
    ),
    "mixed-star-leaf-4": partial(
        elmp,
        _STAR,
        [(1, Request()), (2, Request()), (1, Leave()), (4, _join(1))],
        outside=1,
        config=_STAR_SELDOM,
        title="who requests leaves, and one joins through it",
    ),
    "mixed-rebuilding": partial(
        elmp,
        _FOUR,
        [(4, _join(3)), (2, Request()), (3, Request())],
        outside=1,
        config=_STRICT,
        title="the tree is built anew while one below the root has not heard of its place",
    ),
    "mixed-patience-4": partial(
        elmp,
        _THREE,
        [(0, Leave()), (1, Request(patience=1)), (2, Request()), (3, _join(2))],
        outside=1,
        user=User,
        config=_SELDOM,
        title="one waits for a while only, one leaves, one joins",
    ),
    "mixed-parts-4": partial(
        elmp,
        _THREE,
        [(1, _part(1)), (2, _part(2)), (1, Leave()), (3, _join(1))],
        outside=1,
        user=User,
        is_in_order=False,
        config=_SELDOM,
        title="two claim parts that overlap, one leaves, one joins",
    ),
    "mixed-data-4": partial(
        elmp,
        _THREE,
        [(1, Request()), (1, Leave()), (2, Request()), (3, _join(0))],
        outside=1,
        user=User,
        has_data=True,
        config=_SELDOM,
        title="who has the data leaves, one joins",
    ),
    # --- Some request for ever.
    "endless-request": partial(
        endless,
        _THREE,
        (2, Request()),
        wanting=(0, 1),
        outcome=Granted,
        title="two request for ever, a third once",
    ),
    "endless-departure": partial(
        endless,
        _THREAD,
        (1, Leave()),
        wanting=(0, 2),
        outcome=Left,
        title="two request for ever, another leaves",
    ),
    "endless-insertion": partial(
        endless,
        (_ROOT, 0),
        (2, _join(1)),
        wanting=(0, 1),
        outcome=Joined,
        outside=1,
        title="two request for ever, a third joins",
    ),
    "endless-request-seldom": partial(
        endless,
        _THREE,
        (2, Request()),
        wanting=(0, 1),
        outcome=Granted,
        config=_SELDOM,
        title="two request for ever, a third once, and the root keeps its seat",
    ),
    "endless-departure-seldom": partial(
        endless,
        _THREE,
        (0, Leave()),
        wanting=(1, 2),
        outcome=Left,
        config=_SELDOM,
        title="two request for ever, the root, which keeps its seat, leaves",
    ),
    "endless-insertion-seldom": partial(
        endless,
        (_ROOT, 0),
        (2, _join(1)),
        wanting=(0, 1),
        outcome=Joined,
        outside=1,
        config=_LAZY_SELDOM,
        title="two request for ever, a third joins a lazy tree whose root keeps its seat",
    ),
}

# Those that take minutes.
MIXED_LARGE: Mapping[str, Callable[[], Model]] = {
    "requests-6": partial(
        elmp,
        (*_FIVE, 2),
        [(node, Request()) for node in range(1, 6)],
        title="six processes, all but the root request",
    ),
    "mixed-patience-exchange-4": partial(
        elmp,
        _THREE,
        [(0, Leave()), (1, Request(patience=1)), (2, Request()), (3, _join(2))],
        outside=1,
        user=User,
        title="one waits for a while only, one leaves, one joins, and seats are changed",
    ),
    "mixed-data-exchange-4": partial(
        elmp,
        _THREE,
        [(1, Request()), (1, Leave()), (2, Request()), (3, _join(0))],
        outside=1,
        user=User,
        has_data=True,
        title="who has the data leaves, one joins, and seats are changed",
    ),
    "endless-request-4": partial(
        endless, _FOUR, (3, Request()), wanting=(1, 2), outcome=Granted, title="two of four request for ever"
    ),
    "endless-departure-4": partial(
        endless, _FOUR, (1, Leave()), wanting=(2, 3), outcome=Left, title="two of four request for ever, another leaves"
    ),
}

__all__ = ["MIXED", "MIXED_LARGE"]
