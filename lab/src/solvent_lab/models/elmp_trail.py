"""Small worlds of ELMP in which the root waits itself, and keeps the places behind its own for the token to tell.

Trees are stars whose root keeps its seat: only there nobody needs to hear of its place at once.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from solvent.protocols.elmp.state import ElmpConfig
from solvent.protocols.elmp.vocabulary import Claim, Join, Leave, Request, Withdraw
from solvent.protocols.machine import NodeId
from solvent_lab.broken import elmp as broken
from solvent_lab.models.elmp_world import User, elmp

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from solvent_lab.checker.model import Model

_SELDOM, _FOURTH = ElmpConfig(order=3, exchange_every=100), ElmpConfig(order=3, exchange_every=4)
_SHORT = ElmpConfig(order=3, exchange_every=100, max_trail=1)
_THREE, _STAR = (None, 0, 0), (None, 0, 0, 0)
_ONCE = [(node, Request()) for node in range(3)]
_ALL = [*_ONCE, (3, Request())]
_TWICE = [*_ONCE, (1, Request(1)), (2, Request(1))]

TRAIL: Mapping[str, Callable[[], Model]] = {
    "trail": partial(elmp, _STAR, _ALL, config=_SELDOM, user=User, title="four request, the root among them"),
    "trail-short": partial(elmp, _STAR, _ALL, config=_SHORT, user=User, title="the same, and the token tells of two"),
    "trail-again": partial(elmp, _THREE, _TWICE, config=_SELDOM, user=User, title="three request, two of them twice"),
    "trail-exchange": partial(
        elmp, _THREE, _TWICE, config=_FOURTH, user=User, title="the same, and seats are changed between"
    ),
    "trail-withdrawals": partial(
        elmp,
        _STAR,
        [*_ALL, (1, Withdraw()), (2, Withdraw())],
        config=_SELDOM,
        user=User,
        title="four request, two think better of it",
    ),
    "trail-root": partial(
        elmp,
        _THREE,
        [*_ONCE, (0, Withdraw()), (0, Request(1))],
        config=_SELDOM,
        user=User,
        title="the root gives its place up and takes another",
    ),
    "trail-patience": partial(
        elmp,
        _THREE,
        [(0, Request()), (1, Request(patience=1)), (2, Request(patience=1)), (1, Request(1))],
        config=_SELDOM,
        user=User,
        title="two wait for a while only, and one of them requests again",
    ),
    "trail-handles": partial(
        elmp,
        _THREE,
        [*_ONCE, (1, Request(1)), (2, Withdraw())],
        config=_SELDOM,
        user=User,
        title="two claims of one process, and another is withdrawn",
    ),
    "trail-leaving": partial(
        elmp, _THREE, [*_ONCE, (1, Leave())], config=_SELDOM, user=User, title="who has not heard of its place leaves"
    ),
    "trail-joining": partial(
        elmp,
        _THREE,
        [*_ONCE, (3, Join(NodeId(1)))],
        outside=1,
        config=_SELDOM,
        user=User,
        title="one joins below a process that has not heard of its place",
    ),
    "trail-parts": partial(
        elmp,
        _THREE,
        [(node, Request(claim=Claim(first=5 * node, length=8))) for node in range(3)],
        config=_SELDOM,
        user=User,
        is_in_order=False,
        title="three claim parts that overlap",
    ),
}

TRAIL_LARGE: Mapping[str, Callable[[], Model]] = {
    "trail-leaving-4": partial(
        elmp,
        _STAR,
        [*_ALL, (1, Leave())],
        config=_SELDOM,
        user=User,
        title="four request, and one that has not heard of its place leaves",
    ),
    "trail-leaving-root-4": partial(
        elmp, _STAR, [*_ALL, (0, Leave())], config=_SELDOM, user=User, title="four request, and the root leaves"
    ),
}

TRAIL_BROKEN: Mapping[str, Callable[[], Model]] = {
    "takes-old-news": partial(
        elmp,
        _THREE,
        _TWICE,
        config=_FOURTH,
        user=User,
        desk=broken.TakesOldNews,
        title="news of an old place are taken for those of another request",
    ),
    "keeps-the-trail-to-itself": partial(
        elmp,
        _STAR,
        [*_ALL, (0, Withdraw())],
        config=_SELDOM,
        user=User,
        desk=broken.KeepsTheTrailToItself,
        title="the root gives its place up and tells nobody who comes behind it",
    ),
    "trusts-the-trail": partial(
        elmp,
        _STAR,
        [*_ALL, (2, Leave())],
        config=_SELDOM,
        user=User,
        desk=broken.TrustsTheTrail,
        title="the token goes to who has been passed over",
    ),
}

__all__ = ["TRAIL", "TRAIL_BROKEN", "TRAIL_LARGE"]
