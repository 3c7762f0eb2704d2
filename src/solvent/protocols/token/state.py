"""What a node of the token protocol knows, and how it is set up."""

from __future__ import annotations

from typing import TypeAlias

from solvent.protocols.machine import NodeId, Step, Value
from solvent.protocols.token.messages import Gimme, Token


class Trap(Value, frozen=True, gc=False):
    """A note that a node wants the token, left by a search that came by."""

    requester: NodeId
    request: int
    #: Where the search came from: the way back to the requester.
    via: NodeId


class TokenState(Value, frozen=True, gc=False):
    """One node."""

    #: The number of the token's last regular visit here; none yet: -1.
    stamp: int = -1
    #: How many requests this node has made, and whether the last one waits.
    requests: int = 0
    is_waiting: bool = False
    #: The token while it is here.
    token: Token | None = None
    #: Whether the user has it just now.
    is_used: bool = False
    #: How often the user has had it again since it came.
    again: int = 0
    #: First in, first out.
    traps: tuple[Trap, ...] = ()
    #: Searches that wait because this node has passed one on that is not yet served.
    delayed: tuple[Gimme, ...] = ()
    #: The search this node has passed on, if it passes on one at a time.
    passed_on: tuple[NodeId, int] | None = None
    #: How long the token rests here before it goes on, if it does: a timer runs.
    rest: int = 0
    #: Whether that time is over, or the token has been lent from here: it goes on when nobody uses it.
    has_rested: bool = False
    has_lent: bool = False
    #: Whether this node, with the token, has asked who wants it.
    has_asked: bool = False
    #: Whether many wanted the token when it was last heard of: it will ask who does, and nobody need search.
    is_crowded: bool = False


TokenStep: TypeAlias = Step[TokenState]


class TokenConfig(Value, frozen=True, gc=False):
    """How the token goes about; the paper's variants."""

    node: NodeId
    #: How many nodes the ring has.
    size: int
    #: `ring`: the token goes round and nothing else; `binary`: it can be searched for.
    protocol: str = "binary"
    #: How obsolete traps go away: `rotation` (the token carries what it has served), `inverse` (it goes back along the
    #: path of the search), or `none` (a borrower that wants it no longer gives it back).
    clean_up: str = "rotation"
    #: The requester asks node after node itself, instead of nodes passing the search on.
    is_directed: bool = False
    #: A node passes on one search at a time, and keeps the others until that one has been served.
    has_one_search: bool = False
    #: Who wants the token looks for it (`pull`); or who has it asks all who wants it (`push`); or `both`: searches, and
    #: while many want it, questions instead.
    finding: str = "pull"
    #: With `both`: how many are many; zero: as many as make asking round cheaper than searching.
    crowd: int = 0
    #: How many borrow the token in a row, before it comes back and goes on; zero: one at a time, as in the paper, as
    #: long as there are traps. It is so with any clean-up but `rotation`.
    max_row: int = 16
    #: The longest rest, in ticks, of a token that nobody wants; zero: it never rests. Where it asks round itself it
    #: rests after each time, and zero stands for as many ticks as there are nodes.
    max_rest: int = 0
    #: Who has searched and still waits after so many ticks searches again; zero: never.
    again: int = 0
    #: Whether a user needs no time with the token; else it must be released.
    is_instant: bool = True
