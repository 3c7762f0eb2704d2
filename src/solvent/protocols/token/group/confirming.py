"""How a node that stood still learns whether the others have gone on without it.

While a process is stopped the others may make a new token. When it goes on it still believes in the old one, until it
hears of the new one. So it asks all members which epoch they are in. A token exists only when most members are in its
epoch; so if most are in no newer one than this node, nobody has had the lock by a newer token.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.protocols.token.group.electing import is_majority, on_seen
from solvent.protocols.token.group.messages import Known, Probe, Seen
from solvent.protocols.token.group.vocabulary import Confirmed

if TYPE_CHECKING:
    from solvent.protocols.machine import NodeId
    from solvent.protocols.token.group.desk import Desk


def confirm(desk: Desk, number: int) -> None:
    """Ask all members; an earlier probe counts no longer."""
    desk.set(probe=number, answered=frozenset({desk.me}))
    ask_again(desk)


def ask_again(desk: Desk) -> None:
    """Ask those that have not answered the probe that is under way, unless they are needed no more."""
    _count(desk)
    state = desk.state
    if state.answered is not None:
        for node in desk.others(state.log.members):
            if node not in state.answered:
                desk.hint(node, Probe(state.epoch, state.probe))


def on_probe(desk: Desk, sender: NodeId, probe: Probe) -> None:
    """Say which epoch this node is in."""
    desk.hint(sender, Known(desk.state.epoch, probe.number))


def on_known(desk: Desk, sender: NodeId, known: Known) -> None:
    """Count an answer; one newer epoch is enough to know that this node was left behind."""
    state = desk.state
    if known.epoch > state.epoch:
        on_seen(desk, sender, Seen(known.epoch))
        _end(desk)
    elif state.answered is not None and known.number == state.probe:
        desk.set(answered=state.answered | {sender})
        _count(desk)


def _count(desk: Desk) -> None:
    answered = desk.state.answered
    if answered is not None and is_majority(answered, desk.state.log.members):
        _end(desk)


def _end(desk: Desk) -> None:
    if desk.state.answered is not None:
        desk.set(answered=None)
        desk.tell(Confirmed(desk.state.probe))


__all__ = ["ask_again", "confirm", "on_known", "on_probe"]
