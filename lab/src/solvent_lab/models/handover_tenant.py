"""Processes of a space with users: they come, claim, hold for a while, leave a resource and come back, go, and die."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from immutables import Map

from solvent.protocols.elmp.vocabulary import (
    Claim,
    Data,
    Entrusted,
    Fetched,
    Granted,
    Leave,
    Left,
    Release,
    Request,
    Withdraw,
)
from solvent.protocols.handover.machine import SpaceMachine
from solvent.protocols.handover.state import Role, SpaceState, Standing
from solvent.protocols.handover.vocabulary import Astray, Died, Enter, Entered, Go, In, Of, Open, Opened, Stays
from solvent.protocols.machine import Answered, Ask, Effect, NodeId, Report, Requested, Value

if TYPE_CHECKING:
    from solvent.protocols.handover.state import SpaceStep
    from solvent.protocols.machine import Event

R, S = "r", "s"
"""The resource, and the other one where there are two."""
READ = Claim(is_shared=True)
DEAD = SpaceState(Standing(Role.OVER, has_resigned=True))
"""A process that has died: the checker starts it again, and it does nothing any more."""


class Use(Value, frozen=True, gc=False):
    """Asked of the world around: use what was granted; the answer comes when that is done."""

    resource: str
    handle: int
    data: Data | None


class Fetch(Value, frozen=True, gc=False):
    """Asked of the world around: fetch the data; the answer comes when it is here."""

    resource: str
    data: Data
    use: int


class Wrote(Value, frozen=True, gc=False):
    """Reported by the user: it has released this version of the data, which is in the memory of its host."""

    resource: str
    version: int


class Tenant(SpaceMachine):
    """A process with a user.

    A user that comes opens the resource and requests it. If whom it turned to cannot help, it turns to the next.
    """

    contacts: tuple[NodeId, ...] = ()
    #: Where it begins, if it takes part from the beginning.
    begins: SpaceState | None = None
    #: Whether the user needs no time, and whether it goes when it has been served.
    is_instant = False
    is_fleeting = False
    #: Whether it fetches the data only when it uses it, and whether it comes back to a resource that it has left.
    is_late = False
    is_returning = False

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> SpaceStep:
        """Begin; after its death it does nothing."""
        if life:
            return DEAD, ()
        state, effects = super().start(saved, life)
        return (state if self.begins is None else self.begins), effects

    def step(self, state: SpaceState, event: Event) -> SpaceStep:
        """Take one event; what the user does at once belongs to it."""
        if state == DEAD:
            return state, ()
        wanted: list[Any] = []
        todo: list[Effect] = []
        if isinstance(event, Answered) and not isinstance(event.answer, Map):
            # What was withdrawn meanwhile is not changed.
            wanted = [one for one in event.answer if not isinstance(one.wanted, Release) or _is_held(state, one)]
            released = [(one.resource, one.wanted.data) for one in wanted if isinstance(one.wanted, Release)]
            todo = [Report(Wrote(resource, data.version)) for resource, data in released if data is not None]
        else:
            state, effects = super().step(state, event)
            todo = list(effects)
        done: list[Effect] = []
        while todo or wanted:
            if wanted:
                state, effects = super().step(state, Requested(wanted.pop(0)))
                todo += effects
                continue
            effect = todo.pop(0)
            done.append(effect)
            if isinstance(effect, Report):
                wanted = self._wants(effect.outcome, done)
        return state, tuple(done)

    def _wants(self, outcome: Any, done: list[Effect]) -> list[Any]:
        """Say what the user does when it is told something: at once, or by an answer."""
        match outcome:
            case Entered() if self.contacts:
                return [Open(R)]
            case Astray(contact):
                place = self.contacts.index(contact) if contact in self.contacts else -1
                return [Enter(self.contacts[(place + 1) % len(self.contacts)])]
            case Of(resource, Left()) if self.is_returning:
                return [Open(resource)]
            case Of(resource, Stays()) if self.is_returning:
                return [In(resource, Request())]
            case Opened(resource) if self.contacts or self.is_returning:
                return [In(resource, Request())]
            case Of(resource, Entrusted(data, _, use)):
                done.append(Ask(Fetch(resource, data, use)))
            case Of(resource, Granted() as granted):
                return self._uses(resource, granted, done)
        return []

    def _uses(self, resource: str, granted: Granted, done: list[Effect]) -> list[Any]:
        """Say what the user does when it is granted what it wants."""
        data, handle = granted.data, granted.handle
        fetched = [] if data is None or self.is_late else [In(resource, Fetched(data.version, use=granted.use))]
        if self.is_instant:
            return [*fetched, In(resource, Release(handle)), *([Go()] if self.is_fleeting else [])]
        here = Data(data.version, self.node) if data is not None and fetched else data
        done.append(Ask(Use(resource, handle, here)))
        return fetched


def _is_held(state: SpaceState, release: In) -> bool:
    """Whether what is to be released is held, and was not given up while a repair is under way."""
    part = state.resources.get(release.resource)
    given_up = (In(release.resource, Leave()), In(release.resource, Withdraw(release.wanted.handle)))
    if part is None or any(wish.request in given_up for wish in state.standing.wishes if isinstance(wish, Requested)):
        return False
    return any(use.is_held and use.handle == release.wanted.handle for use in part.uses)


# ---------------------------------------------------------------------------------------------------------- wishes


def wants(*nodes: int, resource: str = R, patience: int = 0) -> list[tuple[int, In]]:
    """Let each of some users request a resource, and wait for a while only if told."""
    return [(node, In(resource, Request(patience=patience))) for node in nodes]


def leaves(*nodes: int) -> list[tuple[int, In]]:
    """Let each of some users leave the resource."""
    return [(node, In(R, Leave())) for node in nodes]


def withdraws(*nodes: int) -> list[tuple[int, In]]:
    """Let each of some users think better of it."""
    return [(node, In(R, Withdraw())) for node in nodes]


def suspects(*pairs: tuple[int, int]) -> list[tuple[int, Died]]:
    """Let each of some hosts say of a process that it seems to be dead."""
    return [(node, Died(NodeId(peer), is_certain=False)) for node, peer in pairs]


__all__ = [
    "DEAD",
    "READ",
    "Fetch",
    "R",
    "S",
    "Tenant",
    "Use",
    "Wrote",
    "leaves",
    "suspects",
    "wants",
    "withdraws",
]
