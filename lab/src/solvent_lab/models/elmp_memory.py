"""Small worlds of ELMP with memory: what lies where is part of the world, and changes in steps of its own.

Processes of one host share a memory of two cells. Each cell has a version of the whole, or a part that was written
under a claim of its own. Who writes has it there when it releases. Who is entrusted with the data has it there first,
and the lock hears of it later, perhaps too late: whatever happens in between, what the token names must be there, and
so must be whatever anybody was told of when it looks.
"""

from __future__ import annotations

from dataclasses import replace as changed
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec.structs import replace

from solvent.protocols.elmp.messages import Token
from solvent.protocols.elmp.state import ENTRUSTED
from solvent.protocols.elmp.vocabulary import WHOLE, Claim, Data, Fetched, Leave, Release, Request, Source
from solvent.protocols.machine import Answered, Ask, NodeId, Report, Value
from solvent_lab.models.elmp_world import READS, SELDOM, Fetch, Seen, Use, User, elmp, observe

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from solvent.protocols.machine import Effects, Event
    from solvent_lab.checker.model import Model
    from solvent_lab.checker.world import World

Label: TypeAlias = int | tuple[NodeId, int]
"""A version of the whole; or who has written a part, and under which of its claims."""
Rows: TypeAlias = tuple[tuple[int, NodeId, Label], ...]
"""Cells, who has them, and what is there."""
_CELLS = 2
_FIRST, _SECOND = Claim(length=1), Claim(first=1, length=1)


class Touched(Value, frozen=True, gc=False):
    """Answered, and reported: a user has looked for what it was told of, and has put something into its memory."""

    told: Rows
    cells: tuple[tuple[int, Label], ...]
    #: What it tells the lock: at once, or some time later.
    wanted: Release | Fetched | None = None


class Say(Value, frozen=True, gc=False):
    """Asked of the world around: let the lock hear something; the answer comes when it does."""

    fetched: Fetched


class Remembered(Seen, frozen=True, gc=False):
    """What users have been told, what lies in the memory of each host, and what somebody has not found there."""

    memory: tuple[tuple[Label, ...], ...] = ()
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
        if isinstance(answer.wanted, Release):
            state, effects = super().step(state, Answered(answer.wanted))
            return state, (Report(answer), *effects)
        assert answer.wanted is not None
        return state, (Report(answer), Ask(Say(answer.wanted)))


def rows_of(data: Data, sources: Sequence[Source], claim: Claim) -> Rows:
    """Return what counts in each cell that is claimed, and who has it."""
    found: dict[int, tuple[NodeId, Label]] = dict.fromkeys(_cells(claim), (data.holder, data.version))
    layers = [(part.claim, part.holder, (part.writer, part.use)) for part in data.parts]
    layers += [(one.claim, one.holder, (one.holder, one.use)) for one in sources]
    for top, holder, label in layers:
        found |= {cell: (holder, label) for cell in _cells(top) if cell in found}
    return tuple((cell, *where) for cell, where in sorted(found.items()))


def _cells(claim: Claim) -> range:
    return range(claim.first, _CELLS if claim.length is None else claim.first + claim.length)


# ------------------------------------------------------------------------------------------------- the world around


def _answer(world: World, node: NodeId, question: Any, *, is_stopped: bool, is_merged: bool) -> tuple[Any, ...]:
    """Use what was granted; fetch what was entrusted, as it is, unless the token has gone on."""
    if isinstance(question, Say):
        return (question.fetched,)
    uses = world.states[node].uses
    if isinstance(question, Fetch):
        is_wanted = any(one.handle == ENTRUSTED and one.number == question.use for one in uses)
        if is_stopped and not is_wanted:
            return (None,)
        told = rows_of(question.data, question.sources, WHOLE)
        cells = tuple((cell, label) for cell, _, label in told)
        if is_merged and any(label != question.data.version for _, label in cells):
            cells = tuple((cell, question.data.version + 1) for cell, _ in cells)
        return (Touched(told, cells, Fetched(question.data.version, use=question.use)),)
    assert isinstance(question, Use)
    use = next((one for one in uses if one.handle == question.handle), None)
    if use is None or use.data is None:
        # Given up meanwhile.
        return (None,)
    told = rows_of(use.data, use.sources, use.claim)
    if use.claim.is_shared:
        return (Touched(told, tuple((cell, label) for cell, _, label in told), Release(question.handle)),)
    new: Label = use.data.version + 1 if use.claim.is_plain else (node, use.number)
    version = use.data.version + use.claim.is_plain
    cells = tuple((cell, new) for cell, _, _ in told)
    return (Touched(told, cells, Release(question.handle, Data(version, node))),)


def _observe(hosts: Sequence[int], seen: Remembered, node: NodeId, outcome: Any) -> Seen:
    if not isinstance(outcome, Touched):
        return observe(seen, node, outcome)
    missed = seen.missed or _missing(hosts, seen.memory, outcome.told)
    memory = [list(row) for row in seen.memory]
    for cell, label in outcome.cells:
        memory[hosts[node]][cell] = label
    return replace(seen, memory=tuple(map(tuple, memory)), missed=missed)


def _missing(hosts: Sequence[int], memory: tuple[tuple[Label, ...], ...], rows: Rows) -> str:
    for cell, holder, label in rows:
        found = memory[hosts[holder]][cell]
        if found != label:
            return f"{label} of cell {cell} is said to be at {holder}, and there is {found}"
    return ""


def everybody_finds_what_it_was_told_of(world: World) -> str | None:
    """Whoever looks for its data finds it where it was said to be."""
    return world.ghost.missed or None


def _there(hosts: Sequence[int]) -> Callable[[World], str | None]:
    def what_the_token_names_is_there(world: World) -> str | None:
        """What the token says of the data is true, wherever it is: also if nobody asks."""
        tokens: list[Any] = [place for state in world.states for place in state.places if place.has_token]
        tokens += [message for _, _, message in world.messages() if isinstance(message, Token)]
        for one in tokens:
            over = [entry for entry in one.active if _is_changed(world, *entry[:2])]
            rows = rows_of(one.data, [Source(*entry) for entry in over], WHOLE)
            missing = _missing(hosts, world.ghost.memory, rows)
            if missing:
                return missing
        return None

    return what_the_token_names_is_there


def _is_changed(world: World, node: NodeId, number: int) -> bool:
    return any(use.number == number and use.handle is None for use in world.states[node].uses)


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
        answers=partial(_answer, is_stopped=is_stopped, is_merged=is_merged),
        ghost=Remembered(memory=memory),
        observe=partial(_observe, hosts),
        invariants=(*model.invariants, everybody_finds_what_it_was_told_of, _there(hosts)),
    )


_PART_LEAVES = [(1, Request(claim=_FIRST)), (1, Leave())]
ONE_HOST = partial(with_memory, [*_PART_LEAVES, (0, Request())], hosts=(0, 0))
TWO_HOSTS = partial(with_memory, [*_PART_LEAVES, (2, Request())], hosts=(0, 1, 0))
BOTH_LEAVE = partial(with_memory, [(1, Leave()), (2, Request(claim=_SECOND)), (2, Leave())], hosts=(0, 1, 1), holder=1)

MEMORY: Mapping[str, Callable[[], Model]] = {
    "memory-parts": partial(ONE_HOST, title="a process that has written a part leaves, and another one claims all"),
    "memory-parts-third": partial(
        with_memory, [*_PART_LEAVES, (2, READS)], hosts=(0, 0, 0), title="the same, and a third one reads"
    ),
    "memory-hosts": partial(
        TWO_HOSTS,
        title="a process that has written a part on another host leaves while its data is fetched to a writer's host",
    ),
    "memory-hosts-parts": partial(
        BOTH_LEAVE,
        title="the process that has the data on another host leaves, and so does one that changes a part of it there",
    ),
}


__all__ = ["BOTH_LEAVE", "MEMORY", "ONE_HOST", "TWO_HOSTS", "with_memory"]
