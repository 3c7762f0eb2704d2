"""Small worlds of capture: two or three requesters, two or three molecules, every order, with and without a crash.

Discovery proposes any molecules that have not been consumed, taken or not, in every possible way. The goal is that
all reactions have happened and nothing is promised, lent or claimed any more; from every state it must be reachable,
and, where the protocol claims liveness, no fair run may go round without a reaction.
"""

from __future__ import annotations

from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

from immutables import Map

from solvent.protocols.capture.adaptive import Adaptive
from solvent.protocols.capture.invariants import SAFETY, Scene, is_released
from solvent.protocols.capture.moving import Moving
from solvent.protocols.capture.moving_recovery import recovered as moving_recovered
from solvent.protocols.capture.moving_state import MovingConfig
from solvent.protocols.capture.recovery import recovered
from solvent.protocols.capture.state import CaptureConfig
from solvent.protocols.capture.vocabulary import (
    Combination,
    Discover,
    MoleculeId,
    Products,
    Reacted,
    RuleId,
)
from solvent.protocols.machine import NodeId
from solvent_lab.broken import capture as broken
from solvent_lab.checker.model import Asking, Crashes, Model
from solvent_lab.checker.world import seen_once
from solvent_lab.models.capture_names import adaptive_names, moving_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from solvent_lab.checker.world import World

RULE = RuleId(0)


class Layout:
    """Who holds which molecules, who requests, and what a reaction makes."""

    def __init__(
        self,
        held: tuple[int, ...],
        *,
        requesters: int | None = None,
        takes: int = 2,
        makes: int = 0,
        is_ring: bool = False,
    ) -> None:
        #: How many molecules each node holds.
        self.held = held
        self.requesters = len(held) if requesters is None else requesters
        #: How many molecules a reaction takes and makes.
        self.takes = takes
        self.makes = makes
        #: Each requester wants its own molecule and the next one's and no others, like philosophers their forks;
        #: else any two.
        self.is_ring = is_ring
        self.shares: list[tuple[tuple[MoleculeId, int], ...]] = []
        number = 0
        for count in held:
            self.shares.append(tuple((MoleculeId(number + item), 0) for item in range(count)))
            number += count
        self.count = number

    @property
    def reactions(self) -> int:
        """How many reactions happen in all."""
        return self.count // self.takes if not self.makes else (self.count - 1) // (self.takes - self.makes)


# ------------------------------------------------------------------------------------------------------- ghost


def _observe(ghost: Map[MoleculeId, int], _node: NodeId, outcome: Any) -> Map[MoleculeId, int]:
    """Count how often each molecule has been consumed; what was produced is known from then on."""
    if isinstance(outcome, Reacted):
        for molecule in outcome.consumed:
            ghost = ghost.set(molecule, ghost.get(molecule, 0) + 1)
        for molecule, _ in outcome.produced:
            ghost = ghost.set(molecule, 0)
    return ghost


def _answers(layout: Layout, world: World, node: NodeId, question: Any) -> Iterable[Any]:
    if not isinstance(question, Discover):
        yield Products((0,) * layout.makes)
        return
    where = _places(world)
    if node >= layout.requesters or len(where) < layout.takes:
        yield Combination(RULE, ())
        return
    pairs = list(combinations(sorted(where), layout.takes))
    if layout.is_ring:
        wanted = {node, (node + 1) % layout.count}
        pairs = [pair for pair in pairs if wanted == set(pair)]
        if not pairs:
            yield Combination(RULE, ())
    for pair in pairs:
        yield Combination(RULE, tuple((item, where[item]) for item in pair))


def _places(world: World) -> dict[MoleculeId, NodeId]:
    """Where molecules lie that have not been consumed: what a directory that is never late would say."""
    return {
        item: NodeId(node)
        for node, local in enumerate(world.nodes)
        if local.state is not None
        for item in local.state.molecules
        if not world.ghost.get(item)
    }


def _scene(recover: Callable[..., Any], configs: tuple[Any, ...], world: World) -> Scene:
    states = tuple(
        local.state if local.state is not None else recover(config, local.saved)
        for config, local in zip(configs, world.nodes, strict=True)
    )
    return Scene(states, tuple(world.messages()), world.ghost, tuple(world.ghost))


def _invariant(check: Callable[[Scene], str | None], scene: Callable[[World], Scene]) -> Callable[[World], str | None]:
    def holds(world: World) -> str | None:
        return check(scene(world))

    holds.__name__ = check.__name__
    holds.__doc__ = check.__doc__
    return holds


def _is_done(layout: Layout, scene: Callable[[World], Scene], world: World) -> bool:
    """All reactions have happened, and nothing is promised, lent or under way."""
    if sum(world.ghost.values()) < layout.takes * layout.reactions:
        return False
    return all(local.is_up for local in world.nodes) and is_released(scene(world))


def _model(
    layout: Layout,
    machines: tuple[Any, ...],
    configs: tuple[Any, ...],
    *,
    title: str,
    crashes: int = 0,
    is_live: bool = True,
    asking: Asking = Asking.AT_ONCE,
) -> Model:
    is_moving = isinstance(machines[0], Moving)
    # Every invariant looks at the same world; its scene is put together once.
    scene = seen_once(partial(_scene, moving_recovered if is_moving else recovered, configs))
    known = Map({item: 0 for share in layout.shares for item, _ in share})
    return Model(
        machines=machines,
        title=title,
        answers=partial(_answers, layout),
        asking=asking,
        crashes=Crashes(count=crashes),
        ghost=known,
        observe=_observe,
        invariants=tuple(_invariant(check, scene) for check in SAFETY),
        goal=partial(_is_done, layout, scene),
        progress=lambda ghost: sum(ghost.values()),
        has_no_livelock=is_live,
        fair_choices=True,
        canonical=(moving_names if is_moving else adaptive_names)(configs),
    )


def paper(
    layout: Layout,
    modes: str,
    *,
    waiting: bool = True,
    crashes: int = 0,
    is_live: bool = True,
    machine: type[Adaptive] = Adaptive,
    title: str = "",
    memory: int = 0,
) -> Model:
    """Build a model of the paper's protocol; `modes` has a letter for each node: o, p or a."""
    words = {"o": "optimistic", "p": "pessimistic", "a": "adaptive"}
    configs = tuple(
        CaptureConfig(
            node=NodeId(node),
            molecules=layout.shares[node],
            arities=(layout.takes,),
            protocol=words[mode],
            waiting=waiting,
            max_own=memory,
            max_remote=0,
            look_again=bool(crashes),
            confirm=bool(crashes),
        )
        for node, mode in enumerate(modes)
    )
    machines = tuple(machine(config) for config in configs)
    return _model(layout, machines, configs, title=title, crashes=crashes, is_live=is_live)


def moving(
    layout: Layout,
    *,
    crashes: int = 0,
    machine: type[Moving] = Moving,
    title: str = "",
    asking: Asking = Asking.AT_ONCE,
) -> Model:
    """Build a model of capture by moving."""
    configs = tuple(
        MovingConfig(node=NodeId(node), molecules=share, confirm=bool(crashes), tell=False, is_local=True, look_again=1)
        for node, share in enumerate(layout.shares)
    )
    machines = tuple(machine(config) for config in configs)
    return _model(layout, machines, configs, title=title, crashes=crashes, asking=asking)


PAIR = Layout((1, 1))
RING = Layout((1, 1, 1), is_ring=True)
THREE = Layout((2, 1))
CHAIN = Layout((2, 1), makes=1)
FREE = Layout((1, 1, 1))
SPECTATOR = Layout((1, 0, 1))
TRIO = Layout((1, 1, 1), takes=3)

MODELS: dict[str, Callable[[], Model]] = {
    "optimists-2x2": lambda: paper(PAIR, "oo", is_live=False, title="two optimists, two molecules (no liveness)"),
    "pessimists-2x2": lambda: paper(PAIR, "pp", title="two pessimists, two molecules"),
    "mixed-2x2": lambda: paper(PAIR, "op", title="an optimist and a pessimist, two molecules"),
    "adaptive-2x2": lambda: paper(PAIR, "aa", memory=2, title="two nodes that switch, two molecules"),
    "products": lambda: paper(CHAIN, "pp", title="two pessimists, three molecules, products that react again"),
    "optimists-3x3": lambda: paper(RING, "ooo", is_live=False, title="three optimists in a ring (no liveness)"),
    "pessimists-3x3": lambda: paper(RING, "ppp", title="three pessimists in a ring"),
    "mixed-3x3": lambda: paper(RING, "opp", title="an optimist and two pessimists in a ring"),
    "optimists-crash": lambda: paper(PAIR, "oo", crashes=1, is_live=False, title="two optimists, one crash"),
    "pessimists-crash": lambda: paper(PAIR, "pp", crashes=1, title="two pessimists, one crash"),
    "mixed-crash": lambda: paper(PAIR, "op", crashes=1, title="an optimist and a pessimist, one crash"),
    "moving-2x2": lambda: moving(PAIR, title="capture by moving: two nodes, two molecules"),
    "moving-products": lambda: moving(CHAIN, title="capture by moving: products that react again"),
    "moving-3x3": lambda: moving(RING, title="capture by moving: three nodes in a ring"),
    "moving-free": lambda: moving(FREE, asking=Asking.MEANWHILE, title="capture by moving: any two of three molecules"),
    "moving-spectator": lambda: moving(
        SPECTATOR, asking=Asking.MEANWHILE, title="capture by moving: a third node has no molecule"
    ),
    "moving-trio": lambda: moving(TRIO, asking=Asking.MEANWHILE, title="capture by moving: one reaction takes three"),
    "moving-crash": lambda: moving(PAIR, crashes=1, title="capture by moving: two nodes, one crash"),
    "moving-crash-3x3": lambda: moving(RING, crashes=1, title="capture by moving: three nodes in a ring, one crash"),
}

BROKEN: dict[str, Callable[[], Model]] = {
    "anybody-gives-up": lambda: paper(
        PAIR, "oo", machine=broken.AnybodyGivesUp, title="C1: anybody frees what another has taken"
    ),
    "no-attempt-numbers": lambda: paper(
        PAIR, "oo", machine=broken.NoAttemptNumbers, title="C2: late answers count for the next attempt, of optimists"
    ),
    "no-attempt-numbers-p": lambda: paper(
        PAIR, "pp", machine=broken.NoAttemptNumbers, title="C2: late answers count for the next attempt, of pessimists"
    ),
    "head-is-locked": lambda: paper(
        PAIR, "pp", machine=broken.HeadIsLocked, title="C3: a commitment locks for the first in the list, for ever"
    ),
    "pessimists-do-not-wait": lambda: paper(
        PAIR, "pp", waiting=False, title="C4: pessimists refuse each other for ever"
    ),
    "nobody-waits": lambda: paper(
        PAIR, "op", waiting=False, title="C5: an optimist and a pessimist refuse each other for ever"
    ),
    "ghosts-in-the-list": lambda: paper(
        THREE, "pp", machine=broken.GhostsInTheList, title="C6: a refused requester stays in the list"
    ),
    "only-optimists": lambda: paper(PAIR, "oo", title="the optimistic sub-protocol alone is not live"),
    "lends-twice": lambda: paper(PAIR, "oo", machine=broken.LendsTwice, title="what is lent is not marked"),
    "unsaved-loans": lambda: paper(PAIR, "oo", crashes=1, machine=broken.UnsavedLoans, title="loans are not saved"),
    "keeps-a-copy": lambda: moving(PAIR, machine=broken.KeepsACopy, title="a gift is not given away"),
    "never-yields": lambda: moving(PAIR, machine=broken.NeverYields, title="nobody yields"),
    "always-yields": lambda: moving(PAIR, machine=broken.AlwaysYields, title="everybody yields to anybody"),
    "takes-without-a-part": lambda: moving(
        SPECTATOR, machine=broken.TakesWithoutAPart, title="who has no part of a combination takes it"
    ),
    "forgets-gifts": lambda: moving(PAIR, crashes=1, machine=broken.ForgetsGifts, title="gifts are not kept"),
    "accepts-twice": lambda: moving(PAIR, crashes=1, machine=broken.AcceptsTwice, title="gifts are not recognised"),
    "unsaved-arrivals": lambda: moving(PAIR, crashes=1, machine=broken.UnsavedArrivals, title="arrivals not saved"),
}
