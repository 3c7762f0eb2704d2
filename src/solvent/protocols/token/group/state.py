"""What a node of a group knows, what it saves, and how it is set up."""

from __future__ import annotations

from typing import TypeAlias

from solvent.protocols.machine import Draft, NodeId, NodeState, Value
from solvent.protocols.maps import Map
from solvent.protocols.token.group.log import FIRST, Log
from solvent.protocols.token.group.messages import Epoch, Fence, Line, Member, Passed, Said
from solvent.protocols.token.node import TokenConfig, TokenState

PATIENCE = "group:patience"
"""Look whether the token has been heard of lately."""
ELECT = "group:elect"
"""Go on with who has answered."""


class GroupConfig(Value, frozen=True, gc=False):
    """How a node is set up."""

    node: NodeId
    #: The first members, the same at all of them; nobody: this node wants to be taken in by one it knows.
    members: tuple[NodeId, ...] = ()
    #: Where they are to be found, in the same order, for those that come later; empty if nobody does.
    places: tuple[str, ...] = ()
    #: Where this node is to be found, for those that do not know it yet.
    where: str = ""
    #: Whom to ask to be taken in.
    contacts: tuple[NodeId, ...] = ()
    #: How long nothing may be heard of a token that is wanted before it is sought, in ticks.
    patience: int = 1_000
    #: How long to wait for the answers of all before going on with those of most.
    wait: int = 200
    #: How long the token may be on its way from one node to the next, and in use there, if all is well.
    hop: int = 20
    #: How the token goes about and is found; `node` and `size` are those of the ring it is in.
    ring: TokenConfig = TokenConfig(NodeId(0), 1, is_instant=False)
    #: How large lines may be together that are sent at once to one who lacks many, in bytes; one at least is sent.
    max_bytes: int = 1_000_000
    #: How many lines that all have are kept before they are forgotten.
    kept: int = 256


class Election(Value, frozen=True, gc=False):
    """A node's attempt to make a new token."""

    epoch: Epoch
    #: Who has promised, and how its log ends.
    promises: Map[NodeId, tuple[Epoch, int]]
    #: Who has not, because of a newer promise.
    refused: frozenset[NodeId] = frozenset()
    #: Whether nobody else is waited for.
    is_closed: bool = False
    #: Whose log is waited for, as the best of all.
    fetches_from: NodeId | None = None
    #: Whether this node has the best log, its own or another's.
    is_complete: bool = False


class GroupState(NodeState, gc=False):
    """One node."""

    life: int = 0
    #: No older epoch is heeded.
    promised: Epoch = FIRST
    log: Log = Log()
    #: How many lines are known to be safe, and how many the user has heard of.
    committed: int = 0

    # --- The view: the newest epoch whose beginning this node has in its log.
    epoch: Epoch = FIRST
    ring: tuple[NodeId, ...] = ()
    #: The node's part in handing the token round, by places in the ring; none while a new token is being made.
    inner: TokenState | None = None
    #: A token that came before the lines it presupposes.
    early: tuple[NodeId, Passed] | None = None
    #: What the token says about what all have.
    low: int = 0
    low_so_far: int = 0

    # --- The user.
    is_lock_wanted: bool = False
    #: The lock while the user has it.
    fence: Fence | None = None
    #: What is to be appended: broadcasts that are not safe yet, and changes of members.
    outbox: tuple[Said, ...] = ()
    changes: tuple[Member, ...] = ()
    said: int = 0
    #: Who wants to be in the ring.
    hellos: Map[NodeId, str] = Map()
    is_leaving: bool = False
    #: Whether it is about to stop: the token does not rest here.
    is_retiring: bool = False
    is_gone: bool = False

    # --- While the token is granted here.
    #: The number of the grant; None: not granted.
    granted: int | None = None
    #: Whether the user has had the lock by it; the next time needs another grant, and gets a greater fence.
    has_locked: bool = False
    #: Whether lines of this node wait for most to have saved them; it keeps the token meanwhile.
    is_appending: bool = False
    #: Whether it has appended since it got the token; who has the lock may do so again and again.
    has_appended: bool = False
    #: Whether what is being appended is the view of an epoch whose token is still to be made.
    is_beginning: bool = False
    #: How many of its broadcasts are in the log already.
    appended: int = 0
    #: How much of the log others have.
    acks: Map[NodeId, int] = Map()
    #: Who has promised something newer and saves nothing of this epoch.
    refused: frozenset[NodeId] = frozenset()

    # --- Whether there is a token at all.
    election: Election | None = None
    #: How often in a row nothing was heard of it, and how often that is taken calmly.
    quiet: int = 0
    calm: int = 1
    is_fresh: bool = True
    is_seeking: bool = False
    #: How many elections of this node came to nothing since the last epoch began; it waits longer after each.
    failures: int = 0
    #: Who wants to know when the token comes by.
    seekers: frozenset[NodeId] = frozenset()
    #: The newest epoch that anybody spoke of.
    heard: Epoch = FIRST
    #: The number of the last probe, and who has answered it; none: no probe is under way.
    probe: int = 0
    answered: frozenset[NodeId] | None = None


Now: TypeAlias = Draft[GroupConfig, GroupState]


# --------------------------------------------------------------------------------------------------------- records


class Promised(Value, frozen=True, gc=False, tag=True):
    """Saved: no older epoch is heeded from here on."""

    epoch: Epoch


class Written(Value, frozen=True, gc=False, tag=True):
    """Saved: these lines are in the log from `first` on, and nothing after them."""

    first: int
    lines: tuple[Line, ...]


class Started(Value, frozen=True, gc=False, tag=True):
    """Saved: the log begins here; what was before is not known."""

    first: int
    before: Epoch
    members: tuple[tuple[NodeId, str], ...]


GroupRecord: TypeAlias = Promised | Written | Started
