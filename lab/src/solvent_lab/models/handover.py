"""Models of a space: processes come, go, die and are taken for dead, in every order.

What users may want besides (to leave one resource, to withdraw a claim, to wait for a while only) is in most models
wanted once, amid everything else.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from solvent.protocols.elmp.vocabulary import Request
from solvent.protocols.handover.vocabulary import Go, In
from solvent_lab.models.handover_world import READ, R, S, leaves, remembering, space, suspects, wants, withdraws

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from solvent_lab.checker.model import Model

MODELS: Mapping[str, Callable[[], Model]] = {
    "enter-2": partial(space, 2, wants(0), newcomers=[(1,)], title="one comes to two, one of which requests"),
    "enter-both": partial(space, 1, [], newcomers=[(0,), (0,)], title="two come at once"),
    "go-founder-3": partial(space, 3, [(0, Go()), *wants(1)], title="the founder goes, and one requests"),
    "go-all-2": partial(space, 2, [(0, Go()), (1, Go())], title="both go"),
    "die-2": partial(space, 2, wants(0, 1), deaths=1, title="two request, and one dies"),
    "die-twice-3": partial(space, 3, wants(1), deaths=2, title="one of three requests, two die"),
    "die-entering": partial(space, 2, [], newcomers=[(1, 0)], deaths=1, title="one comes to two, and any process dies"),
    "die-going-3": partial(space, 3, [(1, Go())], opened=(), deaths=1, title="one goes, and any process dies"),
    "die-going-founder-3": partial(
        space, 3, [(0, Go())], opened=(), deaths=1, title="the founder goes, and any process dies"
    ),
    "die-with-data-2": partial(remembering, 2, wants(0, 1), deaths=1, title="data is changed, and any process dies"),
    "suspect-2": partial(
        space, 2, [*suspects((0, 1), (1, 0)), *wants(1)], title="each of two takes the other for dead"
    ),
    "suspect-3": partial(space, 3, [*suspects((1, 0)), *wants(2)], title="one takes the founder for dead"),
    "suspect-each-other-3": partial(space, 3, suspects((1, 0), (0, 1)), title="two of three take each other for dead"),
    "suspect-entering": partial(
        space, 2, suspects((1, 0)), newcomers=[(1, 0)], opened=(), title="one comes, and the founder is taken for dead"
    ),
    "suspect-dying-3": partial(
        space, 3, suspects((1, 0)), opened=(1,), deaths=1, victims=(2,), title="one dies, another is taken for dead"
    ),
    "enter-and-go-3": partial(
        space, 3, [(1, Go())], newcomers=[(0,)], opened=(), title="one comes to three, and one of them goes"
    ),
    "leave-3": partial(
        space, 3, [*leaves(1), *wants(2)], title="one leaves a resource and comes back to it, another requests"
    ),
    "leave-with-data-3": partial(
        space, 3, [*leaves(1), *wants(1, 2)], has_data=True, is_instant=True, title="the same, and there is data"
    ),
    "leave-entering": partial(space, 2, leaves(1), newcomers=[(0,)], title="one leaves a resource, and one comes"),
    "leave-going-founder-3": partial(
        space, 3, [*leaves(1), (0, Go())], opened=(1,), title="one leaves a resource, and the founder goes"
    ),
    "die-leaving-3": partial(
        space, 3, leaves(1), deaths=1, victims=(0, 2), title="one leaves a resource, and another dies"
    ),
    "die-leaving-with-data-2": partial(
        remembering, 2, [*leaves(1), *wants(1)], deaths=1, title="one changes data and leaves it, and any process dies"
    ),
    "suspect-leaving-3": partial(
        space, 3, [*leaves(2), *suspects((0, 1))], opened=(2,), title="one leaves, and another is taken for dead"
    ),
    "die-withdrawing-3": partial(
        space, 3, [*wants(1), *withdraws(1)], deaths=1, title="one requests and withdraws, and any process dies"
    ),
    "die-patient-3": partial(
        space,
        3,
        [*wants(1), *wants(2, patience=1)],
        keepers=(1,),
        deaths=1,
        victims=(0,),
        title="one waits in vain, for a while only, and the founder dies",
    ),
    "die-patient-reading-3": partial(
        space,
        3,
        [(1, In(R, Request(claim=READ))), *wants(2, patience=1)],
        keepers=(1,),
        deaths=1,
        victims=(0,),
        is_in_order=False,
        title="the same, and the waiting process has the token and waits for a reader",
    ),
    "suspect-patient-2": partial(
        space,
        2,
        [*wants(0), *wants(1, patience=1), *suspects((1, 0))],
        keepers=(0,),
        title="one waits for a while only, and takes the founder for dead",
    ),
    "die-two-resources-2": partial(
        space,
        2,
        [*wants(0, 1), *wants(1, resource=S)],
        second=(0, 1),
        deaths=1,
        title="two request a resource, one of them another, and any process dies",
    ),
    "die-two-resources-3": partial(
        space,
        3,
        [*wants(1), *wants(2, resource=S)],
        opened=(1,),
        second=(2,),
        deaths=1,
        victims=(0,),
        title="two request a resource each, and the founder dies",
    ),
    "die-two-with-data-2": partial(
        remembering,
        2,
        [*wants(1), *wants(0, resource=S)],
        second=(0, 1),
        deaths=1,
        title="one of two resources has data, and any process dies",
    ),
    "die-before-fetching-3": partial(
        remembering,
        3,
        wants(1),
        deaths=1,
        victims=(0,),
        is_late=True,
        title="the process that has the data dies after another was granted it",
    ),
    "die-twice-with-data-3": partial(
        remembering, 3, wants(1), deaths=2, victims=(1, 2), title="data is changed by one that dies amid a repair"
    ),
}

LARGE: Mapping[str, Callable[[], Model]] = {
    "die-3": partial(space, 3, wants(1, 2), deaths=1, title="two of three request, and any process dies"),
    "die-reading-3": partial(
        space,
        3,
        [(1, In(R, Request(claim=READ))), *wants(2)],
        deaths=1,
        is_in_order=False,
        title="one reads, one writes, and any process dies",
    ),
    "die-with-data-3": partial(
        space, 3, wants(1, 2), deaths=1, has_data=True, title="data is changed, any of three dies"
    ),
    "die-twice-entering": partial(
        space,
        2,
        [],
        newcomers=[(1, 0)],
        opened=(),
        deaths=2,
        victims=(1, 2),
        title="one comes to two, and both others of the founder die",
    ),
    "die-going-and-entering": partial(
        space,
        2,
        [(0, Go())],
        newcomers=[(1,)],
        opened=(),
        deaths=1,
        victims=(0, 2),
        title="the founder goes, one comes, and either dies",
    ),
    "go-all-3": partial(space, 3, [(0, Go()), (1, Go()), (2, Go())], opened=(1,), title="all three go"),
    "suspect-and-request-3": partial(
        space, 3, [*suspects((0, 1)), *wants(1, 2)], is_instant=True, title="one is taken for dead, two request"
    ),
    "suspect-and-die-4": partial(
        space, 4, suspects((1, 0)), opened=(), deaths=1, victims=(0, 2), title="of four one is suspected, and one dies"
    ),
    "suspect-one-after-another-4": partial(
        space,
        4,
        suspects((0, 3), (1, 0)),
        opened=(),
        title="of four one is taken for dead, and then the one that continues without it",
    ),
    "suspect-4": partial(space, 4, suspects((0, 2), (3, 1)), opened=(), title="of four two are taken for dead"),
    "die-leaving-and-requesting-3": partial(
        space,
        3,
        [*leaves(1), *wants(2)],
        deaths=1,
        title="one leaves a resource, one requests it, and any process dies",
    ),
    "die-withdrawing-and-requesting-3": partial(
        space,
        3,
        [*wants(1, 2), *withdraws(1)],
        deaths=1,
        title="of two that request one withdraws, and any process dies",
    ),
    "suspect-patient-3": partial(
        space,
        3,
        [*wants(1), *wants(2, patience=1), *suspects((0, 1))],
        keepers=(1,),
        title="one waits in vain, for a while only, and the holder is taken for dead",
    ),
    "die-two-resources-both-3": partial(
        space,
        3,
        [*wants(1), *wants(2, resource=S)],
        second=(0, 1, 2),
        deaths=1,
        title="all have opened two resources, two request one each, and any process dies",
    ),
    "die-going-with-data-3": partial(
        remembering,
        3,
        [(0, Go()), *wants(2)],
        deaths=1,
        victims=(2,),
        title="the founder goes, and a process that has changed data dies",
    ),
    "suspect-all-3": partial(space, 3, suspects((0, 1), (0, 2), (1, 0)), opened=(), title="a network is cut in three"),
}

__all__ = ["LARGE", "MODELS"]
