"""A group as it must not be: one known fault each, for the checker to find."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from solvent.protocols.machine import Save
from solvent.protocols.maps import Map
from solvent.protocols.token.group import electing, group, order
from solvent.protocols.token.group.state import Now, Promised
from solvent_lab.checker.registry import Variants
from solvent_lab.models.token_group import group as model
from solvent_lab.variants import variant

if TYPE_CHECKING:
    from solvent.protocols.machine import NodeId
    from solvent.protocols.token.group.messages import Epoch, Passed

BROKEN = Variants()


@BROKEN.add(model, 3, says=(0, 2), crashes=1, crashing=(1,), impatient=(2,), max_epochs=1, is_hasty=True)
@variant(order, "promise")
def forgets_promises(promise: Any, now: Now, epoch: Epoch) -> None:
    """Promises are not saved: after a crash an older token is accepted again."""
    promise(now, epoch)
    now.effects.remove(Save(Promised(epoch)))


@BROKEN.add(model, 3, name="silence-is-assent", says=(0, 1), max_epochs=1, is_hasty=True, impatient=(2,))
@variant(electing, "on_answers_awaited")
def takes_silence_for_assent(on_answers_awaited: Any, now: Now) -> None:
    """A node that does not answer an election in time counts as having promised."""
    log, election = now.state.log, now.state.election
    if election is None:
        on_answers_awaited(now)
    else:
        now.state.election = replace(election, promises=Map(dict.fromkeys(log.members, (log.last, log.length))))


@BROKEN.add(model, 3, says=(0,), crashes=1, crashing=(0,), max_epochs=2)
@variant(electing, "close")
def takes_own_log(close: Any, now: Now) -> None:
    """The node that makes a new token continues with its own log, however short."""
    close(now)
    election = now.state.election
    if election is not None and election.fetches_from is not None:
        now.state.election = replace(election, fetches_from=None, is_complete=True)
        del now.effects[-2:]


@BROKEN.add(model, 3, says=(0, 1), crashes=1, crashing=(0,), max_epochs=2)
@variant(group, "settle")
def delivers_too_early(settle: Any, now: Now) -> None:
    """A node delivers what it has written before others have saved it."""
    settle(now)
    if now.state.is_appending and not now.state.is_beginning:
        order.commit(now, now.state.log.length)


@BROKEN.add(model, 3, says=(2,), max_epochs=1, is_hasty=True)
@variant(order, "on_passed")
def heeds_old_tokens(on_passed: Any, now: Now, sender: NodeId, passed: Passed) -> None:
    """A token is accepted although a newer one was promised."""
    state = now.state
    if passed.epoch == state.epoch and passed.epoch < state.promised and state.inner is None:
        state.promised, state.election = passed.epoch, None
        order.begin_ring(now)
    on_passed(now, sender, passed)


__all__ = ["BROKEN"]
