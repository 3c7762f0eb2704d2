"""What is kept of a cell's runs: the figures of each run, and curves averaged over all of them.

A curve has a value for each step, 0 being the start. The averages are the paper's: a run that has come to its end goes
on with what it ended with, so an averaged curve ends where the slowest run does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec

from solvent_lab.simulator.capture import Setup, simulate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from solvent_lab.experiments.reproduction import Cell
    from solvent_lab.simulator.capture import Outcome

MODES = ("optimistic", "pessimistic", "dormant")
AROUND = 24
"""How many steps before and after the middle of the switch are kept."""


class Curves(NamedTuple):
    """The curves of one run, small enough to travel between processes."""

    steps: int
    messages: int
    is_finished: bool
    seconds: float
    #: For each rule, the reactions of each step.
    reactions: list[list[int]]
    #: For each of `MODES`, how many nodes are in it after each step; for each rule, how many execute it.
    modes: list[list[int]]
    rules: list[list[int]]
    #: How many nodes stop being optimistic in each step.
    switches: list[int]
    useful: list[int]
    useless: list[int]


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """A cell's runs; lists of numbers are by step, save for `useful` and `useless`, which are by cycle of 12 steps."""

    setup: Setup
    seed: int
    runs: int
    finished: int
    seconds: float
    #: For each run.
    steps: list[int]
    messages: list[int]
    #: For each run, the steps its switch took: from 5 % of all nodes being pessimistic to 95 %; none if it never did.
    switch_steps: list[int]
    #: For each run, the step in which half of the nodes were no longer optimistic.
    switch_at: list[int]
    #: How many nodes stopped being optimistic in each step, from `AROUND` steps before that one to as many after it.
    switches: list[float]
    reactions: list[list[float]]
    modes: list[list[float]]
    rules: list[list[float]]
    useful: list[float]
    useless: list[float]

    @property
    def steps_mean(self) -> float:
        """The mean over all runs."""
        return sum(self.steps) / len(self.steps)

    @property
    def messages_mean(self) -> float:
        """The mean over all runs."""
        return sum(self.messages) / len(self.messages)

    @property
    def left(self) -> list[float]:
        """The reactions left after each step, of a program whose rules make nothing."""
        left = sum(
            count // len(rule.takes) for count, rule in zip(self.setup.molecules, self.setup.program, strict=True)
        )
        return _taken_away(left, [sum(done) for done in zip(*self.reactions, strict=True)])

    @property
    def molecules(self) -> list[list[float]]:
        """For each type, how many molecules there are after each step."""
        program, start = self.setup.program, self.setup.molecules
        types = 1 + max(kind for rule in program for kind in (*rule.takes, *rule.makes))
        counts = [float(start[kind]) if kind < len(start) else 0.0 for kind in range(types)]
        curves: list[list[float]] = [[] for _ in range(types)]
        for at in range(len(self.reactions[0])):
            for rule, done in zip(program, self.reactions, strict=True):
                for kind in rule.takes:
                    counts[kind] -= done[at]
                for kind in rule.makes:
                    counts[kind] += done[at]
            for kind, count in enumerate(counts):
                # Sums of fractions may end a little off zero.
                curves[kind].append(max(0.0, round(count, 6)))
        return curves


def _taken_away(start: float, amounts: Sequence[float]) -> list[float]:
    left = []
    for amount in amounts:
        start -= amount
        left.append(max(0.0, round(start, 6)))
    return left


# ------------------------------------------------------------------------------------------------------ one run


def measure(setup: Setup, counts_messages: bool, seed: int) -> Curves:  # noqa: FBT001 - called through `partial`
    """Run once and condense what was seen."""
    return condensed(setup, simulate(setup, seed, counts_messages=counts_messages))


def condensed(setup: Setup, outcome: Outcome) -> Curves:
    """Turn what happened into curves."""
    length = outcome.steps + 1
    reactions = [[0] * length for _ in setup.program]
    for happened in outcome.happened:
        reactions[happened.rule][happened.at] += 1
    modes, rules, switches = _turns(setup, outcome, length)
    return Curves(
        outcome.steps,
        outcome.messages,
        outcome.is_finished,
        outcome.seconds,
        reactions,
        modes,
        rules,
        switches,
        outcome.useful,
        outcome.useless,
    )


def _turns(setup: Setup, outcome: Outcome, length: int) -> tuple[list[list[int]], list[list[int]], list[int]]:
    """Count, after each step, the nodes in each mode and at each rule; and in each step, those that switch."""
    mode_of = ["optimistic"] * setup.nodes
    rule_of = list(outcome.rules)
    in_mode = dict.fromkeys(MODES, 0) | {"optimistic": setup.nodes}
    at_rule = [rule_of.count(rule) for rule in range(len(setup.program))]  # type: ignore[arg-type]
    modes: list[list[int]] = [[] for _ in MODES]
    rules: list[list[int]] = [[] for _ in setup.program]
    switches = [0] * length
    turned = iter(outcome.turned)
    turn = next(turned, None)
    for at in range(length):
        before = list(mode_of) if turn is not None and turn.at <= at else []
        while turn is not None and turn.at <= at:
            in_mode[mode_of[turn.node]] -= 1
            at_rule[rule_of[turn.node]] -= 1
            mode_of[turn.node], rule_of[turn.node] = turn.mode, turn.rule
            in_mode[turn.mode] = in_mode.get(turn.mode, 0) + 1
            at_rule[turn.rule] += 1
            turn = next(turned, None)
        switches[at] = sum(old == "optimistic" != new for old, new in zip(before, mode_of, strict=False))
        for curve, mode in zip(modes, MODES, strict=True):
            curve.append(in_mode[mode])
        for curve, count in zip(rules, at_rule, strict=True):
            curve.append(count)
    return modes, rules, switches


# ---------------------------------------------------------------------------------------------------- many runs


def gathered(cell: Cell, seed: int, runs: Sequence[Curves]) -> Measured:
    """Average the curves of a cell's runs."""
    nodes = cell.setup.nodes
    switched = [_switch(nodes, run.modes[0]) for run in runs]
    return Measured(
        setup=cell.setup,
        seed=seed,
        runs=len(runs),
        finished=sum(run.is_finished for run in runs),
        seconds=round(sum(run.seconds for run in runs), 3),
        steps=[run.steps for run in runs],
        messages=[run.messages for run in runs],
        switch_steps=[end - start for start, _, end in switched if end],
        switch_at=[half for _, half, _ in switched if half],
        switches=averaged([_around(run.switches, half) for run, (_, half, _) in zip(runs, switched, strict=True)]),
        reactions=_each([run.reactions for run in runs]),
        modes=_each([run.modes for run in runs], goes_on=True),
        rules=_each([run.rules for run in runs], goes_on=True),
        useful=averaged([run.useful for run in runs]),
        useless=averaged([run.useless for run in runs]),
    )


def _switch(nodes: int, optimists: Sequence[int]) -> tuple[int, int, int]:
    """Return the last step in which 95 % are optimists, the first in which half are, the first in which 5 % are."""
    marks = [next((at for at, count in enumerate(optimists) if count <= share * nodes), 0) for share in (0.05, 0.5)]
    start = max((at for at, count in enumerate(optimists[: marks[0] or None]) if count >= 0.95 * nodes), default=0)
    return start, marks[1], marks[0]


def _around(switches: Sequence[int], half: int) -> list[int]:
    """Cut the steps around the middle of the switch out; nothing where there was none."""
    steps = range(half - AROUND, half + AROUND + 1) if half else ()
    return [switches[at] if 0 <= at < len(switches) else 0 for at in steps]


def _each(runs: Sequence[Sequence[Sequence[int]]], *, goes_on: bool = False) -> list[list[float]]:
    return [averaged([run[number] for run in runs], goes_on=goes_on) for number in range(len(runs[0]))]


def averaged(curves: Sequence[Sequence[int]], *, goes_on: bool = False) -> list[float]:
    """Average curves of different lengths; one that has ended goes on with its last value, or with zero."""
    length = max(map(len, curves))
    sums = [0] * length
    for curve in curves:
        rest = curve[-1] if goes_on and curve else 0
        for at, value in enumerate(curve):
            sums[at] += value
        for at in range(len(curve), length):
            sums[at] += rest
    return [round(total / len(curves), 4) for total in sums]


Cells: TypeAlias = Mapping[str, Measured]


def first_step(curve: Sequence[float], holds: Callable[[float], bool], *, start: int = 0) -> int:
    """Return the first step from `start` on whose value is so, or the last step."""
    return next((at for at in range(start, len(curve)) if holds(curve[at])), len(curve) - 1)
