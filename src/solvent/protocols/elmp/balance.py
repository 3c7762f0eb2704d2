"""The shape of the tree: heights and weights, and the scapegoat below which it is built anew.

Every process knows the height and the weight of the tree below each of its children, and tells its parent when its
own change. An exchange of seats changes neither. Weight counts processes; the papers on general balanced trees count
leaves, but theirs are the empty places under the nodes, one more than nodes. (Where real leaves are counted, two
processes have height 1 and weight 1 and no rebuilding helps them.)

If the height of the tree below a process is over `slack` times the logarithm of its weight and one, that process is the
scapegoat: it tells its parent nothing of it but builds the tree below anew. All below are told to do nothing else
(`Gather`), each says who is below it, and each gets a new seat. Requests that were on their way inside begin again, and
so do departures; nothing that concerns the queue is touched. It needs three messages for each process below, but only
after about as many insertions or departures. Without it a lazy tree grows without bounds (E11), and a tree of order m
may become a thread when all but a few leave.
"""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from solvent.protocols.elmp.desk import IDLE
from solvent.protocols.elmp.insertion import Inserting
from solvent.protocols.elmp.messages import (
    Adopt,
    Attach,
    Child,
    Climb,
    Gather,
    Gathered,
    Leaving,
    Own,
    Resized,
    Seated,
    Stand,
)
from solvent.protocols.elmp.state import Blocked, Busy, Exiting, Gathering, Joining, Out, Requesting

if TYPE_CHECKING:
    from solvent.protocols.machine import NodeId


_SHAPELESS = (Out, Joining, Requesting, Exiting)


def is_too_high(height: int, weight: int, slack: float) -> bool:
    """Say whether a tree of this weight should be lower."""
    return height > 0 and height > slack * log2(weight + 1)


def arranged(nodes: tuple[NodeId, ...], order: int) -> list[tuple[NodeId | None, tuple[Child, ...]]]:
    """Give each node its parent and its children in the lowest tree, the first one being the root."""
    count = len(nodes)
    sizes = [(0, 1)] * count
    children: list[tuple[Child, ...]] = [()] * count
    for place in range(count - 1, -1, -1):
        below = range(order * place + 1, min(order * place + order, count - 1) + 1)
        children[place] = tuple(sorted((nodes[one], *sizes[one]) for one in below))
        if below:
            sizes[place] = (1 + max(sizes[one][0] for one in below), 1 + sum(sizes[one][1] for one in below))
    return [(nodes[(place - 1) // order] if place else None, children[place]) for place in range(count)]


def uncounted(message: Any) -> Any:
    """Give the message about a new process that nobody has counted in."""
    return Attach(message.newcomer, message.rank) if isinstance(message, Adopt) else message


class Balancing(Inserting):
    """A process that keeps the tree below it low."""

    def on_resized(self, sender: NodeId, message: Resized) -> None:
        """Know the size of the tree below a child."""
        assert sender in self.children
        self.children[sender] = (message.height, self.children[sender][1] + message.change)
        self.is_reshaped = True

    def consider_shape(self) -> None:
        """Tell the parent of a new size, or queue up for building the tree below anew if it is too high."""
        # The parent of who requests or leaves may have been told already who comes instead; that one will tell it.
        if not self.is_reshaped or type(self.phase) in _SHAPELESS:
            return
        if self.swap is not None or self.gathering is not None:
            return
        self.is_reshaped = False
        size = self.size()
        if is_too_high(*size, self.config.slack):
            if not self.wants("rebuild"):
                self.enqueue("rebuild")
        elif self.parent is not None and size != self.told:
            self.send(self.parent, Resized(size[0], size[1] - self.told[1]))
            self.told = size

    def begin_rebuilding(self) -> None:
        """Have everybody below do nothing else; unless the tree is low again."""
        if not is_too_high(*self.size(), self.config.slack):
            return
        self.phase = Busy(((self.me, 0),))
        self.gather(is_top=True)

    def gather(self, *, is_top: bool) -> None:
        """Forget what comes from below, since it will begin again, and ask who is there."""
        lost = (Climb, Leaving) if is_top else (Climb, Leaving, Stand)
        kept = [one for one in self.queue if not isinstance(one[1], lost)]
        # Whoever builds the tree anew counts only who has a seat in it.
        self.queue = kept if is_top else [(sender, uncounted(message)) for sender, message in kept]
        self.reset_departure()
        self.gathering = Gathering(frozenset(self.children), () if is_top else (self.me,), is_top)
        # Who is told to gather begins its request again unless it has heard of its place.
        self.tell_all()
        for node in sorted(self.children):
            self.send(node, Gather())

    def on_gather(self, sender: NodeId) -> None:
        """Do nothing else until there is a new seat."""
        assert self.swap is None
        assert sender == self.parent
        if type(self.phase) is Requesting:
            self.queue.insert(0, (self.me, Own("climb")))
        self.phase = Blocked(sender)
        self.gather(is_top=False)
        self.consider_gathered()

    def on_gathered(self, sender: NodeId, message: Gathered) -> None:
        """Count who is below a child."""
        gathering = self.gathering
        assert gathering is not None
        members = (*gathering.members, *message.members)
        self.gathering = replace(gathering, waiting=gathering.waiting - {sender}, members=members)
        self.consider_gathered()

    def consider_gathered(self) -> None:
        """Pass on who is below, or give everybody a new seat."""
        gathering = self.gathering
        assert gathering is not None
        if gathering.waiting:
            return
        if not gathering.is_top:
            assert self.parent is not None
            self.send(self.parent, Gathered(gathering.members))
            return
        nodes = (self.me, *gathering.members)
        (_, mine), *others = arranged(nodes, self.config.order)
        for node, (parent, children) in zip(nodes[1:], others, strict=True):
            assert parent is not None
            self.send(node, Seated(parent, children))
        self.children = {node: (height, weight) for node, height, weight in mine}
        self.is_reshaped = True
        self.end_gathering()

    def on_seated(self, message: Seated) -> None:
        """Take the new seat."""
        self.parent = message.parent
        self.children = {node: (height, weight) for node, height, weight in message.children}
        self.told = self.size()
        self.is_reshaped = True
        self.end_gathering()

    def end_gathering(self) -> None:
        """Go on."""
        self.gathering = None
        self.phase = IDLE
        self.replay()


__all__ = ["Balancing", "arranged", "is_too_high"]
