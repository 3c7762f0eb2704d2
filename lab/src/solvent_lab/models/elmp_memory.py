"""Small worlds of ELMP with memory: what lies where is part of the world, and changes in steps of its own.

Processes of one host share a memory of two cells. Each cell has a version of the whole, or a part that was written
under a claim of its own. Whoever writes a part puts it into the memory of its own host and into that of the holder's,
and says only later that its claim is over. Whoever is entrusted with the data has it there first, and the lock hears of
it later, perhaps too late. Whatever happens in between, the memory of the holder that the token names must have what
was written last, and whoever is granted anything must find it there.
"""

from __future__ import annotations

from dataclasses import replace as changed
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec.structs import replace

from solvent.protocols.elmp.messages import Token
from solvent.protocols.elmp.state import ENTRUSTED
from solvent.protocols.elmp.vocabulary import WHOLE, Claim, Data, Fetched, Leave, Release, Request
from solvent.protocols.machine import Answered, Ask, NodeId, Report, Value
from solvent_lab.models.elmp_world import READS, SELDOM, Fetch, Seen, Use, User, elmp, observe

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from solvent.protocols.machine import Effects, Event
    from solvent_lab.checker.model import Model
    from solvent_lab.checker.world import World

Label: TypeAlias = int | tuple[NodeId, int]
"""A version of the whole; or who has written a part, and under which of its claims."""
Cells: TypeAlias = tuple[tuple[int, Label], ...]
"""Cells, and what is there."""
_CELLS = 2
_FIRST, _SECOND = Claim(length=1), Claim(first=1, length=1)


class Touched(Value, frozen=True, gc=False):
    """Answered, and reported: a user has looked for its data where that is said to be, and has put something there."""

    data: Data
    claim: Claim
    #: In whose memories it has put something, and what.
    places: tuple[NodeId, ...]
    cells: Cells
    #: What it tells the lock: at once, or some time later.
    wanted: Release | Fetched


class Say(Value, frozen=True, gc=False):
    """Asked of the world around: let the lock hear something; the answer comes when it does."""

    wanted: Release | Fetched


class Remembered(Seen, frozen=True, gc=False):
    """What users have been told, what lies in the memory of each host, and what somebody has not found there."""

    memory: tuple[tuple[Label, ...], ...] = ()
    #: What was written last.
    written: tuple[Label, ...] = ()
    missed: str = ""


class Mindful(User):
    """A process with a user that finds its data in memory, and changes it there."""

    is_late = True

    def step(self, state: Any, event: Event) -> tuple[Any, Effects]:
        """Take one event."""
        answer = event.answer if isinstance(event, Answered) else None
        if not isinstance(answer, Touched):
            # Who has been recalled does nothing, nor does who has given up.
            return (state, ()) if isinstance(event, Answered) and answer is None else super().step(state, event)
        if isinstance(answer.wanted, Release) and answer.claim.is_plain:
            state, effects = super().step(state, Answered(answer.wanted))
            return state, (Report(answer), *effects)
        return state, (Report(answer), Ask(Say(answer.wanted)))


def _cells(claim: Claim) -> range:
    return range(claim.first, _CELLS if claim.length is None else claim.first + claim.length)


# ------------------------------------------------------------------------------------------------- the world around


def _answer(
    world: World, node: NodeId, question: Any, *, hosts: Sequence[int], is_stopped: bool, is_merged: bool
) -> tuple[Any, ...]:
    """Use what was granted; fetch what was entrusted, as it is, unless the token has gone on."""
    if isinstance(question, Say):
        return (question.wanted,)
    uses = world.states[node].uses

    def there(data: Data, claim: Claim) -> Cells:
        return tuple((cell, world.ghost.memory[hosts[data.holder]][cell]) for cell in _cells(claim))

    if isinstance(question, Fetch):
        data = question.data
        is_wanted = any(one.handle == ENTRUSTED and one.number == question.use for one in uses)
        if is_stopped and not is_wanted:
            return (None,)
        cells = there(data, WHOLE)
        if is_merged and any(label != data.version for _, label in cells):
            cells = tuple((cell, data.version + 1) for cell, _ in cells)
        return (Touched(data, WHOLE, (node,), cells, Fetched(data.version, use=question.use)),)
    assert isinstance(question, Use)
    use = next((one for one in uses if one.handle == question.handle), None)
    if use is None or use.data is None:
        # Given up meanwhile.
        return (None,)
    data, claim, release = use.data, use.claim, Release(question.handle)
    if claim.is_shared:
        return (Touched(data, claim, (node,), there(data, claim), release),)
    if claim.is_plain:
        cells = tuple((cell, data.version + 1) for cell in _cells(claim))
        return (Touched(data, claim, (node,), cells, Release(question.handle, Data(data.version + 1, node))),)
    part: Cells = tuple((cell, (node, use.number)) for cell in _cells(claim))
    return (Touched(data, claim, (node, data.holder), part, release),)


def _observe(hosts: Sequence[int], seen: Remembered, node: NodeId, outcome: Any) -> Seen:
    if not isinstance(outcome, Touched):
        return observe(seen, node, outcome)
    missed = seen.missed or _missing(hosts, seen, outcome.data, _cells(outcome.claim))
    memory, written = [list(row) for row in seen.memory], list(seen.written)
    for cell, label in outcome.cells:
        for place in outcome.places:
            memory[hosts[place]][cell] = label
        if isinstance(outcome.wanted, Release) and not outcome.claim.is_shared:
            written[cell] = label
    return replace(seen, memory=tuple(map(tuple, memory)), written=tuple(written), missed=missed)


def _missing(hosts: Sequence[int], seen: Remembered, data: Data, cells: Sequence[int]) -> str:
    for cell in cells:
        found, wanted = seen.memory[hosts[data.holder]][cell], seen.written[cell]
        if found != wanted:
            return f"{wanted} of cell {cell} is said to be at {data.holder}, and there is {found}"
        if not data.has_parts and found != data.version:
            return f"no part is said to be changed, and in cell {cell} of {data.holder} is {found}"
    return ""


def everybody_finds_what_it_was_told_of(world: World) -> str | None:
    """Whoever looks for its data finds it where it was said to be."""
    return world.ghost.missed or None


def _there(hosts: Sequence[int]) -> Callable[[World], str | None]:
    def what_the_token_names_is_there(world: World) -> str | None:
        """What the token says of the data is true, wherever it is: also if nobody asks."""
        uses = [use for state in world.states for use in state.uses if use.is_held and not use.claim.is_shared]
        held = {cell for use in uses for cell in _cells(use.claim)}
        tokens: list[Any] = [place for state in world.states for place in state.places if place.has_token]
        tokens += [message for _, _, message in world.messages() if isinstance(message, Token)]
        cells = [cell for cell in range(_CELLS) if cell not in held]
        return next((wrong for one in tokens if (wrong := _missing(hosts, world.ghost, one.data, cells))), None)

    return what_the_token_names_is_there


def with_memory(
    requests: Sequence[tuple[int, Any]],
    *,
    hosts: Sequence[int],
    holder: int = 0,
    is_stopped: bool = True,
    is_merged: bool = False,
    title: str = "",
) -> Model:
    """Build a world of a root and its children, each on a host; one of them has version 1 of the data."""
    parents = (None, *(0 for _ in hosts[1:]))
    model = elmp(
        parents,
        requests,
        config=SELDOM,
        user=Mindful,
        has_data=True,
        holder=holder,
        is_in_order=False,
        title=title,
    )
    memory = tuple((int(host == hosts[holder]),) * _CELLS for host in range(max(hosts) + 1))
    return changed(
        model,
        answers=partial(_answer, hosts=hosts, is_stopped=is_stopped, is_merged=is_merged),
        ghost=Remembered(memory=memory, written=(1,) * _CELLS),
        observe=partial(_observe, hosts),
        invariants=(*model.invariants, everybody_finds_what_it_was_told_of, _there(hosts)),
    )


_PART_LEAVES = [(1, Request(claim=_FIRST)), (1, Leave())]
ONE_HOST = partial(with_memory, [*_PART_LEAVES, (0, Request())], hosts=(0, 0), holder=1)
TWO_HOSTS = partial(with_memory, [*_PART_LEAVES, (2, Request())], hosts=(0, 1, 0), holder=1)
BOTH_LEAVE = partial(with_memory, [(1, Leave()), (2, Request(claim=_SECOND)), (2, Leave())], hosts=(0, 1, 1), holder=1)

MEMORY: Mapping[str, Callable[[], Model]] = {
    "memory-parts": partial(ONE_HOST, title="who has the data writes a part and leaves, and another one claims all"),
    "memory-parts-third": partial(
        with_memory, [*_PART_LEAVES, (2, READS)], hosts=(0, 0, 0), holder=1, title="the same, and a third one reads"
    ),
    "memory-hosts": partial(
        TWO_HOSTS,
        title="the same on another host, while the data is fetched to a writer's host",
    ),
    "memory-hosts-parts": partial(
        BOTH_LEAVE,
        title="the process that has the data on another host leaves, and so does one that changes a part of it there",
    ),
}


__all__ = ["BOTH_LEAVE", "MEMORY", "ONE_HOST", "TWO_HOSTS", "with_memory"]
