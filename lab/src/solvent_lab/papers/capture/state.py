"""What a node of the paper's protocol knows, as holder of molecules and as requester of them."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from solvent.protocols.capture.vocabulary import AttemptId, MoleculeId, Place, RuleId
from solvent.protocols.machine import Draft, NodeId, NodeState, Value
from solvent.protocols.maps import Map

# ------------------------------------------------------------------------------------------------------ holder


class Claim(NamedTuple):
    """A pessimist's interest in a molecule; the least one comes first in the total order."""

    reactions: int
    requester: NodeId
    attempt: AttemptId


Claims: TypeAlias = Map[NodeId, Claim]
"""Claims by requester: nobody has two on one molecule. When nodes are many and molecules few, they are many."""

NO_CLAIMS: Claims = Map()


class Hold(Value, frozen=True, gc=False):
    """A molecule is promised to an attempt (`is_lent` false) or has been sent to it."""

    requester: NodeId
    attempt: AttemptId
    is_lent: bool
    #: The claim it was promised to; none for an optimist, who is after every pessimist.
    claim: Claim | None = None


class Holding(Value, frozen=True, gc=False):
    """A molecule at its holder."""

    value: Any
    hold: Hold | None = None
    #: Pessimists whose query has been answered with yes.
    queue: Claims = NO_CLAIMS
    #: Pessimists whose query waits for a hold of lower priority to end.
    waiting: Claims = NO_CLAIMS
    #: The first of the queue, where it is known: finding it means going through all.
    first: Claim | None = None


# --------------------------------------------------------------------------------------------------- requester


class Fetching(Value, frozen=True, gc=False):
    """The molecules have been asked for."""

    number: AttemptId
    rule: RuleId
    places: tuple[Place, ...]
    is_optimistic: bool
    got: tuple[tuple[MoleculeId, Any], ...] = ()
    refused: int = 0


class Querying(Value, frozen=True, gc=False):
    """Holders have been asked whether the molecules are available."""

    number: AttemptId
    rule: RuleId
    places: tuple[Place, ...]
    granted: int = 0
    refused: int = 0


class Committing(Value, frozen=True, gc=False):
    """Holders have been asked for a promise."""

    number: AttemptId
    rule: RuleId
    places: tuple[Place, ...]
    granted: int = 0
    refused: int = 0


class Reacting(Value, frozen=True, gc=False):
    """All molecules are here; their products are being computed."""

    number: AttemptId
    rule: RuleId
    places: tuple[Place, ...]
    is_optimistic: bool
    got: tuple[tuple[MoleculeId, Any], ...]


class Searching(Value, frozen=True, gc=False):
    """A combination has been asked for."""


class Resting(Value, frozen=True, gc=False):
    """Nothing was found, or the node is dormant: a timer or the program will wake it."""


Phase: TypeAlias = Fetching | Querying | Committing | Reacting | Searching | Resting

SEARCHING, RESTING = Searching(), Resting()


class Success(Value, frozen=True, gc=False):
    """How capturing for one rule has gone: this node's own last answers, and what others said of theirs."""

    #: 1 for a molecule that could be had, 0 for one that could not, the last one at the end.
    own: bytes
    #: How many of them could be had.
    rate: int
    #: What others said of their own, the last one at the end.
    remote: bytes = b""
    #: When each of `remote` was heard; kept only where rates age.
    heard: tuple[int, ...] = ()
    #: When the node last executed the rule, if it does not now; long ago if it never did.
    left: int = -1_000_000


class CaptureState(NodeState, gc=False):
    """One node."""

    molecules: Map[MoleculeId, Holding]
    success: tuple[Success, ...]
    phase: Phase = SEARCHING
    rule: RuleId = RuleId(0)
    mode: str = "optimistic"
    reactions: int = 0
    attempts: int = 0
    made: int = 0
    #: Attempts in a row that failed since the node became pessimistic.
    aborts: int = 0
    is_woken: bool = False
    now: int = 0
    #: Attempts that ended in a reaction; kept only where crashes are survived, to answer doubts.
    reacted: Map[AttemptId, None] = Map()


class CaptureConfig(Value, frozen=True, gc=False):
    """How a node goes about it; the numbers are the paper's where it gives them."""

    node: NodeId
    #: How many molecules each rule takes.
    arities: tuple[int, ...] = (2,)
    molecules: tuple[tuple[MoleculeId, Any], ...] = ()
    #: adaptive, optimistic or pessimistic.
    protocol: str = "adaptive"
    #: The switch s: optimistic if and only if the success rate to the power of the arity reaches it.
    threshold: float = 0.7
    #: Queries wait for holds of lower priority (repairs C4 and C5) instead of being refused.
    waiting: bool = False
    #: A free molecule goes to an optimist even where pessimists have asked before.
    favours_optimists: bool = False
    dormant: bool = False
    max_aborts: int = 10
    sleep: int = 20
    sleep_spread: int = 4
    max_own: int = 20
    max_remote: int = 50
    #: The weight of the own rate; none for a plain mean over it and all remote ones.
    own_weight: float | None = None
    #: Rates of others older than this many ticks do not count; zero for never.
    ageing: int = 0
    #: The rule to begin with, and whether this node keeps to it for ever.
    rule: RuleId = RuleId(0)
    is_keeper: bool = False
    #: After so many ticks a node that found nothing looks again; zero to rest until woken.
    look_again: int = 2
    #: How many ticks to wait after a failed attempt. The paper's node tries again at once, which costs it a step at
    #: least; where messages to oneself take no time, it would try for ever and never hear of anybody else.
    retry_after: int = 0
    #: Survive crashes: lent molecules are kept until the reaction is known, and everything is saved.
    confirm: bool = False


Now: TypeAlias = Draft[CaptureConfig, CaptureState]
