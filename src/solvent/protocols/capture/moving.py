"""Capture by moving: a holder hands its molecules over in one exchange, and only ever to one node.

This is Solvent's own protocol (`better`), not the paper's. A reaction happens only among molecules that lie at one
node, so nothing is ever locked at two places. A requester sends each holder one `Take` that lists all it wants from
there; the holder moves them over with `Given`, all or none, or answers `Refused`. Two messages instead of the
paper's three per molecule, two steps instead of six, and nothing to give back: molecules that arrive for an attempt
that failed elsewhere simply live at the requester from now on.

Why it makes progress. Two rules. A combination that lies at several nodes is for those who have a part of it. And a
node with an attempt out keeps its own part from requesters that come after it in the total order (reactions done, then
id) and yields it to those before it; its own attempt then fails. So of all nodes that want something, the first in the
order cannot be robbed, and nobody may refuse it what it asks for; it fails only if somebody else got there before, and
molecules that are wanted move only towards nodes earlier in the order.

Why nothing is used twice. A molecule is in exactly one place: a node's molecules, or one gift under way. With
`confirm`, gifts are saved by the giver until the receiver has saved them, and are sent again after a crash of either;
the receiver knows a gift it already has by giver and number.

Equal molecules are interchangeable in a solution, so a holder that no longer has the molecule named may give an
equal one instead of refusing.
"""

from __future__ import annotations

from typing import Any, TypeAlias, assert_never

from msgspec.structs import replace

from solvent.protocols.capture.vocabulary import (
    Abandoned,
    Arrived,
    AttemptId,
    Combination,
    Discover,
    Gone,
    MoleculeId,
    Products,
    React,
    Reacted,
    Rewrite,
    RuleId,
    Switched,
    Wake,
)
from solvent.protocols.machine import (
    Answered,
    Ask,
    Chosen,
    Configured,
    Draft,
    Event,
    Message,
    NodeId,
    NodeState,
    PeerRestarted,
    Received,
    Report,
    Requested,
    SetTimer,
    Step,
    TimerFired,
    Value,
)
from solvent.protocols.maps import Map

LOOK = "look"
"""The timer by which a node that found nothing looks again."""
LIFE_SHIFT = 28
"""Molecules, attempts and gifts are counted within a life; the number of the life stands above these bits."""
NODE_SHIFT = 40
"""And in the number of a molecule, that of the node where it came about above these, so that none is given twice."""

Molecules: TypeAlias = tuple[tuple[MoleculeId, Any], ...]


# ---------------------------------------------------------------------------------------------------- messages


class Take(Message, frozen=True, gc=False):
    """A requester wants these molecules, or equal ones, all or none."""

    attempt: AttemptId
    molecules: tuple[MoleculeId, ...]
    #: Their values where known, in the same order.
    values: tuple[Any, ...]
    #: How many reactions the requester has done: its place in the total order, with its id.
    reactions: int


class Given(Message, frozen=True, gc=False):
    """The molecules are the requester's from now on."""

    attempt: AttemptId
    gift: int
    molecules: Molecules


class Refused(Message, frozen=True, gc=False):
    """Not all of the molecules are here, or this node wants them first."""

    attempt: AttemptId


class Confirmed(Message, frozen=True, gc=False):
    """The gift has been saved by its receiver; the giver may forget it."""

    gift: int


MovingMessage: TypeAlias = Take | Given | Refused | Confirmed


# ----------------------------------------------------------------------------------------------------- records


class Kept(Value, frozen=True, gc=False, tag=True):
    """Molecules of this node changed by a reaction."""

    removed: tuple[MoleculeId, ...]
    added: Molecules
    reactions: int


class Gave(Value, frozen=True, gc=False, tag=True):
    """A gift left this node."""

    gift: int
    to: NodeId
    molecules: Molecules


class Got(Value, frozen=True, gc=False, tag=True):
    """A gift arrived at this node."""

    giver: NodeId
    gift: int
    molecules: Molecules


class Closed(Value, frozen=True, gc=False, tag=True):
    """A gift of this node is confirmed."""

    gift: int


MovingRecord: TypeAlias = Kept | Gave | Got | Closed


# ------------------------------------------------------------------------------------------------------- state


class Attempt(Value, frozen=True, gc=False):
    """An attempt that is out: molecules from these holders are on their way, or are refused."""

    number: AttemptId
    rule: RuleId
    #: The part of the combination that this node has itself.
    own: tuple[MoleculeId, ...]
    #: Holders that have not answered yet.
    asked: tuple[NodeId, ...]
    #: What has come for it so far.
    come: tuple[MoleculeId, ...] = ()
    is_refused: bool = False


class Reacting(Value, frozen=True, gc=False):
    """A complete combination whose products are being computed."""

    number: AttemptId
    rule: RuleId
    molecules: Molecules


class Searching(Value, frozen=True, gc=False):
    """A combination has been asked for."""


class Idle(Value, frozen=True, gc=False):
    """Nothing could react when this node last looked."""


Phase: TypeAlias = Attempt | Reacting | Searching | Idle

SEARCHING, IDLE = Searching(), Idle()


class MovingState(NodeState, gc=False):
    """What a node knows."""

    molecules: Map[MoleculeId, Any]
    phase: Phase = IDLE
    #: Set when something changed while an attempt was out, so that the node looks again before it rests.
    is_woken: bool = False
    reactions: int = 0
    attempts: int = 0
    made: int = 0
    gifts: Map[int, tuple[NodeId, Molecules]] = Map()
    got: Map[tuple[NodeId, int], None] = Map()
    given: int = 0


class MovingConfig(Value, frozen=True, gc=False):
    """How a node goes about it."""

    node: NodeId
    #: The molecules it begins with.
    molecules: Molecules = ()
    #: React on its own molecules at once; else it asks itself for them, which costs what asking others costs. The
    #: paper's model charges two steps for every reaction, and only then can the two be compared.
    is_local: bool = True
    #: Save and confirm gifts, so that crashes lose nothing.
    confirm: bool = False
    #: Tell the program of every molecule that comes or goes.
    tell: bool = True
    #: Rest when nothing can react, until woken; else look again after this many ticks.
    look_again: int = 0
    rule: RuleId = RuleId(0)


Now: TypeAlias = Draft[MovingConfig, MovingState]


# -------------------------------------------------------------------------------------------------------- life


def moving_node(config: MovingConfig) -> Configured[MovingConfig, MovingState]:
    """Make the machine of a node."""
    return Configured(start, step, config)


def start(config: MovingConfig, saved: tuple[Any, ...] = (), life: int = 0) -> Step[MovingState]:
    """Begin with the molecules given, or with what the records say is left of them."""
    state = recovered(config, saved)
    state.attempts = state.made = state.given = life << LIFE_SHIFT
    now = Draft(config, state)
    if saved or life:
        report_arrivals(now, tuple(state.molecules.items()))
    give_again(now, None)
    discover(now)
    return now.state, tuple(now.effects)


def recovered(config: MovingConfig, saved: tuple[MovingRecord, ...]) -> MovingState:
    """Replay the records over the molecules the node began with."""
    molecules = dict(config.molecules)
    gifts: dict[int, Any] = {}
    got: dict[Any, None] = {}
    reactions = 0
    for record in saved:
        match record:
            case Kept(removed, added, reactions):
                for molecule in removed:
                    molecules.pop(molecule, None)
                molecules.update(added)
            case Gave(gift, to, items):
                gifts[gift] = (to, items)
                for molecule, _ in items:
                    molecules.pop(molecule, None)
            case Got(giver, gift, items):
                got[giver, gift] = None
                molecules.update(items)
            case Closed(gift):
                gifts.pop(gift, None)
            case _:
                assert_never(record)
    return MovingState(molecules=Map(molecules), gifts=Map(gifts), got=Map(got), reactions=reactions)


def step(config: MovingConfig, state: MovingState, event: Event) -> Step[MovingState]:
    """Take one event."""
    now = Draft(config, replace(state))
    match event:
        case Received():
            on_message(now, event.sender, event.message)
        case Answered(Combination() as combination):
            on_combination(now, combination)
        case Answered(Products(values)):
            on_products(now, values)
        case Answered(Rewrite(removed, added)):
            # The search is over, and begins anew with what there is now.
            now.state.phase = IDLE
            rewrite(now, removed, added)
        case Requested(Rewrite(removed, added)):
            rewrite(now, removed, added)
        case Requested(Wake()) | TimerFired():
            wake(now)
        case PeerRestarted(peer):
            on_peer_restarted(now, peer)
        case Requested() | Answered() | Chosen():
            pass
        case _:
            assert_never(event)
    return now.state, tuple(now.effects)


def on_message(now: Now, sender: NodeId, message: MovingMessage) -> None:
    """Take a message."""
    match message:
        case Take():
            on_take(now, sender, message)
        case Given():
            on_given(now, sender, message)
        case Refused():
            on_refused(now, sender, message)
        case Confirmed():
            on_confirmed(now, message)
        case _:
            assert_never(message)


# ------------------------------------------------------------------------------------------------------ holder


def on_take(now: Now, requester: NodeId, take: Take) -> None:
    """Give all that is wanted, or refuse."""
    state, chosen = now.state, take.molecules
    if len(set(chosen)) != len(chosen) or (take.values and len(take.values) != len(chosen)):
        # No machine of ours says this; a node that does gets nothing.
        chosen = ()
    elif not all(molecule in state.molecules for molecule in chosen):
        chosen = equal_ones(state, take)
    if not chosen or not may_give(now, requester, take.reactions, chosen):
        now.send(requester, Refused(take.attempt))
        return
    given = tuple([(molecule, state.molecules[molecule]) for molecule in chosen])
    remove(state, chosen)
    state.given += 1
    if now.config.confirm:
        now.save(Gave(state.given, requester, given))
        state.gifts = state.gifts.set(state.given, (requester, given))
    now.send(requester, Given(take.attempt, state.given, given))
    if now.config.tell:
        now.effects += [Report(Gone(molecule)) for molecule in chosen]


def may_give(now: Now, requester: NodeId, reactions: int, chosen: tuple[MoleculeId, ...]) -> bool:
    """Keep what this node's own attempt needs, unless the requester comes first in the total order."""
    state = now.state
    if type(state.phase) is Attempt and (
        requester == now.config.node or (reactions, requester) < (state.reactions, now.config.node)
    ):
        return True
    needed = needed_here(state)
    return not any(molecule in needed for molecule in chosen)


def needed_here(state: MovingState) -> frozenset[MoleculeId]:
    """Return the molecules here that an attempt under way, or a reaction, is about."""
    phase = state.phase
    if type(phase) is Attempt:
        return frozenset((*phase.own, *phase.come))
    if type(phase) is Reacting:
        return frozenset([molecule for molecule, _ in phase.molecules])
    return frozenset()


def equal_ones(state: MovingState, take: Take) -> tuple[MoleculeId, ...]:
    """Find, for those molecules that are no longer here, equal ones; none if one is missing."""
    if not take.values:
        return ()
    kept = needed_here(state)
    chosen = [molecule for molecule in take.molecules if molecule in state.molecules]
    for molecule, value in zip(take.molecules, take.values, strict=True):
        if molecule not in state.molecules:
            # The least of them, so that equal states choose alike.
            others = [other for other, held in state.molecules.items() if held == value]
            found = min((other for other in others if other not in kept and other not in chosen), default=None)
            if found is None:
                return ()
            chosen.append(found)
    return tuple(chosen)


def on_confirmed(now: Now, confirmed: Confirmed) -> None:
    """Forget a gift that its receiver has saved; one that was sent again after a crash is confirmed again too."""
    if confirmed.gift in now.state.gifts:
        now.state.gifts = now.state.gifts.delete(confirmed.gift)
        now.save(Closed(confirmed.gift))


def give_again(now: Now, peer: NodeId | None) -> None:
    """Send gifts that are not confirmed once more: all, or those of one node."""
    for gift, (to, items) in sorted(now.state.gifts.items()):
        if peer in (None, to):
            now.send(to, Given(AttemptId(-1), gift, items))


# --------------------------------------------------------------------------------------------------- requester


def on_combination(now: Now, combination: Combination) -> None:
    """Ask the holders of a combination for it, if this node has a part of it or one node has all."""
    config, state = now.config, now.state
    holders = {holder for _, holder in combination.places}
    if not holders or (len(holders) > 1 and config.node not in holders):
        rest(now)
        return
    number = state.attempts = AttemptId(state.attempts + 1)
    own: list[MoleculeId] = []
    wanted: dict[NodeId, tuple[list[MoleculeId], list[Any]]] = {}
    values = combination.values or (None,) * len(combination.places)
    takes_own = config.is_local or holders != {config.node}
    for (molecule, holder), value in zip(combination.places, values, strict=True):
        if holder == config.node and takes_own:
            own.append(molecule)
        else:
            molecules, their = wanted.setdefault(holder, ([], []))
            molecules.append(molecule)
            their.append(value)
    attempt = state.phase = Attempt(number, combination.rule, tuple(own), tuple(wanted))
    for holder, (molecules, their) in wanted.items():
        their_values = tuple(their) if combination.values else ()
        now.send(holder, Take(number, tuple(molecules), their_values, state.reactions))
    if not wanted:
        conclude(now, attempt)


def on_given(now: Now, giver: NodeId, given: Given) -> None:
    """Take molecules in; the last answer decides."""
    state, phase = now.state, now.state.phase
    if now.config.confirm:
        key = giver, given.gift
        if key in state.got:
            now.send(giver, Confirmed(given.gift))
            return
        state.got = state.got.set(key, None)
        now.save(Got(giver, given.gift, given.molecules))
        now.send(giver, Confirmed(given.gift))
    for molecule, value in given.molecules:
        state.molecules = state.molecules.set(molecule, value)
    if type(phase) is not Attempt or phase.number != given.attempt:
        # For an attempt of an earlier life: they live here from now on.
        report_arrivals(now, given.molecules)
        wake(now)
        return
    come = (*phase.come, *[molecule for molecule, _ in given.molecules])
    on_answer(now, replace(phase, come=come), giver)


def on_refused(now: Now, holder: NodeId, refused: Refused) -> None:
    """Note that a holder contributes nothing to the attempt."""
    phase = now.state.phase
    if type(phase) is Attempt and phase.number == refused.attempt:
        on_answer(now, replace(phase, is_refused=True), holder)


def on_answer(now: Now, attempt: Attempt, holder: NodeId) -> None:
    """Wait for one holder less; the last one decides."""
    asked = tuple([node for node in attempt.asked if node != holder])
    attempt = now.state.phase = replace(attempt, asked=asked)
    if not asked:
        conclude(now, attempt)


def conclude(now: Now, attempt: Attempt) -> None:
    """Ask for the products if all is here, else search anew."""
    molecules = now.state.molecules
    parts = attempt.own + attempt.come
    items = tuple([(part, molecules[part]) for part in parts if part in molecules])
    if not attempt.is_refused and len(items) == len(parts):
        now.state.phase = Reacting(attempt.number, attempt.rule, items)
        now.effects.append(Ask(React(attempt.rule, items)))
        return
    now.report(Abandoned(attempt.rule, attempt.number))
    report_arrivals(now, tuple([(part, molecules[part]) for part in attempt.come if part in molecules]))
    discover(now)


def on_products(now: Now, values: tuple[Any, ...]) -> None:
    """Put products in the place of what reacted, and search anew."""
    state, phase = now.state, now.state.phase
    assert type(phase) is Reacting, "products answer a reaction that was asked for"
    consumed = tuple([molecule for molecule, _ in phase.molecules])
    remove(state, consumed)
    added = add(now, values)
    state.reactions += 1
    if now.config.confirm:
        now.save(Kept(consumed, added, state.reactions))
    now.report(Reacted(phase.rule, phase.number, consumed, added))
    discover(now)


# ----------------------------------------------------------------------------------------------------- program


def rewrite(now: Now, removed: tuple[MoleculeId, ...], added: tuple[Any, ...]) -> None:
    """Follow a reaction that the program made among this node's own molecules."""
    state = now.state
    assert all(molecule in state.molecules for molecule in removed), "a program rewrites what it was told of"
    if type(state.phase) is Reacting:
        assert not needed_here(state).intersection(removed), "a program leaves alone what reacts"
    remove(state, removed)
    named = add(now, added)
    state.reactions += bool(removed)
    if now.config.confirm:
        now.save(Kept(removed, named, state.reactions))
    if now.config.tell:
        now.effects += [Report(Gone(molecule)) for molecule in removed]
    report_arrivals(now, named)
    wake(now)


def remove(state: MovingState, molecules: tuple[MoleculeId, ...]) -> None:
    """Take molecules out."""
    for molecule in molecules:
        state.molecules = state.molecules.delete(molecule)


def add(now: Now, values: tuple[Any, ...]) -> Molecules:
    """Put new molecules in, each under a number never given before."""
    state = now.state
    base = (now.config.node + 1) << NODE_SHIFT
    named = tuple([(MoleculeId(base + number), value) for number, value in enumerate(values, state.made + 1)])
    for molecule, value in named:
        state.molecules = state.molecules.set(molecule, value)
    state.made += len(values)
    return named


def report_arrivals(now: Now, molecules: Molecules) -> None:
    """Report molecules that are here and free."""
    if now.config.tell:
        now.effects += [Report(Arrived(molecule, value)) for molecule, value in molecules]


def discover(now: Now) -> None:
    """Ask for a combination."""
    now.state.phase, now.state.is_woken = SEARCHING, False
    now.effects.append(Ask(Discover(now.config.rule)))


def wake(now: Now) -> None:
    """Look again, now or after what is under way."""
    if now.state.phase == IDLE:
        discover(now)
    else:
        now.state.is_woken = True


def rest(now: Now) -> None:
    """Nothing can react as far as the program knows: look again if something changed meanwhile, else rest."""
    if now.state.is_woken:
        discover(now)
        return
    now.state.phase = IDLE
    if now.config.look_again:
        now.effects.append(SetTimer(LOOK, now.config.look_again))
    else:
        now.report(Switched("idle", now.config.rule))


def on_peer_restarted(now: Now, peer: NodeId) -> None:
    """Give a restarted node its gifts again, and do not wait for answers it will never send."""
    give_again(now, peer)
    phase = now.state.phase
    if type(phase) is Attempt and peer in phase.asked:
        on_answer(now, replace(phase, is_refused=True), peer)
