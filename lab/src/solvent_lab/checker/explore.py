"""Tries every order of events of a model, breadth first, and reports what does not hold.

Breadth first, because then the first violation found has the shortest way to it. Invariants are looked at in every
new state; a state in which one is broken ends the search. When all states are known and nothing was broken, dead ends
and livelocks are sought in the `graph`.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from solvent_lab.checker.counterexample import Counterexample, retrace
from solvent_lab.checker.graph import Graph, dead_end, livelock
from solvent_lab.checker.moves import Moves
from solvent_lab.checker.small_numbers import Renumbering

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from solvent_lab.checker.counterexample import Part
    from solvent_lab.checker.model import Model
    from solvent_lab.checker.packed_worlds import Row

MAX_STATES = 1_000_000
"""How many states are looked at unless told otherwise."""

NO_FAILURE = "no machine fails"
GOAL = "a goal can always be reached"
PROGRESS = "every fair run makes progress or reaches a goal"
"""What must hold of every model that has machines, and of one that has a goal."""

_STOP_ASKED_EVERY = 1024


class Verdict(StrEnum):
    """How a check ended."""

    HOLDS = "holds"
    VIOLATED = "violated"
    #: Not all states were seen, and nothing wrong was found in those that were.
    LIMIT_REACHED = "limit reached"


@dataclass(frozen=True)
class Violation:
    """A property that does not hold, and the shortest way to see it."""

    property: str
    message: str
    trace: Counterexample


@dataclass(frozen=True)
class Result:
    """What a check found."""

    verdict: Verdict
    states: int
    transitions: int
    #: How many moves the farthest state is away.
    depth: int
    violations: tuple[Violation, ...]
    seconds: float


def check(model: Model, *, max_states: int = MAX_STATES, should_stop: Callable[[int], bool] | None = None) -> Result:
    """Try every order of events of a model; `should_stop(states)` is called now and then."""
    started = time.perf_counter()
    with ExitStack() as applied:
        for variant in model.variants:
            applied.enter_context(variant.applied())
        search = _Search(model, max_states, should_stop)
        verdict = search.run()
        if verdict is Verdict.HOLDS and model.goal is not None:
            search.look_for_traps()
        violations = tuple(search.retraced())
    graph = search.graph
    return Result(
        verdict=Verdict.VIOLATED if violations else verdict,
        states=len(graph),
        transitions=len(graph.targets),
        depth=graph.depths[-1] if len(graph) else 0,
        violations=violations,
        seconds=time.perf_counter() - started,
    )


@dataclass(frozen=True)
class _Found:
    """A violation by the numbers of states."""

    property: str
    message: str
    state: int
    #: The class of the move from there in which a machine fails.
    failing: int = -1
    parts: tuple[Part, ...] = ()


class _Search:
    def __init__(self, model: Model, max_states: int, should_stop: Callable[[int], bool] | None) -> None:
        self.model = model
        self.moves = Moves(model)
        self.graph = Graph()
        self.violations: list[_Found] = []
        self._max_states = max_states
        self._should_stop = should_stop
        self._known: dict[bytes, int] = {}
        # Rows as they came about, before renaming: renaming costs far more than remembering.
        self._renamed: dict[bytes, int] = {}
        self._renumbered: Callable[[Row], Row] | None = None
        if isinstance(model.canonical, Renumbering):
            self._renumbered = model.canonical.on_rows(self.moves.packing)
        self._has_names = model.canonical is not None
        self._measures: dict[int, int] = {}
        self._measure_numbers: dict[object, int] = {}

    # ---------------------------------------------------------------------------------------------- states

    def run(self) -> Verdict:
        """Find all states."""
        row, failure = self.moves.first()
        if failure:
            self._violated(NO_FAILURE, failure, 0)
            return Verdict.VIOLATED
        self.state_of(row, 0)
        state = 0
        while state < len(self.graph):
            if self.violations:
                return Verdict.VIOLATED
            is_interrupted = (
                self._should_stop is not None and not state % _STOP_ASKED_EVERY and self._should_stop(len(self.graph))
            )
            if is_interrupted or len(self.graph) >= self._max_states:
                return Verdict.LIMIT_REACHED
            self._expand(state)
            state += 1
        self.graph.begins.append(len(self.graph.targets))
        return Verdict.VIOLATED if self.violations else Verdict.HOLDS

    def _expand(self, state: int) -> None:
        graph, packing = self.graph, self.moves.packing
        graph.begins.append(len(graph.targets))
        row = packing.row_from_bytes(graph.rows[state])
        ghost_at = packing.ghost_at
        before = row[ghost_at]
        for move in self.moves.moves(row):
            if not move.row:
                assert move.outcome is not None
                self._violated(NO_FAILURE, move.outcome.failure, state, failing=move.label)
                return
            after = move.row[ghost_at]
            is_progress = after != before and self._measure(after) != self._measure(before)
            graph.targets.append(self.state_of(move.row, state))
            graph.marks.append(move.label * 2 + is_progress)
            if self.violations:
                return

    def state_of(self, row: Row | list[int], parent: int) -> int:
        """Return the number of a row's state; a new one if it has not been seen."""
        packed = self.moves.packing.bytes_from_row(*row)
        if not self._has_names:
            known = self._known.get(packed)
            return known if known is not None else self._added(packed, parent)
        known = self._renamed.get(packed)
        if known is None:
            standard = self._standard(tuple(row))
            known = self._known.get(standard)
            if known is None:
                known = self._added(standard, parent)
            self._renamed[packed] = known
        return known

    def _standard(self, row: Row) -> bytes:
        """Return the row that stands for all rows that differ from this one in names only."""
        packing = self.moves.packing
        if self._renumbered is not None:
            row = self._renumbered(row)
        elif self.model.canonical is not None:
            row = packing.row(self.model.canonical(packing.world(row)))
        return packing.bytes_from_row(*row)

    def _added(self, packed: bytes, parent: int) -> int:
        world = self.moves.packing.world(self.moves.packing.row_from_bytes(packed))
        goal = self.model.goal
        number = self._known[packed] = self.graph.add(packed, parent, is_goal=goal is not None and goal(world))
        for invariant in self.model.invariants:
            said = invariant(world)
            if said is None or said is True:
                continue
            self._violated(sentence(invariant.__name__), said if isinstance(said, str) else "", number)
            break
        return number

    def _measure(self, ghost: int) -> int:
        """Return what stands for the progress made, by the ghost's number."""
        if self.model.progress is None:
            return ghost
        known = self._measures.get(ghost)
        if known is None:
            measure = self.model.progress(self.moves.packing.ghosts[ghost])
            known = self._measures[ghost] = self._measure_numbers.setdefault(measure, len(self._measure_numbers))
        return known

    # ------------------------------------------------------------------------------------------ violations

    def look_for_traps(self) -> None:
        """Look for states from which no goal can be reached, and fair runs that never get anywhere."""
        labels = self.moves.labels.values
        trap = dead_end(self.graph, labels)
        if trap is not None:
            message = "nothing can happen any more"
            parts: list[Part] = []
            if trap.way or trap.loop:
                parts.append(("from here on no goal can be reached", trap.way))
            if trap.loop:
                message = "whatever happens leads to no goal"
                parts.append(("and this can go on for ever", trap.loop))
            self._violated(GOAL, message, trap.state, parts=tuple(parts))
            return
        if not self.model.has_no_livelock:
            return
        lasso = livelock(self.graph, labels, self._possible, fair_choices=self.model.fair_choices)
        if lasso is not None:
            message = "this goes on for ever, fairly, and gets nowhere"
            parts = [("from here on, again and again", lasso.path[1:])]
            self._violated(PROGRESS, message, lasso.path[0], parts=tuple(parts))

    def _possible(self, state: int) -> set[int]:
        return self.moves.possible(self.moves.packing.row_from_bytes(self.graph.rows[state]))

    def _violated(
        self, name: str, message: str, state: int, *, failing: int = -1, parts: tuple[Part, ...] = ()
    ) -> None:
        self.violations.append(_Found(name, message, state, failing, parts))

    def retraced(self) -> Iterator[Violation]:
        """Yield what was found, with the way to it."""
        for one in self.violations:
            path = self.graph.path_to(one.state) if len(self.graph) else []
            trace = retrace(self.moves, self._find, path, parts=one.parts, failing=one.failing)
            yield Violation(one.property, one.message, trace)

    def _find(self, row: Row) -> int:
        """Return the number of a row's state, or -1 if it was not reached."""
        packed = self._standard(row) if self._has_names else self.moves.packing.bytes_from_row(*row)
        return self._known.get(packed, -1)


def sentence(name: str) -> str:
    """Return the sentence that a function is named after."""
    return name.strip("_").replace("_", " ")


__all__ = ["GOAL", "MAX_STATES", "NO_FAILURE", "PROGRESS", "Result", "Verdict", "Violation", "check", "sentence"]
