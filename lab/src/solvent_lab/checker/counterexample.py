"""A violation retold: the moves that lead to it, in the names they really had, drawn as a sequence diagram.

States are stored under standard names, so a path of states does not say what happened. It is walked again from the
first world: of all moves possible in the world as it really is, the one is made that leads to the next state.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from solvent.errors import Misuse
from solvent.protocols.machine import Answered, Chosen, Report, Save
from solvent_lab.checker.moves import Kind, Label, Move
from solvent_lab.diagram import Across, Arrow, Mark, Record, draw

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from solvent_lab.checker.moves import Moves
    from solvent_lab.checker.packed_worlds import Row
    from solvent_lab.checker.world import World


Part: TypeAlias = tuple[str, tuple[int, ...]]
"""A caption, and the states that the moves under it lead to."""


@dataclass(frozen=True)
class Counterexample:
    """What happened, move by move."""

    names: tuple[str, ...]
    records: tuple[Record, ...]
    #: The class of each move.
    labels: tuple[Label, ...]
    #: The world in which it ended.
    last: World | None

    def __len__(self) -> int:
        return len(self.labels)

    def drawn(self, *, width: int = 100) -> str:
        """Draw it as a sequence diagram."""
        return draw(self.names, self.records, width=width)


def retrace(
    moves: Moves, find: Callable[[Row], int], path: Sequence[int], *, parts: Sequence[Part] = (), failing: int = -1
) -> Counterexample:
    """Walk along a path of states, then along each part, then make the failing move of this class, if there is one."""
    names = tuple(moves.name(node) for node in range(len(moves.model.machines)))
    row, failure = moves.first()
    teller = _Teller(moves)
    if failure:
        return Counterexample(names, (), (), None)
    teller.begin(row)
    for caption, states in (("", path[1:]), *parts):
        if caption:
            teller.say(f"{caption}:" if states else caption)
        for state in states:
            move = next((one for one in moves.moves(row) if one.row and find(tuple(one.row)) == state), None)
            if move is None:
                message = "worlds that the model takes for the same, but for names, do not behave alike"
                raise Misuse("P313", message, hint="look at `canonical`")
            teller.tell(row, move)
            row = tuple(move.row)
    last = moves.packing.world(row)
    if failing >= 0:
        teller.tell(row, next(one for one in moves.moves(row) if not one.row and one.label == failing))
    teller.tell_under_way()
    return Counterexample(names, tuple(teller.records), tuple(teller.labels), last)


class _Teller:
    """Turns moves into records of a diagram."""

    def __init__(self, moves: Moves) -> None:
        self.records: list[Record] = []
        self.labels: list[Label] = []
        self._moves = moves
        self._count = len(moves.model.machines)
        #: For each channel the messages under way and the numbers of the moves that sent them.
        self._sent: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)

    def begin(self, row: Row) -> None:
        """Remember what is under way from the beginning."""
        for slot in range(self._count * self._count):
            for item in self._moves.packing.queues.contents[row[self._count + slot]]:
                self._sent[slot].append((item, 0))

    def say(self, text: str) -> None:
        """Add a line about all nodes."""
        self.records.append(Across(text))

    def tell(self, row: Row, move: Move) -> None:
        """Retell a move made in a world."""
        label = self._moves.labels[move.label]
        self.labels.append(label)
        number = len(self.labels)
        self._tell_event(row, move, label, number)
        outcome = move.outcome
        if outcome is not None:
            for effect in outcome.effects:
                if isinstance(effect, Report):
                    self.records.append(Mark(label.node, f"reports {effect.outcome!r}"))
                elif isinstance(effect, Save) and self._moves.model.crashes.count:
                    self.records.append(Mark(label.node, f"saves {effect.record!r}"))
            if outcome.failure:
                self.records.append(Mark(label.node, f"fails: {outcome.failure}", sign="!"))
        if move.row:
            self._note_sent(move, number)

    def _tell_event(self, row: Row, move: Move, label: Label, number: int) -> None:
        node, moves = label.node, self._moves
        match label.kind:
            case Kind.DELIVER | Kind.LOSE | Kind.DOUBLE:
                self._tell_message(row, move, label, number)
            case Kind.TIMER:
                self.records.append(Mark(node, f"timer {label.timer}", number=number))
            case Kind.REQUEST:
                event: Any = moves.events[move.subject]
                self.records.append(Mark(node, f"request {event.request!r}", number=number))
            case Kind.ANSWER:
                event = moves.events[move.subject]
                question = moves.packing.locals[row[node]].questions[0]
                if isinstance(event, Chosen):
                    text = f"chooses {event.option} of {question.options}"
                else:
                    assert isinstance(event, Answered)
                    text = f"asks {question.question!r}: {event.answer!r}"
                self.records.append(Mark(node, text, number=number, sign="?"))
            case Kind.GO_ON:
                self.records.append(Mark(node, "goes on", number=number))
            case Kind.CRASH:
                self.records.append(Mark(node, "crashes", number=number, sign="X", ends=True))
            case Kind.START:
                life = moves.packing.locals[row[node]].life + 1
                self.records.append(Mark(node, f"starts again, life {life}", number=number, sign="O", begins=True))

    def _tell_message(self, row: Row, move: Move, label: Label, number: int) -> None:
        moves = self._moves
        slot = label.sender * self._count + label.node
        item = move.subject
        if label.kind is Kind.DELIVER:
            fronts = moves.packing.queues.fronts[row[self._count + slot]]
            item = next(one for one in fronts if moves.event_of(label.sender, one) == move.subject)
        text = repr(moves.packing.queues.items[item])
        if label.kind is Kind.DOUBLE:
            self.records.append(Mark(label.sender, f"doubled: {text} to {moves.name(label.node)}", number=number))
            return
        under_way = self._sent[slot]
        place = next(index for index, one in enumerate(under_way) if one[0] == item)
        _, sent = under_way.pop(place)
        is_lost = label.kind is Kind.LOSE
        self.records.append(Arrow(label.sender, label.node, text, number=number, sent=sent, is_lost=is_lost))

    def _note_sent(self, move: Move, number: int) -> None:
        """Bring what is under way up to date with the world after the move."""
        contents = self._moves.packing.queues.contents
        for slot in range(self._count * self._count):
            now = list(contents[move.row[self._count + slot]])
            kept: list[tuple[int, int]] = []
            for item, sent in self._sent[slot]:
                if item in now:
                    now.remove(item)
                    kept.append((item, sent))
            self._sent[slot] = kept + [(item, number) for item in now]

    def tell_under_way(self) -> None:
        """Add what has not arrived."""
        for slot, under_way in self._sent.items():
            sender, to = (self._moves.name(node) for node in divmod(slot, self._count))
            for item, sent in under_way:
                what = self._moves.packing.queues.items[item]
                self.say(f"under way from {sender} to {to}: {what!r}" + (f" ({sent})" if sent else ""))


__all__ = ["Counterexample", "Part", "retrace"]
