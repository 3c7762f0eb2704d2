"""A model: a few machines, the world around them, and what must be true of them together.

A model is everything the checker needs to try all orders of events of a small system:

* the `machines`, one per node, node n being the n-th;
* what the world around them may do: which answers an `Ask` may get (`answers`), which `requests` may come, in which
  order messages arrive and how many may be lost or doubled (`network`), when `timers` may fire, which nodes may crash
  and how often (`crashes`);
* what is remembered of what the machines report: the `ghost`, folded by `observe`. It is no part of any machine, so
  it can hold the truth ("molecule 3 has been consumed twice") that no machine knows;
* what must hold: `invariants` in every state, the `goal` that must stay reachable from every state, and that no fair
  run loops for ever without `progress`;
* which worlds are the same but for names: `canonical`.

**Moves.** In one move one node takes one event and all its effects are carried out at once. The events: a message
arrives (`Received`, the oldest of its channel, or any one of an unordered network), a running timer fires, a question
is answered, a request comes (each once). A `Choose` gets every option. Besides there are faults, each out of its
budget: a message is lost, a message is doubled, a node crashes. A node that is down may be started again at any time.

**Crashes.** A crash loses the node's state, its timers and questions, and all messages to and from it, unless
`lose_messages` says otherwise; messages sent to it while it is down are lost too. A restart calls `start(saved, life)`
with life 1, 2, ... With `Crashes.are_noticed`, every other node finds a `PeerRestarted` as the first thing on the
channel from the restarted node (after what the former life said, where that is not lost), and what it sends to that
node before it has read this notice is lost: it was meant for the former life, and `PeerRestarted` promises that "what
was under way is lost". A node that was down itself reads the notice in its next life. With `within_step` a node may
also crash in the middle of carrying out effects: before any `Save` or `Report` that is not the first of them.

**Fairness.** A run is fair if no class of moves is possible from some moment on at every moment and yet never made.
Classes are: deliver from a to b; timer t of node n; answer node n; request at node n; start node n again. Which answer
is given belongs to no class: a hostile world may always give the same one, unless `fair_choices`.

**Invariants** are functions over the world, each named as a sentence (`each_molecule_has_one_holder`). They return None
or True if the sentence is true, else False or a text that says what is wrong.

Everything in a world must be hashable, and the functions of a model must be deterministic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias

from solvent_lab.checker.world import World

if TYPE_CHECKING:
    from solvent.protocols.machine import Machine, NodeId
    from solvent_lab.variants import Variant

Invariant: TypeAlias = Callable[[World], bool | str | None]
"""A function named as a sentence: None or True if the world is as the name says, else False or what is wrong."""


class Order(StrEnum):
    """In which order messages of one channel arrive."""

    FIFO = "in the order sent"
    ANY = "in any order"


class Timers(StrEnum):
    """When a running timer may fire. How long it was set for does not matter: every order is tried."""

    ANY_TIME = "at any time"
    #: Timers long enough that everything else has come to rest: nothing is under way, no question is open.
    WHEN_QUIET = "only when nothing else can happen"


class Asking(StrEnum):
    """What may happen between a question and its answer."""

    #: Nothing, but a crash of the node that asks: the answer is given in the world as it stands. Fewest states.
    AT_ONCE = "nothing"
    #: The other nodes go on; the node that asks takes no other event before the answer.
    WAITING = "events of other nodes"
    #: Everything goes on; answers come in the order of the questions.
    MEANWHILE = "events of all nodes"


@dataclass(frozen=True, kw_only=True)
class Network:
    """How messages travel."""

    order: Order = Order.FIFO
    losses: int = 0
    """How many messages may be lost in all."""
    duplicates: int = 0
    """How many messages may be doubled in all."""
    may_lose: Callable[[Any], bool] | None = None
    """Which messages may be lost; None: any."""


@dataclass(frozen=True, kw_only=True)
class Crashes:
    """Which nodes may crash, how often, and what a crash does."""

    count: int = 0
    """How many crashes there may be in all."""
    nodes: tuple[int, ...] | None = None
    """Which nodes may crash; None: all."""
    are_noticed: bool = True
    """Whether the others get a `PeerRestarted`."""
    within_step: bool = False
    """Whether a node may crash while it carries out effects."""
    lose_messages: bool = True
    """Whether what is under way to and from a node is lost with it; else it arrives late, also in the next life."""


def no_answers(_world: World, _node: NodeId, _question: Any) -> Iterable[Any]:
    """Return no answer, for machines that ask nothing."""
    return ()


def forget(ghost: Any, _node: NodeId, _outcome: Any) -> Any:
    """Leave the ghost as it is."""
    return ghost


@dataclass(frozen=True, kw_only=True)
class Model:
    """A small system, whole: see the module's text for what each part means."""

    machines: tuple[Machine[Any], ...]
    title: str = ""
    """One line for people: what is checked."""

    # --- The world around the machines.
    answers: Callable[[World, NodeId, Any], Iterable[Any]] = no_answers
    """All answers that a question may get now; none: it has to wait."""
    asking: Asking = Asking.WAITING
    requests: tuple[tuple[int, Any], ...] = ()
    """What may be requested of which node: each once, at any time, in any order."""
    network: Network = Network()
    timers: Timers = Timers.ANY_TIME
    crashes: Crashes = Crashes()

    # --- What is remembered.
    ghost: Any = None
    observe: Callable[[Any, NodeId, Any], Any] = forget
    """`observe(ghost, node, outcome)`: the ghost after a `Report`."""
    observe_crash: Callable[[Any, NodeId], Any] | None = None
    """`observe_crash(ghost, node)`: the ghost after a crash; None: as before."""

    # --- What must hold.
    invariants: tuple[Invariant, ...] = ()
    goal: Callable[[World], bool] | None = None
    """What must be reachable from every state, without further faults. None: dead ends and livelocks are not sought."""
    progress: Callable[[Any], Any] | None = None
    """A measure of the ghost: a move that changes it is progress. None: any change of the ghost is."""
    has_no_livelock: bool = True
    """Whether to look for fair runs that go round for ever without progress, away from every goal."""
    fair_choices: bool = False
    """Whether an answer (or option) that is possible again and again is given some time."""

    # --- Which worlds are the same but for names.
    canonical: Callable[[World], World] | None = None
    """Returns the world under its standard names, best by a `Renumbering`. It must not rename nodes."""

    names: tuple[str, ...] = ()
    """Names of the nodes in diagrams; n0, n1, ... unless given."""
    variants: tuple[Variant, ...] = ()
    """Functions of the machines that are replaced while the model is explored."""


__all__ = ["Asking", "Crashes", "Invariant", "Model", "Network", "Order", "Timers", "forget", "no_answers"]
