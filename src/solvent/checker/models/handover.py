"""Models of a space: processes come, go, die and are taken for dead, in every order; and faults that show in them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from solvent.checker.models.handover_world import R, space
from solvent.protocols.elmp.vocabulary import Claim, Request
from solvent.protocols.handover import broken
from solvent.protocols.handover.vocabulary import Died, Go, In, Open
from solvent.protocols.machine import NodeId

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from solvent.checker.model import Model

_READ = Claim(is_shared=True)


def _wants(*nodes: int) -> list[tuple[int, Any]]:
    return [(node, In(R, Request())) for node in nodes]


def _suspects(*pairs: tuple[int, int]) -> list[tuple[int, Any]]:
    return [(node, Died(NodeId(peer), is_certain=False)) for node, peer in pairs]


MODELS: Mapping[str, Callable[[], Model]] = {
    "enter-2": partial(space, 2, _wants(0), newcomers=[(1,)], title="one comes to two, one of which requests"),
    "enter-both": partial(space, 1, [], newcomers=[(0,), (0,)], title="two come at once"),
    "go-founder-3": partial(space, 3, [(0, Go()), *_wants(1)], title="the founder goes, and one requests"),
    "go-all-2": partial(space, 2, [(0, Go()), (1, Go())], title="both go"),
    "die-2": partial(space, 2, _wants(0, 1), deaths=1, title="two request, and one dies"),
    "die-twice-3": partial(space, 3, _wants(1), deaths=2, title="one of three requests, two die"),
    "die-entering": partial(space, 2, [], newcomers=[(1, 0)], deaths=1, title="one comes to two, and anybody dies"),
    "die-going-3": partial(space, 3, [(1, Go())], opened=(), deaths=1, title="one goes, and anybody dies"),
    "die-going-founder-3": partial(
        space, 3, [(0, Go())], opened=(), deaths=1, title="the founder goes, and anybody dies"
    ),
    "die-with-data-2": partial(
        space, 2, _wants(0, 1), deaths=1, has_data=True, has_memory=True, title="data is changed, and anybody dies"
    ),
    "suspect-2": partial(
        space, 2, [*_suspects((0, 1), (1, 0)), *_wants(1)], title="each of two takes the other for dead"
    ),
    "suspect-3": partial(space, 3, [*_suspects((1, 0)), *_wants(2)], title="one takes the founder for dead"),
    "suspect-each-other-3": partial(space, 3, _suspects((1, 0), (0, 1)), title="two of three take each other for dead"),
    "suspect-entering": partial(
        space,
        2,
        _suspects((1, 0)),
        newcomers=[(1, 0)],
        opened=(),
        title="one comes, and the founder is taken for dead",
    ),
    "suspect-dying-3": partial(
        space,
        3,
        _suspects((1, 0)),
        opened=(1,),
        deaths=1,
        victims=(2,),
        title="one dies, another is taken for dead",
    ),
}

LARGE: Mapping[str, Callable[[], Model]] = {
    "die-3": partial(space, 3, _wants(1, 2), deaths=1, title="two of three request, and anybody dies"),
    "die-reading-3": partial(
        space,
        3,
        [(1, In(R, Request(claim=_READ))), *_wants(2)],
        deaths=1,
        is_in_order=False,
        title="one reads, one writes, and anybody dies",
    ),
    "die-with-data-3": partial(
        space, 3, _wants(1, 2), deaths=1, has_data=True, title="data is changed, of three anybody dies"
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
        space, 3, [*_suspects((0, 1)), *_wants(1, 2)], is_instant=True, title="one is taken for dead, two request"
    ),
    "suspect-and-die-4": partial(
        space, 4, _suspects((1, 0)), opened=(), deaths=1, victims=(0, 2), title="of four one is suspected, and one dies"
    ),
    "suspect-4": partial(space, 4, _suspects((0, 2), (3, 1)), opened=(), title="of four two are taken for dead"),
    "suspect-all-3": partial(space, 3, _suspects((0, 1), (0, 2), (1, 0)), opened=(), title="a network is cut in three"),
}

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
        [*_wants(1, 2), (1, Go())],
        deaths=1,
        victims=(1,),
        is_instant=True,
        desk=broken.SaysNoGoodbye,
        title="the token is lost with who has gone",
    ),
    "takes-what-is-over": partial(
        space,
        3,
        [*_suspects((0, 2)), *_wants(1, 2)],
        is_instant=True,
        desk=broken.TakesWhatIsOver,
        title="the old token is back",
    ),
    "needs-no-majority": partial(
        space,
        3,
        _suspects((1, 0), (1, 2), (0, 1)),
        opened=(),
        desk=broken.NeedsNoMajority,
        title="a cut network is two spaces",
    ),
    "waits-for-no-agreement": partial(
        space,
        3,
        _suspects((0, 1), (1, 0)),
        opened=(),
        desk=broken.WaitsForNoAgreement,
        title="one takes part in two repairs",
    ),
    "forgets-what-it-agreed-to": partial(
        space,
        3,
        _suspects((0, 1), (1, 0)),
        opened=(),
        desk=broken.ForgetsWhatItAgreedTo,
        title="a repair was completed, and nobody says so",
    ),
    "answers-twice": partial(
        space, 3, _suspects((0, 1), (1, 0)), opened=(), desk=broken.AnswersTwice, title="two repairs are made"
    ),
    "asks-for-no-data": partial(
        space,
        2,
        _wants(0, 1),
        deaths=1,
        has_data=True,
        has_memory=True,
        desk=broken.AsksForNoData,
        title="data of who died is not looked for",
    ),
    "makes-a-token-always": partial(
        space, 3, _wants(1, 2), deaths=1, desk=broken.MakesATokenAlways, title="who holds lives"
    ),
    "forgets-who-waits": partial(
        space, 3, _wants(1, 2), deaths=1, desk=broken.ForgetsWhoWaits, title="who waits is left out"
    ),
    "waits-for-the-dead": partial(
        space,
        3,
        [(1, In(R, Request(claim=_READ))), *_wants(2)],
        deaths=1,
        is_in_order=False,
        desk=broken.WaitsForTheDead,
        title="a writer waits for a reader that died",
    ),
    "counts-on": partial(space, 2, _wants(0, 1), deaths=1, desk=broken.CountsOn, title="a turn is given twice"),
}

__all__ = ["BROKEN", "LARGE", "MODELS"]
