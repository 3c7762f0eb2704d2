"""Small worlds of the channel: talkers over connections that break at any moment, and nodes that crash and come back.

Around the functions of `protocols.channel` the machine here does what a host does, in its order: a step, then what was
saved, then what is said, then how many frames were taken. A connection is a number of its dialler's; what travels over
one is numbered, and whatever is missing, doubled or overtaken there ends it, as in TCP. So a world that loses,
doubles and reorders is one in which connections break in the middle, and in which what was written to a former one is
still read when the next one is there. Breaking a connection on purpose is a request.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec.structs import replace

from solvent.protocols import channel
from solvent.protocols.channel import Outdated, Session
from solvent.protocols.machine import (
    Effect,
    Effects,
    Event,
    Message,
    NodeId,
    PeerRestarted,
    Received,
    Requested,
    Save,
    Send,
    SetTimer,
    Step,
    TimerFired,
    Value,
)
from solvent_lab.checker.model import Crashes, Model, Network, Order, Timers
from solvent_lab.models.talker import Heard, Say, Talker, no_word_is_heard_twice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from solvent_lab.checker.world import World

A, B, C = NodeId(0), NodeId(1), NodeId(2)
REDIAL = "redial"
LineId: TypeAlias = tuple[int, int]
"""A connection: the life of its dialler, and its number in that."""


class Hello(Message, frozen=True, gc=False):
    """The dialler says which life it is in."""

    line: LineId
    life: int


class Challenge(Message, frozen=True, gc=False):
    """The acceptor says the same, and asks whether the dialler is still there."""

    line: LineId
    life: int


class Proof(Message, frozen=True, gc=False):
    """It is."""

    line: LineId


class Count(Message, frozen=True, gc=False):
    """How many frames were taken."""

    line: LineId
    place: int
    count: int


class Frame(Message, frozen=True, gc=False):
    """A frame with one word."""

    line: LineId
    place: int
    word: Any


class Break(Value, frozen=True, gc=False):
    """Requested: the connection to a node breaks."""

    to: NodeId


class Exchange(Value, frozen=True, gc=False):
    """What a node knows of its exchange with one peer: the session, and the connections."""

    life: int = 0
    waiting: tuple[Any, ...] = ()
    kept: tuple[Any, ...] = ()
    acknowledged: int = 0
    taken: int = 0
    source: LineId | None = None
    #: The connection that this node has dialled, if it has, and whether the first count was heard over it.
    line: LineId | None = None
    is_challenged: bool = False
    is_open: bool = False
    lines_count: int = 0
    #: What was written to it, and how many counts were read.
    written: int = 0
    counted: int = 0
    #: Connections of the peer whose proof is awaited, and the life that each belongs to.
    asked: tuple[tuple[LineId, int], ...] = ()
    #: What was read from the source, and how many counts were written to it.
    read: int = 0
    said: int = 0
    #: Whether the peer is to hear of this life.
    is_greeting: bool = False

    def session(self) -> Session:
        """Return the session, to be worked on."""
        return Session(self.life, list(self.waiting), deque(self.kept), self.acknowledged, self.taken, self.source)

    def after(self, session: Session) -> Exchange:
        """Return the exchange with the session as it is now."""
        return replace(
            self,
            life=session.life,
            waiting=tuple(session.waiting),
            kept=tuple(session.kept),
            acknowledged=session.acknowledged,
            taken=session.taken,
            source=session.source,
        )


class End(Value, frozen=True, gc=False):
    """The state of a node."""

    inner: Any
    life: int
    exchanges: tuple[tuple[NodeId, Exchange], ...]


class Turn:
    """One step of a node in the making."""

    def __init__(self, inner: Any, state: End) -> None:
        self.machine = inner
        self.inner = state.inner
        self.life = state.life
        self.exchanges = dict(state.exchanges)
        self.saves: list[Effect] = []
        self.sends: list[Effect] = []
        self.counts: list[Effect] = []

    def change(self, peer: NodeId, session: Session | None = None, **fields: Any) -> None:
        """Note what has become of an exchange."""
        exchange = self.exchanges[peer]
        if session is not None:
            exchange = exchange.after(session)
        self.exchanges[peer] = replace(exchange, **fields)

    def send(self, peer: NodeId, message: Any) -> None:
        """Write something that is no count."""
        self.sends.append(Send(peer, message))

    def tell(self, event: Event) -> None:
        """Step the talker by an event."""
        self.inner, effects = self.machine.step(self.inner, event)
        self.carry_out(effects)

    def carry_out(self, effects: Effects) -> None:
        """Note what it wants."""
        for effect in effects:
            if isinstance(effect, Send):
                exchange = self.exchanges[effect.to]
                self.change(effect.to, waiting=(*exchange.waiting, effect.message))
            elif isinstance(effect, Save):
                self.saves.append(effect)

    # ------------------------------------------------------------------------------------------------ the dialler

    def dial(self, peer: NodeId) -> None:
        """Open a connection, and give up the one before; nothing is left of one that nobody answered."""
        exchange = self.exchanges[peer]
        line = exchange.line if exchange.line and not exchange.is_challenged else (self.life, exchange.lines_count)
        self.change(
            peer,
            line=line,
            lines_count=line[1] + 1,
            is_challenged=False,
            is_open=False,
            written=0,
            counted=0,
        )
        self.send(peer, Hello(line, self.life))

    def on_challenge(self, peer: NodeId, said: Challenge) -> None:
        """Find out who is there, and prove that this node is."""
        exchange = self.exchanges[peer]
        if said.line != exchange.line or exchange.is_challenged:
            return
        self.change(peer, is_challenged=True)
        try:
            self.meet(peer, said.life, said.line)
        except Outdated:
            self.change(peer, line=None)
            return
        self.send(peer, Proof(said.line))

    def on_count(self, peer: NodeId, said: Count) -> None:
        """Forget what was taken; at first, write the rest again."""
        exchange = self.exchanges[peer]
        if said.line != exchange.line or said.place != exchange.counted:
            return
        session = exchange.session()
        if exchange.is_open:
            channel.acknowledge(session, said.count)
            self.change(peer, session, counted=exchange.counted + 1)
            return
        frames = channel.resume(session, said.count)
        self.change(peer, session, counted=exchange.counted + 1, is_open=True, is_greeting=False)
        for frame in frames:
            self.write(peer, frame)

    def flush(self, peer: NodeId) -> None:
        """Write what waits; dial, if there is no connection."""
        exchange = self.exchanges[peer]
        if exchange.is_open:
            session = exchange.session()
            words, session.waiting = session.waiting, []
            for word in words:
                channel.write(session, word)
            self.change(peer, session)
            for word in words:
                self.write(peer, word)
        elif exchange.line is None and is_needed(exchange):
            self.dial(peer)

    def write(self, peer: NodeId, word: Any) -> None:
        """Write a frame to the connection."""
        exchange = self.exchanges[peer]
        assert exchange.line is not None
        self.send(peer, Frame(exchange.line, exchange.written, word))
        self.change(peer, written=exchange.written + 1)

    # ----------------------------------------------------------------------------------------------- the acceptor

    def on_hello(self, peer: NodeId, said: Hello) -> None:
        """Ask for a proof."""
        exchange = self.exchanges[peer]
        if said.life >= exchange.life:
            self.change(peer, asked=tuple({**dict(exchange.asked), said.line: said.life}.items()))
            self.send(peer, Challenge(said.line, self.life))

    def on_proof(self, peer: NodeId, said: Proof) -> None:
        """Take frames from this connection from now on."""
        asked = dict(self.exchanges[peer].asked)
        life = asked.pop(said.line, None)
        if life is None:
            return
        self.change(peer, asked=tuple(asked.items()))
        try:
            self.meet(peer, life, None)
        except Outdated:
            return
        session = self.exchanges[peer].session()
        channel.accept(session, said.line)
        self.change(peer, session, read=0, said=0)
        self.say_taken(peer)

    def on_frame(self, peer: NodeId, said: Frame) -> None:
        """Take a frame, and say so."""
        exchange = self.exchanges[peer]
        session = exchange.session()
        if not channel.receive(session, said.line) or said.place != exchange.read:
            return
        self.change(peer, session, read=exchange.read + 1)
        self.tell(Received(peer, said.word))
        self.say_taken(peer)

    def say_taken(self, peer: NodeId) -> None:
        """Note that the count is to be said."""
        exchange = self.exchanges[peer]
        assert exchange.source is not None
        self.counts.append(Send(peer, Count(exchange.source, exchange.said, exchange.taken)))
        self.change(peer, said=exchange.said + 1)

    # ------------------------------------------------------------------------------------------------------- both

    def meet(self, peer: NodeId, life: int, line: LineId | None) -> None:
        """Hear which life a peer is in."""
        exchange = self.exchanges[peer]
        session = exchange.session()
        if not channel.has_restarted(session, life):
            return
        channel.restart(session, life)
        self.change(peer, session)
        if exchange.line != line and exchange.is_challenged:
            # It goes to the former life.
            self.change(peer, line=None, is_challenged=False, is_open=False)
        self.tell(PeerRestarted(peer))

    def effects(self) -> Effects:
        """Return the effects in the order of a host."""
        return tuple(in_order(self.saves, self.sends, self.counts))


def in_order(saves: list[Effect], sends: list[Effect], counts: list[Effect]) -> Iterable[Effect]:
    """Put what is saved before what is said, and counts at the end."""
    return (*saves, *sends, *counts)


def is_needed(exchange: Exchange) -> bool:
    """Decide whether there is something to be said."""
    return bool(exchange.waiting or exchange.kept) or exchange.is_greeting


class Channelled:
    """Talker `me`, one of `peers`, over channels."""

    def __init__(self, inner: Talker, *, me: NodeId, peers: Iterable[NodeId]) -> None:
        self._inner = inner
        self._peers = tuple(peer for peer in peers if peer != me)

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> Step[End]:
        """Begin; in a later life, by letting the others know of it."""
        inner, _ = self._inner.start(saved, life)
        exchange = Exchange(is_greeting=life > 0)
        turn = Turn(self._inner, End(inner, life, tuple((peer, exchange) for peer in self._peers)))
        return self._finished(turn)

    def step(self, state: End, event: Event) -> Step[End]:
        """Take one event."""
        turn = Turn(self._inner, state)
        match event:
            case Received(sender, Hello() as said):
                turn.on_hello(sender, said)
            case Received(sender, Challenge() as said):
                turn.on_challenge(sender, said)
            case Received(sender, Proof() as said):
                turn.on_proof(sender, said)
            case Received(sender, Count() as said):
                turn.on_count(sender, said)
            case Received(sender, Frame() as said):
                turn.on_frame(sender, said)
            case Requested(Break(to)):
                turn.change(to, line=None, is_challenged=False, is_open=False)
            case TimerFired():
                for peer, exchange in state.exchanges:
                    if is_needed(exchange):
                        turn.dial(peer)
            case _:
                turn.tell(event)
        return self._finished(turn)

    def _finished(self, turn: Turn) -> Step[End]:
        for peer in self._peers:
            turn.flush(peer)
        effects = turn.effects()
        if any(map(is_needed, turn.exchanges.values())):
            effects += (SetTimer(REDIAL, 0),)
        return End(turn.inner, turn.life, tuple(turn.exchanges.items())), effects


# ----------------------------------------------------------------------------------------------------- what must hold


def _exchanges(world: Any) -> Iterator[tuple[int, End, NodeId, Exchange]]:
    for number, state in enumerate(world.states):
        if state is not None:
            for peer, exchange in state.exchanges:
                yield number, state, peer, exchange


def _other_end(world: Any, number: int, state: End, peer: NodeId, exchange: Exchange) -> Exchange | None:
    """Return the other end of an exchange, if both know the session."""
    other: End | None = world.states[peer]
    if other is None or other.life != exchange.life:
        return None
    back = dict(other.exchanges)[NodeId(number)]
    return back if back.life == state.life else None


def each_side_counts_as_the_other(world: Any) -> str | None:
    """In a session that both sides know, acknowledged <= taken <= written."""
    for number, state, peer, one in _exchanges(world):
        back = _other_end(world, number, state, peer, one)
        written = one.acknowledged + len(one.kept)
        if back is not None and not one.acknowledged <= back.taken <= written:
            return f"node {number} wrote {written}, {one.acknowledged} acknowledged; node {peer} took {back.taken}"
    return None


def no_node_knows_a_life_to_come(world: Any) -> str | None:
    """The life of a peer that a node knows has begun."""
    for number, _, peer, one in _exchanges(world):
        if one.life > world.nodes[peer].life:
            return f"node {number} knows life {one.life} of node {peer}, which is in life {world.nodes[peer].life}"
    return None


def what_was_acknowledged_is_saved(world: Any) -> str | None:
    """A node that hears that a word was taken can rely on what the listener saved for it."""
    for number, state, peer, one in _exchanges(world):
        saved = sum(
            isinstance(record, Heard)
            and record.speaker == number
            and (record.word.life, record.life) == (state.life, one.life)
            for record in world.nodes[peer].saved
        )
        if saved < one.acknowledged:
            return f"node {number} believes that node {peer} took {one.acknowledged} words, and it saved {saved}"
    return None


def _all_said_and_heard(world: World) -> bool:
    """Nothing is under way or waits, nobody is down, and what was said in a session was heard."""
    if world.requests or not world.is_quiet or any(state is None for state in world.states):
        return False
    for number, state, peer, one in _exchanges(world):
        back = _other_end(world, number, state, peer, one)
        if is_needed(one) or (one.acknowledged and (back is None or back.taken != one.acknowledged)):
            return False
        said, heard = state.inner.speaking.get(peer), world.states[peer].inner.listening.get(NodeId(number))
        if said is not None and said.said and (heard is None or heard.heard != said.said):
            return False
    return True


INVARIANTS = (
    each_side_counts_as_the_other,
    no_node_knows_a_life_to_come,
    what_was_acknowledged_is_saved,
    no_word_is_heard_twice,
)


# --------------------------------------------------------------------------------------------------------- the worlds


def _model(
    title: str,
    requests: tuple[tuple[int, Any], ...],
    *,
    nodes_count: int = 2,
    echoes: bool = False,
    network: Network = Network(),  # noqa: B008 - a frozen value
    crashes: int = 0,
) -> Model:
    nodes = tuple(NodeId(number) for number in range(nodes_count))
    return Model(
        machines=tuple(Channelled(Talker(echoes=echoes), me=me, peers=nodes) for me in nodes),
        title=title,
        requests=requests,
        network=network,
        timers=Timers.WHEN_QUIET,
        crashes=Crashes(count=crashes, are_noticed=False, within_step=True, lose_messages=False),
        invariants=INVARIANTS,
        goal=_all_said_and_heard,
        has_no_livelock=False,
        names=("a", "b", "c")[:nodes_count],
    )


_ANY = Network(order=Order.ANY)


def breaks() -> Model:
    """Build a world in which a connection breaks twice, and former ones are still read."""
    says = ((A, Say(B)), (A, Say(B)), (A, Break(B)), (A, Break(B)))
    return _model("connections break, and are read late", says, network=_ANY)


def unreliable(*more: tuple[int, Any]) -> Model:
    """Build a world in which connections lose and double."""
    network = Network(order=Order.ANY, losses=1, duplicates=1)
    return _model("connections end in the middle", ((A, Say(B)), (A, Say(B)), *more), network=network)


def crash() -> Model:
    """Build a world in which one node crashes, also within a step, and its former life is read late."""
    says = ((A, Say(B)), (A, Say(B)))
    return _model("a crash, also within a step", says, echoes=True, crashes=1)


def crash_and_break(*more: tuple[int, Any]) -> Model:
    """Build a world in which one node crashes and a connection breaks."""
    says = ((A, Say(B)), (A, Break(B)), *more)
    return _model("a crash, and a connection that breaks", says, network=_ANY, crashes=1)


def _two_crashes() -> Model:
    """Build a world in which one node crashes twice, or both do."""
    says = ((A, Say(B)), (B, Say(A)))
    return _model("two crashes, of one node or of both", says, crashes=2)


def _three() -> Model:
    says = ((A, Say(B)), (B, Say(C)), (C, Say(A)), (A, Break(B)))
    return _model("three nodes", says, nodes_count=3)


MODELS: Mapping[str, Callable[[], Model]] = {
    "breaks": breaks,
    "unreliable": unreliable,
    "crash": crash,
    "crash-and-break": crash_and_break,
    "two-crashes": _two_crashes,
    "three": _three,
}

LARGE: Mapping[str, Callable[[], Model]] = {
    "unreliable-both": partial(unreliable, (B, Say(A))),
    "crash-and-break-both": partial(crash_and_break, (B, Say(A))),
    "crash-and-break-two-words": partial(crash_and_break, (A, Say(B))),
}

__all__ = ["LARGE", "MODELS", "A", "B", "breaks", "crash", "crash_and_break", "unreliable"]
