"""Little machines, right and wrong ones, that the checker is tried on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.protocols.machine import (
    Answered,
    Ask,
    Choose,
    Chosen,
    Message,
    NodeId,
    PeerRestarted,
    Received,
    Report,
    Requested,
    Save,
    Send,
    SetTimer,
    TimerFired,
    Value,
)

if TYPE_CHECKING:
    from solvent.protocols.machine import Effects, Event, Step

# ------------------------------------------------------------------------------------- a token round a ring


class Token(Message, frozen=True, gc=False):
    """The right to be inside."""


class Ring(Value, frozen=True, gc=False):
    """Where a node of the ring is: has it the token, is it inside, does it still want to go in?"""

    has_token: bool
    is_inside: bool = False
    wants: bool = False


class RingNode:
    """Passes a token round; goes inside on request. The wrong one passes the token on as soon as it is inside."""

    def __init__(self, node: int, count: int, *, is_hasty: bool = False) -> None:
        self._node = node
        self._next = NodeId((node + 1) % count)
        self._is_hasty = is_hasty

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> Step[Ring]:
        """Begin; the first node has the token."""
        del saved, life
        return self._go_on(Ring(has_token=self._node == 0))

    def step(self, state: Ring, event: Event) -> Step[Ring]:
        """Take one event."""
        match event:
            case Requested():
                return self._go_on(Ring(state.has_token, state.is_inside, wants=True))
            case Received():
                return self._go_on(Ring(True, state.is_inside, state.wants))
            case TimerFired("leave"):
                after = self._go_on(Ring(state.has_token, is_inside=False, wants=state.wants))
                return after[0], (Report("out"), *after[1])
            case TimerFired("pass"):
                return self._pass(state)
        raise AssertionError(event)

    def _go_on(self, state: Ring) -> Step[Ring]:
        if state.is_inside or not state.has_token:
            return state, ()
        if not state.wants:
            return state, (SetTimer("pass", 1),)
        inside = Ring(True, is_inside=True)
        entered: Effects = (Report("in"), SetTimer("leave", 1))
        if self._is_hasty:
            passed, effects = self._pass(inside)
            return passed, (*entered, *effects)
        return inside, entered

    def _pass(self, state: Ring) -> Step[Ring]:
        if not state.has_token or (state.is_inside and not self._is_hasty):
            return state, ()
        return Ring(False, state.is_inside, state.wants), (Send(self._next, Token()),)


# ---------------------------------------------------------------------------------------- a question and an answer


class Query(Message, frozen=True, gc=False):
    """Please answer."""


class Reply(Message, frozen=True, gc=False):
    """Here it is."""


class Client:
    """Asks node 1 once; with `retries` asks again as long as there is no reply."""

    def __init__(self, *, retries: bool) -> None:
        self._retries = retries

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> Step[str]:
        """Begin by asking."""
        del saved, life
        return "waiting", self._asking()

    def step(self, state: str, event: Event) -> Step[str]:
        """Take one event."""
        match event:
            case Received(_, Reply()) if state == "waiting":
                return "done", (Report("done"),)
            case TimerFired("again") if state == "waiting":
                return state, self._asking()
        return state, ()

    def _asking(self) -> Effects:
        again = (SetTimer("again", 1),) if self._retries else ()
        return (Send(NodeId(1), Query()), *again)


class Server:
    """Answers whoever asks."""

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> Step[str]:
        """Begin."""
        del saved, life
        return "serving", ()

    def step(self, state: str, event: Event) -> Step[str]:
        """Take one event."""
        match event:
            case Received(sender, Query()):
                return state, (Send(sender, Reply()),)
        return state, ()


# ----------------------------------------------------------------------------------------------- after you, please


class After(Message, frozen=True, gc=False):
    """After you."""


class Polite:
    """Two meet at a door and each lets the other go first; with a choice they may stop being polite."""

    def __init__(self, node: int, *, chooses: bool) -> None:
        self._peer = NodeId(1 - node)
        self._starts = node == 0
        self._chooses = chooses

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> Step[str]:
        """Begin; the first speaks."""
        del saved, life
        return "at the door", (Send(self._peer, After()),) if self._starts else ()

    def step(self, state: str, event: Event) -> Step[str]:
        """Take one event."""
        match event:
            case Received(_, After()) | Chosen(0):
                if self._chooses and isinstance(event, Received):
                    return state, (Choose(2),)
                return state, (Send(self._peer, After()),)
            case Chosen():
                return "through", (Report("through"),)
        return state, ()


# ---------------------------------------------------------------------------------------------- a promise forgotten


class Want(Message, frozen=True, gc=False):
    """May I have it?"""


class Yes(Message, frozen=True, gc=False):
    """You have it."""


class No(Message, frozen=True, gc=False):
    """Somebody else has it."""


class Holder:
    """Gives one thing away, once. The careless one does not save to whom, or says so before it has saved it."""

    def __init__(self, *, saves: bool = True, saves_late: bool = False) -> None:
        self._saves = saves
        self._saves_late = saves_late

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> Step[int]:
        """Begin with what was given away."""
        del life
        return (saved[0] if saved else -1), ()

    def step(self, state: int, event: Event) -> Step[int]:
        """Take one event."""
        match event:
            case Received(sender, Want()) if state in (-1, sender):
                said, save = Send(sender, Yes()), Save(int(sender))
                if not self._saves:
                    return sender, (said,)
                return sender, (said, save) if self._saves_late else (save, said)
            case Received(sender, Want()):
                return state, (Send(sender, No()),)
        return state, ()


class Wanter:
    """Wants the thing of node 0, and asks again when node 0 was started anew."""

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> Step[str]:
        """Begin by asking."""
        del saved, life
        return "wanting", (Send(NodeId(0), Want()),)

    def step(self, state: str, event: Event) -> Step[str]:
        """Take one event."""
        match event:
            case Received(_, Yes()) if state == "wanting":
                return "having", (Report("mine"),)
            case Received(_, No()):
                return "without", ()
            case PeerRestarted() if state == "wanting":
                return state, (Send(NodeId(0), Want()),)
        return state, ()


# -------------------------------------------------------------------------------------------------------- a guesser


class Guesser:
    """Asks for a number and keeps it; fails at 13."""

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> Step[int]:
        """Begin by asking."""
        del saved, life
        return 0, (Ask("a number"),)

    def step(self, state: int, event: Event) -> Step[int]:
        """Take one event."""
        del state
        assert isinstance(event, Answered)
        assert event.answer != 13, "unlucky"
        return event.answer, (Report(event.answer),)
