"""What one event does to one node: the machine's step, and its effects on the node itself.

The same event meets the same node as it stands many thousand times, in worlds that differ elsewhere. So outcomes are
computed once for each pair and kept; this is what makes the checker fast whatever the machine costs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, assert_never

import msgspec

from solvent.protocols.machine import (
    Answered,
    Ask,
    CancelTimer,
    Choose,
    Chosen,
    Effects,
    PeerRestarted,
    Received,
    Report,
    Requested,
    Save,
    Send,
    SetTimer,
    TimerFired,
)
from solvent_lab.checker.world import Local

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.protocols.machine import Event
    from solvent_lab.checker.model import Model
    from solvent_lab.checker.packed_worlds import Packing


class Outcome(NamedTuple):
    """What came of an event at a node."""

    #: The number of the node as it stands now; -1 where the machine failed.
    local: int
    #: Recipients and numbers of messages, in order.
    sends: tuple[tuple[int, int], ...] = ()
    reports: tuple[Any, ...] = ()
    #: The number of `reports`; 0 for none.
    reports_number: int = 0
    #: What was carried out, for people.
    effects: Effects = ()
    #: What the machine raised.
    failure: str = ""


class Steps:
    """Runs machines, each step once."""

    def __init__(self, model: Model, packing: Packing) -> None:
        self._machines = model.machines
        self._nodes_count = len(model.machines)
        self._packing = packing
        self._reports: dict[tuple[Any, ...], int] = {(): 0}
        self._known: dict[tuple[int, int, bool], Outcome] = {}
        self._continued: dict[tuple[int, bool], Outcome] = {}
        self._started: dict[tuple[int, int, bool], Outcome] = {}

    def take(self, node: int, local: int, event: int, value: Event, *, is_split: bool) -> Outcome:
        """Let a node take an event, `event` being its number; with `is_split` it may crash among the effects."""
        key = (local * self._nodes_count + node, event, is_split)
        known = self._known.get(key)
        if known is None:
            before = _without(self._packing.locals[local], value)
            machine = self._machines[node]
            known = self._known[key] = self._done(before, lambda: machine.step(before.state, value), is_split=is_split)
        return known

    def start(self, node: int, local: int, *, is_split: bool) -> Outcome:
        """Start a node that is down."""
        key = (node, local, is_split)
        known = self._started.get(key)
        if known is None:
            down = self._packing.locals[local]
            machine = self._machines[node]
            up = Local(None, saved=down.saved, life=down.life + 1)
            known = self._started[key] = self._done(up, lambda: machine.start(up.saved, up.life), is_split=is_split)
        return known

    def begin(self, node: int) -> Outcome:
        """Start a node for the first time."""
        machine = self._machines[node]
        return self._done(Local(None), machine.start, is_split=False)

    def go_on(self, local: int, *, is_split: bool) -> Outcome:
        """Carry out effects that were left."""
        key = (local, is_split)
        known = self._continued.get(key)
        if known is None:
            before = self._packing.locals[local]
            rest = msgspec.structs.replace(before, unfinished=())
            known = self._continued[key] = self._carried_out(rest, before.unfinished, is_split=is_split)
        return known

    def _done(self, before: Local, run: Callable[[], tuple[Any, Effects]], *, is_split: bool) -> Outcome:
        try:
            state, effects = run()
        except Exception as error:  # noqa: BLE001 - whatever a machine raises is what the checker is to find
            return Outcome(-1, failure=f"{type(error).__name__}: {error}".rstrip(": "))
        after = msgspec.structs.replace(before, state=state)
        return self._carried_out(after, tuple(effects), is_split=is_split)

    def _carried_out(self, local: Local, effects: Effects, *, is_split: bool) -> Outcome:
        timers, questions, saved = set(local.timers), list(local.questions), list(local.saved)
        sends: list[tuple[int, int]] = []
        reports: list[Any] = []
        unfinished: Effects = ()
        for place, effect in enumerate(effects):
            if is_split and place and isinstance(effect, Save | Report):
                effects, unfinished = effects[:place], effects[place:]
                break
            match effect:
                case Send(to, message):
                    sends.append((to, self._packing.queues.items.number(message)))
                case SetTimer(name):
                    timers.add(name)
                case CancelTimer(name):
                    timers.discard(name)
                case Save(record):
                    saved.append(record)
                case Ask() | Choose():
                    questions.append(effect)
                case Report(outcome):
                    reports.append(outcome)
                case _:
                    assert_never(effect)
        after = msgspec.structs.replace(
            local,
            timers=tuple(sorted(timers)),
            questions=tuple(questions),
            saved=tuple(saved),
            unfinished=unfinished,
        )
        number = self._reports.setdefault(tuple(reports), len(self._reports))
        return Outcome(self._packing.locals.number(after), tuple(sends), tuple(reports), number, effects)


def _without(local: Local, event: Event) -> Local:
    """Take away what the event uses up."""
    match event:
        case TimerFired(name):
            return msgspec.structs.replace(local, timers=tuple(one for one in local.timers if one != name))
        case Answered() | Chosen():
            return msgspec.structs.replace(local, questions=local.questions[1:])
        case Received() | Requested() | PeerRestarted():
            return local
        case _:
            assert_never(event)


__all__ = ["Outcome", "Steps"]
