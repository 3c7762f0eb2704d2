"""Models of a space with one known fault each, which the checker must find."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from solvent.protocols.elmp.vocabulary import Request
from solvent.protocols.handover.vocabulary import Go, In, Open
from solvent_lab.broken import handover as broken
from solvent_lab.models.handover_tenant import READ, R, S, leaves, suspects, wants
from solvent_lab.models.handover_world import space

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from solvent_lab.checker.model import Model

BROKEN: Mapping[str, Callable[[], Model]] = {
    "makes-its-own": partial(
        space, 2, [(1, Open(R))], opened=(), desk=broken.MakesItsOwn, title="two make the same resource"
    ),
    "lets-in-at-once": partial(
        space, 2, [], newcomers=[(0,)], opened=(), desk=broken.LetsInAtOnce, title="not all know a new process"
    ),
    "says-no-goodbye": partial(
        space,
        3,
        [*wants(1, 2), (1, Go())],
        deaths=1,
        victims=(1,),
        is_instant=True,
        desk=broken.SaysNoGoodbye,
        title="the token is lost with who has gone",
    ),
    "takes-what-is-over": partial(
        space,
        3,
        [*suspects((0, 2)), *wants(1, 2)],
        is_instant=True,
        desk=broken.TakesWhatIsOver,
        title="the old token is back",
    ),
    "needs-no-majority": partial(
        space,
        3,
        suspects((1, 0), (1, 2), (0, 1)),
        opened=(),
        desk=broken.NeedsNoMajority,
        title="a cut network is two spaces",
    ),
    "waits-for-no-agreement": partial(
        space,
        3,
        suspects((0, 1), (1, 0)),
        opened=(),
        desk=broken.WaitsForNoAgreement,
        title="one takes part in two repairs",
    ),
    "forgets-what-it-agreed-to": partial(
        space,
        3,
        suspects((0, 1), (1, 0)),
        opened=(),
        desk=broken.ForgetsWhatItAgreedTo,
        title="a repair was completed, and nobody says so",
    ),
    "answers-twice": partial(
        space, 3, suspects((0, 1), (1, 0)), opened=(), desk=broken.AnswersTwice, title="two repairs are made"
    ),
    "asks-for-no-data": partial(
        space,
        2,
        wants(0, 1),
        deaths=1,
        has_data=True,
        has_memory=True,
        desk=broken.AsksForNoData,
        title="data of who died is not looked for",
    ),
    "makes-a-token-always": partial(
        space, 3, wants(1, 2), deaths=1, desk=broken.MakesATokenAlways, title="who holds lives"
    ),
    "forgets-who-waits": partial(
        space, 3, wants(1, 2), deaths=1, desk=broken.ForgetsWhoWaits, title="who waits is left out"
    ),
    "waits-for-the-dead": partial(
        space,
        3,
        [(1, In(R, Request(claim=READ))), *wants(2)],
        deaths=1,
        is_in_order=False,
        desk=broken.WaitsForTheDead,
        title="a writer waits for a reader that died",
    ),
    "counts-on": partial(space, 2, wants(0, 1), deaths=1, desk=broken.CountsOn, title="a turn is given twice"),
    "grants-nothing-again": partial(
        space,
        3,
        wants(1),
        deaths=1,
        victims=(0,),
        has_data=True,
        has_memory=True,
        is_late=True,
        desk=broken.GrantsNothingAgain,
        title="a claim is held whose data is at who died",
    ),
    "forgets-patience": partial(
        space,
        3,
        [*wants(1), *wants(2, patience=1)],
        keepers=(1,),
        deaths=1,
        victims=(0,),
        desk=broken.ForgetsPatience,
        title="who would wait for a while only waits for ever",
    ),
    "grants-who-gave-up": partial(
        space,
        2,
        [*wants(0), *wants(1, patience=1), *suspects((1, 0))],
        keepers=(0,),
        desk=broken.GrantsWhoGaveUp,
        title="a claim that was given up amid a repair is there again after it",
    ),
    "forgets-who-leaves": partial(
        space,
        3,
        leaves(1),
        deaths=1,
        victims=(0, 2),
        desk=broken.ForgetsWhoLeaves,
        title="a wish to leave is not carried over",
    ),
    "hides-from-newcomers": partial(
        space,
        3,
        [(1, Go())],
        newcomers=[(0,)],
        opened=(),
        desk=broken.HidesFromNewcomers,
        title="who comes counts on one that has gone",
    ),
    "asks-nobody-again": partial(
        space,
        3,
        wants(1),
        deaths=2,
        victims=(1, 2),
        has_data=True,
        has_memory=True,
        desk=broken.AsksNobodyAgain,
        title="who died amid a repair had released later data than was found",
    ),
    "takes-one-for-another": partial(
        space,
        2,
        [*wants(1), *wants(0, resource=S)],
        second=(0, 1),
        deaths=1,
        has_data=True,
        has_memory=True,
        desk=broken.TakesOneForAnother,
        title="data of one resource becomes that of another",
    ),
    "goers-vote": partial(
        space,
        4,
        [(3, Go()), *suspects((0, 1), (0, 2), (1, 0))],
        opened=(),
        desk=broken.GoersVote,
        title="one is counted on one side of a cut, and counts on the other",
    ),
}

__all__ = ["BROKEN"]
