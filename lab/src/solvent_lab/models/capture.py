"""Small worlds of capture: two or three requesters, two or three molecules, every order, with and without a crash.

Discovery proposes any molecules that have not been consumed, taken or not, in every possible way. The goal is that
all reactions have happened and nothing is promised, lent or claimed any more; from every state it must be reachable,
and, where the protocol claims liveness, no fair run may go round without a reaction.
"""

from __future__ import annotations

from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from solvent.protocols.capture import invariants as moving_invariants
from solvent.protocols.capture import moving as moving_words
from solvent.protocols.capture import vocabulary
from solvent.protocols.capture.invariants import Scene
from solvent.protocols.capture.moving import MovingConfig, moving_node
from solvent.protocols.capture.moving import recovered as moving_recovered
from solvent.protocols.capture.vocabulary import Combination, Discover, MoleculeId, Products, Reacted, RuleId
from solvent.protocols.machine import NodeId
from solvent.protocols.maps import Map
from solvent_lab.checker.model import Asking, Crashes, Model
from solvent_lab.checker.small_numbers import PAIRS, RECIPIENT, SENDER, Numbers, Renumbering
from solvent_lab.checker.world import invariants_over, seen_once
from solvent_lab.papers.capture import capture_node, messages, state
from solvent_lab.papers.capture import invariants as paper_invariants
from solvent_lab.papers.capture.recovery import compacted, recovered
from solvent_lab.papers.capture.state import CaptureConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from solvent_lab.checker.world import Local, World

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


def _is_done(
    layout: Layout, scene: Callable[[World], Scene], is_released: Callable[[Scene], bool], world: World
) -> bool:
    """All reactions have happened, and nothing is promised, lent or under way."""
    if sum(world.ghost.values()) < layout.takes * layout.reactions:
        return False
    return all(local.is_up for local in world.nodes) and is_released(scene(world))


# ------------------------------------------------------------------------------------------------- standard names
# Attempts are numbered upwards for ever, so a run that goes round in a circle would never come back to a world it has
# been in. Renumbered from one, in order, it does; likewise gifts. What was saved becomes the fewest records that say
# the same, and whether a gift was got is forgotten once it can arrive no more.

_ATTEMPT, _GIFT = "attempt", "gift"
_OWN, _SENDERS, _RECIPIENTS = Numbers(_ATTEMPT), Numbers(_ATTEMPT, SENDER), Numbers(_ATTEMPT, RECIPIENT)
_REQUESTERS = Numbers(_ATTEMPT, "requester")
_REPLIES = (messages.RespOk, messages.RespTaken, messages.RespRemoved, messages.RespMolecule, messages.Doubt)
_REPORTS: dict[type, dict[str, Numbers]] = {
    vocabulary.Reacted: {"attempt": _OWN},
    vocabulary.Abandoned: {"attempt": _OWN},
}

ADAPTIVE: dict[type, dict[str, Numbers]] = {
    messages.CaptureMessage: {"attempt": _SENDERS},
    **{reply: {"attempt": _RECIPIENTS} for reply in _REPLIES},
    state.CaptureState: {"attempts": Numbers(_ATTEMPT, is_last=True), "reacted": _OWN},
    **{phase: {"number": _OWN} for phase in (state.Fetching, state.Querying, state.Committing, state.Reacting)},
    state.Claim: {"attempt": _REQUESTERS},
    state.Hold: {"attempt": _REQUESTERS},
    messages.Lent: {"attempt": _REQUESTERS},
    messages.Consumed: {"attempt": _OWN},
    **_REPORTS,
}

MOVING: dict[type, dict[str, Numbers]] = {
    moving_words.Take: {"attempt": _SENDERS},
    moving_words.Refused: {"attempt": _RECIPIENTS},
    moving_words.Given: {"attempt": _RECIPIENTS, "gift": Numbers(_GIFT, SENDER)},
    moving_words.Confirmed: {"gift": Numbers(_GIFT, RECIPIENT)},
    moving_words.MovingState: {
        "attempts": Numbers(_ATTEMPT, is_last=True),
        "given": Numbers(_GIFT, is_last=True),
        "gifts": Numbers(_GIFT),
        "got": Numbers(_GIFT, PAIRS, is_weak=True),
    },
    moving_words.Attempt: {"number": _OWN},
    moving_words.Reacting: {"number": _OWN},
    moving_words.Gave: {"gift": Numbers(_GIFT)},
    moving_words.Got: {"gift": Numbers(_GIFT, "giver", is_weak=True)},
    moving_words.Closed: {"gift": Numbers(_GIFT)},
    **_REPORTS,
}


def compacted_moving(config: MovingConfig, saved: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the fewest records that say the same."""
    state = moving_recovered(config, saved)
    began = dict(config.molecules)
    given = {molecule for _, items in state.gifts.values() for molecule, _ in items}
    removed = tuple(sorted(item for item in began if item not in state.molecules and item not in given))
    # What was given may have come back before the gift was confirmed, so gifts are told first.
    added = tuple(
        sorted((item, value) for item, value in state.molecules.items() if item not in began or item in given)
    )
    return (
        *(moving_words.Gave(gift, to, items) for gift, (to, items) in sorted(state.gifts.items())),
        *(moving_words.Got(giver, gift, ()) for giver, gift in sorted(state.got)),
        *([moving_words.Kept(removed, added, state.reactions)] if removed or added or state.reactions else []),
    )


def _simpler(configs: tuple[Any, ...], node: NodeId, local: Local) -> Local:
    found = local.state
    if found is not None:
        # Whether the first of a queue has been worked out already makes no difference.
        held = {
            item: replace(one, first=min(one.queue.values(), default=None)) for item, one in found.molecules.items()
        }
        found = replace(found, molecules=Map(held))
    return replace(local, state=found, saved=compacted(configs[node], local.saved))


def _simpler_moving(configs: tuple[Any, ...], node: NodeId, local: Local) -> Local:
    return replace(local, saved=compacted_moving(configs[node], local.saved))


# --------------------------------------------------------------------------------------------------------- models


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
    is_moving = isinstance(configs[0], MovingConfig)
    rules: Any = moving_invariants if is_moving else paper_invariants
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
        invariants=invariants_over(lambda world: (scene(world),), rules.SAFETY),
        goal=partial(_is_done, layout, scene, rules.is_released),
        progress=lambda ghost: sum(ghost.values()),
        has_no_livelock=is_live,
        fair_choices=True,
        canonical=Renumbering(
            MOVING if is_moving else ADAPTIVE, simplified=partial(_simpler_moving if is_moving else _simpler, configs)
        ),
    )


def paper(
    layout: Layout,
    modes: str,
    *,
    waiting: bool = True,
    crashes: int = 0,
    is_live: bool = True,
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
    machines = tuple(map(capture_node, configs))
    return _model(layout, machines, configs, title=title, crashes=crashes, is_live=is_live)


def moving(
    layout: Layout,
    *,
    crashes: int = 0,
    title: str = "",
    asking: Asking = Asking.AT_ONCE,
) -> Model:
    """Build a model of capture by moving."""
    configs = tuple(
        MovingConfig(node=NodeId(node), molecules=share, confirm=bool(crashes), tell=False, is_local=True, look_again=1)
        for node, share in enumerate(layout.shares)
    )
    machines = tuple(map(moving_node, configs))
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

__all__ = ["CHAIN", "MODELS", "PAIR", "RING", "SPECTATOR", "THREE", "moving", "paper"]
