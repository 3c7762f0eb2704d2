"""What the paper says of programs of several rules (experiments 5 to 8), and how it is measured.

Most of it is about when something happens and how many nodes take part, read from curves averaged over all runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent_lab.experiments.capture.measurement import first_step
from solvent_lab.experiments.claims import Statement, Verdict, percent, unless, within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solvent_lab.experiments.capture.measurement import Cells, Measured


def statements() -> list[Statement]:
    """Return all statements about several rules."""
    return [*_independent(), *_dependent(), *_circular(), *_workflow()]


def _decline(measured: Measured) -> int:
    """Return the step in which the number of optimists has begun to fall."""
    return first_step(measured.modes[0], lambda count: count < 0.95 * measured.setup.nodes)


def _last_step_with(measured: Measured, share: float) -> int:
    """Return the last step in which so many of the nodes are optimistic."""
    least = share * measured.setup.nodes
    return max(at for at, count in enumerate(measured.modes[0]) if count >= least)


def _dominant(measured: Measured) -> list[tuple[int, int]]:
    """Return the rules that most nodes execute, one after the other, each with the step from which on it is so.

    A rule that leads for less than five steps, or by less than a tenth of the nodes, does not count.
    """
    found: list[tuple[int, int]] = []
    rules, margin = measured.rules, 0.1 * measured.setup.nodes
    since: tuple[int, int] | None = None
    for at in range(len(rules[0])):
        counts = sorted(((curve[at], rule) for rule, curve in enumerate(rules)), reverse=True)
        leader = counts[0][1] if counts[0][0] - counts[1][0] >= margin else None
        if leader is None:
            since = None
        elif since is None or since[0] != leader:
            since = (leader, at)
        elif at - since[1] == 4 and (not found or found[-1][0] != leader):
            found.append(since)
    return found


def _sequence(dominant: Sequence[tuple[int, int]], *, most: int = 8) -> str:
    says = ", ".join(f"R{rule} from {at}" for rule, at in dominant[:most])
    return says + (", ..." if len(dominant) > most else "")


def _at_end(measured: Measured) -> str:
    _, awake, asleep = (curve[-1] for curve in measured.modes)
    counts = ", ".join(f"R{rule}: {curve[-1]:.0f}" for rule, curve in enumerate(measured.rules))
    return f"{counts}; {awake:.0f} pessimistic, {asleep:.0f} dormant"


# ------------------------------------------------------------------------------------------------ experiment 5


def _independent() -> list[Statement]:
    one = ("independent",)
    return [
        Statement((5, 15), "an equal number of nodes executes each rule", one, _equal_shares),
        Statement((5, 15), "optimists start to decline around step 75", one, _decline_at_75),
        Statement((5, 15), "nodes start to change rules then", one, _changes_then),
        Statement((5, 15), "there are optimists throughout the execution", one, _optimists_throughout),
    ]


def _equal_shares(cells: Cells) -> Verdict:
    measured = cells["independent"]
    third = measured.setup.nodes / 3
    before = [abs(curve[at] - third) for curve in measured.rules for at in range(_decline(measured))]
    after = [abs(count - third) for curve in measured.rules for count in curve[_decline(measured) :]]
    says = f"within {max(before):.0f} of a third before the switch, within {max(after):.0f} after it, on average"
    return Verdict(says, unless(max(*before, *after) < 0.12 * measured.setup.nodes, "less equal"))


def _decline_at_75(cells: Cells) -> Verdict:
    at = _decline(cells["independent"])
    says = f"5 % are no longer optimistic at step {at}"
    half = first_step(cells["independent"].modes[0], lambda count: count < 0.5 * cells["independent"].setup.nodes)
    why = (
        "With several rules the own rate has half of the weight, and nodes pick their first rule by lot, so single "
        "nodes switch early. With the plain mean of one rule and equally many nodes at each rule, 5 % have switched at "
        "step 72, but then the end takes thirty steps longer."
    )
    return Verdict(f"{says}, half at step {half}", within(at, 75, 10, "step"), why)


def _changes_then(cells: Cells) -> Verdict:
    measured = cells["independent"]
    start = [curve[0] for curve in measured.rules]
    moved = [
        sum(abs(curve[at] - was) for curve, was in zip(measured.rules, start, strict=True)) / 2
        for at in range(len(measured.rules[0]))
    ]
    at = first_step(moved, lambda count: count >= 0.01 * measured.setup.nodes)
    return Verdict(f"from step {at} on", unless(abs(at - _decline(measured)) <= 20, "at another time"))


def _optimists_throughout(cells: Cells) -> Verdict:
    measured = cells["independent"]
    optimists = measured.modes[0]
    until = int(0.9 * measured.steps_mean)
    says = f"{optimists[until]:.0f} of {measured.setup.nodes} at step {until}, {min(optimists):.0f} at the least"
    return Verdict(says, unless(min(optimists[:until]) >= 1, "not to the end"))


# ------------------------------------------------------------------------------------------------ experiment 6


def _dependent() -> list[Statement]:
    one = ("dependent",)
    return [
        Statement((6, 16), "at first all but the keepers of R1 and R2 apply R0", one, _all_on_first),
        Statement((6, 16), "around step 75 most change to R1, a minority to R2", one, _change_to_second),
        Statement((6, 16), "all become optimistic again", one, _optimistic_again),
        Statement((6, 16), "then most change to R2", one, _change_to_third),
        Statement((6, 16), "around step 250 half change back to R1, optimists drop", one, _back_to_second),
        Statement((6, 16), "they end on R2, pessimistic or dormant", one, _end_on_third),
    ]


def _all_on_first(cells: Cells) -> Verdict:
    measured = cells["dependent"]
    count = measured.rules[0][1]
    says = f"{count:.0f} of {measured.setup.nodes} after the first step"
    return Verdict(says, unless(count == measured.setup.nodes - 2, "not all"))


def _change_to_second(cells: Cells) -> Verdict:
    measured = cells["dependent"]
    first, second, third = measured.rules
    at = first_step([one - other for one, other in zip(second, first, strict=True)], lambda lead: lead > 0)
    settled = first_step(first, lambda count: count < 0.1 * measured.setup.nodes, start=at)
    says = (
        f"R1 overtakes R0 at step {at}; at step {settled} {second[settled]:.0f} are on R1, {third[settled]:.0f} on R2"
    )
    return Verdict(says, unless(abs(at - 75) <= 15 and second[settled] > third[settled], "otherwise"))


def _optimistic_again(cells: Cells) -> Verdict:
    measured = cells["dependent"]
    optimists = measured.modes[0]
    drop = _decline(measured)
    lowest = min(range(drop, drop + 40), key=optimists.__getitem__)
    best = max(optimists[lowest:])
    says = f"from {optimists[lowest]:.0f} at step {lowest} to {best:.0f} at step {optimists.index(best, lowest)}"
    return Verdict(says, unless(best > 0.9 * measured.setup.nodes, "not all"))


def _change_to_third(cells: Cells) -> Verdict:
    dominant = _dominant(cells["dependent"])
    says = f"most nodes: {_sequence(dominant)}"
    return Verdict(says, unless([rule for rule, _ in dominant[:3]] == [0, 1, 2], "another order"))


def _back_to_second(cells: Cells) -> Verdict:
    measured = cells["dependent"]
    start = next((at for rule, at in _dominant(measured) if rule == 2), 0)
    _, second, _ = measured.rules
    best = max(second[start + 20 :], default=0.0)
    at = second.index(best, start + 20) if best else 0
    share = best / measured.setup.nodes
    says = f"{best:.0f} nodes ({percent(share)}) are back on R1 at step {at}, {measured.modes[0][at]:.0f} are optimists"
    return Verdict(says, unless(abs(at - 250) <= 25 and share >= 0.3, "otherwise"))


def _end_on_third(cells: Cells) -> Verdict:
    measured = cells["dependent"]
    share = measured.rules[2][-1] / measured.setup.nodes
    return Verdict(_at_end(measured), unless(share > 0.7 and measured.modes[0][-1] < 25, "not all"))


# ------------------------------------------------------------------------------------------------ experiment 7


def _circular() -> list[Statement]:
    first, second = ("circular",), ("circular, all types",)
    return [
        Statement((7, 17), "from T0 alone: first R0, then R1, R2 around step 150", first, _circle),
        Statement((7, 17), "the pattern R0, R1, R2 appears again", first, _circle_again),
        Statement((7, 17), "molecules are few about step 200, optimists drop to zero", first, _few_at_200),
        Statement((7, 17), "in the end most nodes are dormant", first, _dormant_at_end),
        Statement((7, 18), "from all types: nodes spread equally at first", second, _spread),
        Statement((7, 18), "cyclic change of dominance, on a smaller scale", (*second, *first), _smaller_circle),
        Statement(
            (7, 18), "optimists drop much faster than with independent rules", (*second, "independent"), _faster_drop
        ),
    ]


def _circle(cells: Cells) -> Verdict:
    dominant = _dominant(cells["circular"])
    says = f"most nodes: {_sequence(dominant, most=4)}"
    at = next((at for rule, at in dominant if rule == 2), 0)
    why = (
        "Some fifty nodes are at R2 already, the minority that the paper sees in figure 16, so about 180 share the "
        "7,500 reactions of R1, two steps to each: that takes more than eighty steps from step 80 on. All 250 would "
        "need sixty."
    )
    return Verdict(says, within(at, 150, 20, "step") if [r for r, _ in dominant[:3]] == [0, 1, 2] else "order", why)


def _circle_again(cells: Cells) -> Verdict:
    dominant = _dominant(cells["circular"])
    rules = [rule for rule, _ in dominant]
    rounds = sum(rules[at : at + 3] == [0, 1, 2] for at in range(len(rules)))
    return Verdict(f"{rounds} times; {_sequence(dominant[3:], most=6)}", unless(rounds >= 2, "not again"))


_IMPOSSIBLE = (
    "What is drawn cannot be: from 15,000 T0 the program makes 45,000 reactions (22,500 in the first round, half as "
    "many in each further one), and 250 nodes, two steps to a reaction, need 360 steps for them at the least. The "
    "later rounds take us some 75 steps each, however few molecules are left."
)


def _few_at_200(cells: Cells) -> Verdict:
    measured = cells["circular"]
    left = sum(curve[min(200, len(curve) - 1)] for curve in measured.molecules)
    gone = _last_step_with(measured, 0.2)
    says = f"{left:,.0f} molecules at step 200; optimists stay below a fifth from step {gone}, "
    says += f"inert after {measured.steps_mean:.0f} steps, {max(measured.steps)} in the slowest run"
    return Verdict(says, unless(gone <= 250, f"{gone - 200} steps later"), _IMPOSSIBLE)


def _dormant_at_end(cells: Cells) -> Verdict:
    measured = cells["circular"]
    share = measured.modes[2][-1] / measured.setup.nodes
    return Verdict(f"{percent(share)} at the end", unless(share > 0.5, "fewer"))


def _spread(cells: Cells) -> Verdict:
    measured = cells["circular, all types"]
    third = measured.setup.nodes / 3
    until = min(100, _decline(measured))
    off = max(abs(curve[at] - third) for curve in measured.rules for at in range(until))
    return Verdict(
        f"within {off:.0f} of a third up to step {until}", unless(off < 0.15 * measured.setup.nodes, "less equal")
    )


def _smaller_circle(cells: Cells) -> Verdict:
    measured = cells["circular, all types"]
    dominant = _dominant(measured)
    peak = max(max(curve) for curve in measured.rules)
    other = max(max(curve[first_step(curve, lambda count: count < 50) :]) for curve in cells["circular"].rules)
    says = f"{_sequence(dominant, most=6)}; up to {peak:.0f} nodes at one rule, against {other:.0f} from T0 alone"
    why = (
        "All nodes hear the same of each rule and forget it after 20 steps, so nearly all of them follow the type of "
        "which there is most, and there is a new one every 25 steps. If they remember for 80 steps, at most 167 are at "
        "one rule, but not many more (176) from T0 alone."
    )
    return Verdict(says, unless(len(dominant) >= 3 and peak < 0.8 * other, "hardly smaller"), why)


def _faster_drop(cells: Cells) -> Verdict:
    circular, independent = cells["circular, all types"], cells["independent"]

    def lasts(measured: Measured) -> float:
        return (_last_step_with(measured, 0.2) - _last_step_with(measured, 0.8)) / measured.steps_mean

    shares = lasts(circular), lasts(independent)
    says = f"from 80 % of the nodes to 20 % within {percent(shares[0])} of the execution, against {percent(shares[1])}"
    why = (
        "Ours fall in waves, from step 300 to step 650: whenever most nodes change to the next rule, many are "
        "optimistic for a while."
    )
    return Verdict(says, unless(shares[0] < shares[1], "slower"), why)


# ------------------------------------------------------------------------------------------------ experiment 8


def _workflow() -> list[Statement]:
    one = ("workflow",)
    return [
        Statement((8, 19), "all execute R0 first, then about 100 each R1 and R2, 50 R3", one, _split),
        Statement((8, 19), "meanwhile most are optimistic", one, _mostly_optimistic),
        Statement((8, 19), "nodes leave R1 and R2 for R3", one, _merge),
        Statement((8, 19), "between 200 and 250 half change back to R1 and R2", one, _back_to_middle),
        Statement((8, 19), "they end on R3, most of them dormant", one, _end_on_last),
    ]


def _split(cells: Cells) -> Verdict:
    measured = cells["workflow"]
    nodes = measured.setup.nodes
    at = first_step(measured.rules[0], lambda count: count < 0.05 * nodes)
    counts = [curve[at] for curve in measured.rules]
    says = ", ".join(f"R{rule}: {count:.0f}" for rule, count in enumerate(counts))
    shares = [count / nodes for count in counts]
    is_so = all(abs(share - said) < 0.1 for share, said in zip(shares[1:], (0.4, 0.4, 0.2), strict=True))
    return Verdict(f"at step {at}, {says}", unless(is_so, "otherwise"))


def _mostly_optimistic(cells: Cells) -> Verdict:
    measured = cells["workflow"]
    optimists = measured.modes[0]
    share = sum(count > measured.setup.nodes / 2 for count in optimists) / measured.steps_mean
    return Verdict(f"more than half of the nodes for {percent(share)} of the execution", unless(share > 0.5, "fewer"))


def _merge(cells: Cells) -> Verdict:
    measured = cells["workflow"]
    at = next((at for rule, at in _dominant(measured) if rule == 3), 0)
    best = max(measured.rules[3])
    says = f"R3 leads from step {at}, with up to {best:.0f} nodes"
    return Verdict(says, unless(at > 0, "not to be seen"))


def _back_to_middle(cells: Cells) -> Verdict:
    measured = cells["workflow"]
    start = next((at for rule, at in _dominant(measured) if rule == 3), 0)
    middle = [one + other for one, other in zip(measured.rules[1], measured.rules[2], strict=True)]
    best = max(middle[start + 15 :], default=0.0)
    at = middle.index(best, start + 15) if best else 0
    share = best / measured.setup.nodes
    says = f"{best:.0f} nodes ({percent(share)}) are back on R1 or R2 at step {at}"
    why = (
        "It happens some steps apart in different runs and lasts for few steps, so that the average shows less than "
        "half; in single runs up to four fifths of the nodes go back."
    )
    return Verdict(says, unless(195 <= at <= 255 and share >= 0.3, "fewer" if share < 0.3 else "at another time"), why)


def _end_on_last(cells: Cells) -> Verdict:
    measured = cells["workflow"]
    share, asleep = measured.rules[3][-1] / measured.setup.nodes, measured.modes[2][-1] / measured.setup.nodes
    return Verdict(_at_end(measured), unless(share > 0.7 and asleep > 0.5, "not all"))
