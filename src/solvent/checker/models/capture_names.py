"""Standard names in worlds of capture: numbers of attempts and gifts, of which only the order matters.

Attempts are numbered upwards for ever, so a run that goes round in a circle would never come back to a world it has
been in. Here each requester's attempts that anybody still knows of are renumbered from one, in order; likewise a
node's gifts. What was saved becomes the fewest records that say the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from immutables import Map
from msgspec.structs import replace

from solvent.protocols.capture.messages import CaptureMessage, Doubt, RespMolecule, RespOk, RespRemoved, RespTaken
from solvent.protocols.capture.moving_recovery import compacted as moving_compacted
from solvent.protocols.capture.moving_state import Closed, Confirmed, Gave, Given, Got, MovingState, Refused, Take
from solvent.protocols.capture.records import Consumed, Lent
from solvent.protocols.capture.recovery import compacted
from solvent.protocols.capture.state import CaptureState, Hold, Holding
from solvent.protocols.capture.vocabulary import Abandoned, Reacted
from solvent.protocols.machine import Report, Save, Send

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.checker.world import Local, World

_REPLIES = (RespOk, RespTaken, RespRemoved, RespMolecule, Doubt)


class _Names:
    """Collects numbers by the node that gave them, then gives each its rank."""

    def __init__(self) -> None:
        self.seen: dict[int, set[int]] = {}
        self.ranks: dict[int, dict[int, int]] = {}

    def note(self, node: int, number: int) -> int:
        if number >= 0:
            self.seen.setdefault(node, set()).add(number)
        return number

    @property
    def are_standard(self) -> bool:
        """Whether every node's numbers run from one without a gap, so that nothing need be renamed."""
        return all(max(seen) == len(seen) and 0 not in seen for seen in self.seen.values())

    def close(self) -> None:
        self.ranks = {node: {old: new for new, old in enumerate(sorted(seen), 1)} for node, seen in self.seen.items()}

    def rank(self, node: int, number: int) -> int:
        return self.ranks[node][number] if number >= 0 else number

    def last(self, node: int) -> int:
        return len(self.seen.get(node, ()))


def canonical_adaptive(world: World, configs: tuple[Any, ...]) -> World:
    """Give a world of the paper's protocol its standard names."""
    saved = [
        compacted(config, node.saved) if node.saved else () for config, node in zip(configs, world.nodes, strict=True)
    ]
    names = _Names()
    _note_adaptive(world, saved, names)
    is_standard = names.are_standard and all(
        local.saved == saved[node]
        and (local.state is None or (local.state.attempts == names.last(node) and _has_firsts(local.state)))
        for node, local in enumerate(world.nodes)
    )
    if is_standard:
        return world
    names.close()
    return _adaptive(world, saved, names.rank, names.last)


def _has_firsts(state: CaptureState) -> bool:
    return all(holding.first is not None for holding in state.molecules.values() if holding.queue)


def _note_adaptive(world: World, saved: list[tuple[Any, ...]], names: _Names) -> None:
    """Collect every number of an attempt that anybody knows."""
    count = len(world.nodes)
    note = names.note
    for slot, items in enumerate(world.channels):
        if items:
            sender, to = divmod(slot, count)
            for item in items:
                if isinstance(item, CaptureMessage):
                    note(to if isinstance(item, _REPLIES) else sender, item.attempt)
    for node, local in enumerate(world.nodes):
        for record in saved[node]:
            _adaptive_record(record, node, note)
        for effect in local.unfinished:
            _adaptive_effect(effect, node, note)
        state = local.state
        if state is None:
            continue
        number = getattr(state.phase, "number", None)
        if number is not None:
            note(node, number)
        for attempt in state.reacted:
            note(node, attempt)
        for holding in state.molecules.values():
            if holding.hold is not None:
                note(holding.hold.requester, holding.hold.attempt)
            for claims in (holding.queue, holding.waiting):
                for claim in claims.values():
                    note(claim.requester, claim.attempt)


def _adaptive(
    world: World, saved: list[tuple[Any, ...]], name: Callable[[int, int], int], last: Callable[[int], int]
) -> World:
    """Walk through a world and put `name(requester, attempt)` for every attempt."""
    count = len(world.nodes)
    nodes = tuple(_adaptive_node(node, local, saved[node], name, last) for node, local in enumerate(world.nodes))
    channels = []
    for slot, items in enumerate(world.channels):
        sender, to = divmod(slot, count)
        channels.append(tuple(_adaptive_message(item, sender, to, name) for item in items))
    return replace(world, nodes=nodes, channels=tuple(channels))


def _adaptive_message(item: Any, sender: int, to: int, name: Callable[[int, int], int]) -> Any:
    if not isinstance(item, CaptureMessage):
        return item
    return replace(item, attempt=name(to if isinstance(item, _REPLIES) else sender, item.attempt))


def _adaptive_node(
    node: int,
    local: Local,
    saved: tuple[Any, ...],
    name: Callable[[int, int], int],
    last: Callable[[int], int],
) -> Local:
    records = tuple(_adaptive_record(record, node, name) for record in saved)
    effects = tuple(_adaptive_effect(effect, node, name) for effect in local.unfinished)
    state = local.state
    if isinstance(state, CaptureState):
        phase = state.phase
        if hasattr(phase, "number"):
            phase = replace(phase, number=name(node, phase.number))
        molecules = Map({item: _holding(holding, name) for item, holding in state.molecules.items()})
        reacted = Map({name(node, attempt): None for attempt in state.reacted})
        state = replace(state, phase=phase, molecules=molecules, reacted=reacted, attempts=last(node))
    return replace(local, state=state, saved=records, unfinished=effects)


def _adaptive_effect(effect: Any, node: int, name: Callable[[int, int], int]) -> Any:
    match effect:
        case Send(to, message):
            return Send(to, _adaptive_message(message, node, to, name))
        case Save(record):
            return Save(_adaptive_record(record, node, name))
        case Report(Reacted() | Abandoned() as outcome):
            return Report(replace(outcome, attempt=name(node, outcome.attempt)))
    return effect


def _adaptive_record(record: Any, node: int, name: Callable[[int, int], int]) -> Any:
    if isinstance(record, Lent):
        return replace(record, attempt=name(record.requester, record.attempt))
    if isinstance(record, Consumed):
        return replace(record, attempt=name(node, record.attempt))
    return record


def _holding(holding: Holding, name: Callable[[int, int], int]) -> Holding:
    def claim(old: Any) -> Any:
        return old._replace(attempt=name(old.requester, old.attempt))

    hold: Hold | None = holding.hold
    if hold is not None:
        named = claim(hold.claim) if hold.claim is not None else None
        hold = Hold(hold.requester, name(hold.requester, hold.attempt), hold.is_lent, named)  # type: ignore[arg-type]
    queue = Map({node: claim(old) for node, old in holding.queue.items()})
    waiting = Map({node: claim(old) for node, old in holding.waiting.items()})
    # Whether the first of a queue has been worked out already makes no difference.
    return Holding(holding.value, hold, queue, waiting, min(queue.values(), default=None))


# -------------------------------------------------------------------------------------------------- by moving


def canonical_moving(world: World, configs: tuple[Any, ...]) -> World:
    """Give a world of capture by moving its standard names."""
    saved = [
        moving_compacted(config, node.saved) if node.saved else ()
        for config, node in zip(configs, world.nodes, strict=True)
    ]
    attempts, gifts = _Names(), _Names()
    known = _known_gifts(world, saved)
    _note_moving(world, saved, known, (attempts, gifts))
    is_standard = (
        attempts.are_standard
        and gifts.are_standard
        and all(
            local.saved == saved[node]
            and (
                local.state is None
                or (
                    local.state.attempts == attempts.last(node)
                    and local.state.given == gifts.last(node)
                    and all(key in known for key in local.state.got)
                )
            )
            for node, local in enumerate(world.nodes)
        )
    )
    if is_standard and not any(type(record) is Got for records in saved for record in records):
        return world
    attempts.close()
    gifts.close()
    return _moving(world, saved, known, (attempts.rank, gifts.rank), (attempts.last, gifts.last))


def _note_moving(
    world: World, saved: list[tuple[Any, ...]], known: set[tuple[int, int]], names: tuple[_Names, _Names]
) -> None:
    """Collect every number of an attempt or a gift that anybody knows."""
    attempts, gifts = names
    pair = (attempts.note, gifts.note)
    for sender, to, item in world.messages():
        _moving_message(item, sender, to, pair)
    for giver, gift in known:
        gifts.note(giver, gift)
    for node, local in enumerate(world.nodes):
        for effect in local.unfinished:
            _moving_effect(effect, node, pair)
        state = local.state
        if state is not None:
            number = getattr(state.phase, "number", None)
            if number is not None:
                attempts.note(node, number)
            for gift in state.gifts:
                gifts.note(node, gift)
        for record in saved[node]:
            if type(record) is Gave:
                gifts.note(node, record.gift)


def _known_gifts(world: World, saved: list[tuple[Any, ...]]) -> set[tuple[int, int]]:
    """Give the gifts that can still arrive again; whether others were got makes no difference."""
    known = {
        (node, gift)
        for node, local in enumerate(world.nodes)
        if isinstance(local.state, MovingState)
        for gift in local.state.gifts
    }
    known |= {(node, record.gift) for node, records in enumerate(saved) for record in records if type(record) is Gave}
    known |= {(sender, item.gift) for sender, _, item in world.messages() if type(item) is Given}
    known |= {
        (node, effect.message.gift)
        for node, local in enumerate(world.nodes)
        for effect in local.unfinished
        if isinstance(effect, Send) and isinstance(effect.message, Given)
    }
    return known


_Pair = tuple["Callable[[int, int], int]", "Callable[[int, int], int]"]


def _moving(
    world: World,
    saved: list[tuple[Any, ...]],
    known: set[tuple[int, int]],
    name: _Pair,
    last: tuple[Callable[[int], int], Callable[[int], int]],
) -> World:
    count = len(world.nodes)
    nodes = tuple(_moving_node(node, local, saved[node], known, name, last) for node, local in enumerate(world.nodes))
    channels = []
    for slot, items in enumerate(world.channels):
        sender, to = divmod(slot, count)
        channels.append(tuple(_moving_message(item, sender, to, name) for item in items))
    return replace(world, nodes=nodes, channels=tuple(channels))


def _moving_message(item: Any, sender: int, to: int, name: _Pair) -> Any:
    attempt, gift = name
    if type(item) is Take:
        return replace(item, attempt=attempt(sender, item.attempt))
    if type(item) is Refused:
        return replace(item, attempt=attempt(to, item.attempt))
    if type(item) is Given:
        return replace(item, attempt=attempt(to, item.attempt), gift=gift(sender, item.gift))
    if type(item) is Confirmed:
        return replace(item, gift=gift(to, item.gift))
    return item


def _moving_node(  # noqa: PLR0917 - called once, from the loop above
    node: int,
    local: Local,
    saved: tuple[Any, ...],
    known: set[tuple[int, int]],
    name: _Pair,
    last: tuple[Callable[[int], int], Callable[[int], int]],
) -> Local:
    attempt, gift = name
    records: list[Any] = []
    for record in saved:
        if type(record) is Gave:
            records.append(replace(record, gift=gift(node, record.gift)))
        elif type(record) is Got:
            if (record.giver, record.gift) in known:
                records.append(replace(record, gift=gift(record.giver, record.gift)))
        else:
            records.append(record)
    effects = tuple(_moving_effect(effect, node, name) for effect in local.unfinished)
    state = local.state
    if isinstance(state, MovingState):
        phase = state.phase
        if hasattr(phase, "number"):
            phase = replace(phase, number=attempt(node, phase.number))
        state = replace(
            state,
            phase=phase,
            gifts=Map({gift(node, number): value for number, value in state.gifts.items()}),
            got=Map({(giver, gift(giver, one)): None for giver, one in state.got if (giver, one) in known}),
            attempts=last[0](node),
            given=last[1](node),
        )
    return replace(local, state=state, saved=tuple(records), unfinished=effects)


def _moving_effect(effect: Any, node: int, name: _Pair) -> Any:
    attempt, gift = name
    match effect:
        case Send(to, message):
            return Send(to, _moving_message(message, node, to, name))
        case Save(Gave() | Closed() as record):
            return Save(replace(record, gift=gift(node, record.gift)))
        case Save(Got() as record):
            return Save(replace(record, gift=gift(record.giver, record.gift)))
        case Report(Reacted() | Abandoned() as outcome):
            return Report(replace(outcome, attempt=attempt(node, outcome.attempt)))
    return effect
