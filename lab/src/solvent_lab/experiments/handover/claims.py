"""What the paper says, and what is wanted of us, beside what we measure.

A statement is judged where all cells it speaks of have been measured. Explanations of differences were found at the
paper's scale; docs/explanation/handover-experiments.md has them at length.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent_lab.experiments.claims import WANTED, Claim, unless
from solvent_lab.experiments.handover.cells import COUNTINGS, LEAVERS, ON_PLATFORMS, asynchronous, by_size, on_platform
from solvent_lab.experiments.handover.figures import FIGURES
from solvent_lab.experiments.handover.measurement import (
    MODES,
    PAPER_ETA,
    PAPER_OVERHEADS,
    fit_of,
    hand_off,
    messages,
    overhead,
    seen,
)
from solvent_lab.simulator.handover_network import LATENCY_FACTOR, PLATFORMS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from solvent_lab.experiments.handover.cells import Scale
    from solvent_lab.experiments.handover.measurement import Cells
    from solvent_lab.simulator.elmp import Fit

_EXACT = 0.01
"""A part by which what is measured may differ from a formula."""
_LOW_OVERHEAD = 0.02
_ETA = (
    "A hand-off is the token's message, the wish for the data, and the latency of the data itself; with a server, the "
    "latency of the data twice. On one site that is 0.1 ms each. Between sites it is as much more as the way is "
    "longer: for the paper's figure peers must be a fraction of a millisecond apart."
)
_LITTLE = (
    "With a server grant and release carry the data: a hand-over takes two latencies, where peers have three. If the "
    "data takes no time, and the resource is not held, that is all there is."
)
_QUEUE = (
    "Each peer asks again as soon as it is served, so all others wait, whoever keeps the queue. If it were shorter, "
    "peers would spend time elsewhere; the formula has no place for that."
)
_WAIT = (
    "The grant comes later than T_Wblocked ends, so nothing waits for the peer, but for the first round, in which "
    "whoever is first has the lock at once and does not use it yet."
)
_LEAVING = (
    "A departure, an insertion and a dropped claim cost messages, and nobody else waits for these: the token goes on "
    "along the queue meanwhile. What is left is chance: in which order peers of different sites queue up."
)


def claims_of(cells: Cells, scale: Scale) -> list[Claim]:
    """Judge all statements whose cells are there."""
    judges: dict[int | str, Callable[[Cells, Scale], Iterator[Claim]]] = {
        7: _of_7,
        8: _of_8,
        "table-2": _of_table_2,
        "messages": _of_messages,
    }
    found: list[Claim] = []
    for number, judge in judges.items():
        if all(name in cells for name in FIGURES[number].needs(scale)):
            found += judge(cells, scale)
    return found


# ----------------------------------------------------------------------------------------------------- figure 7


def _of_7(cells: Cells, scale: Scale) -> Iterator[Claim]:
    parts = [
        seen(cells, by_size("peer", size, locked), "settled").mean / scale.peers
        - locked
        - PLATFORMS["grid5000"].seconds_for(size)
        for size in scale.sizes
        for locked in scale.locked_by_size
    ]
    low, high = min(parts), max(parts)
    measured = f"with q + 1 = {scale.peers}, alpha eta is from {low:.4f} to {high:.4f} s for all sizes and times"
    says = "a cycle takes (T_locked + T_fetch + alpha eta)(q + 1): alpha eta is the same whatever the others are"
    yield Claim(("figure 7",), says, measured, unless(high - low <= 0.25 * high, "it is not"), "")
    for mode, eta in PAPER_ETA.items():
        found = {one: hand_off(cells, scale, mode, one) / LATENCY_FACTOR for one in ON_PLATFORMS}
        measured = ", ".join(f"{1e6 * value:,.0f} us ({name})" for name, value in found.items())
        says = f"eta is about {1e6 * eta:.0f} us, {MODES[mode]}"
        ratio = found["site"] / eta
        yield Claim(("figure 7",), says, measured, f"{ratio:.1f} times as much on one site", _ETA)
    big, small = scale.sizes[-1], scale.sizes[0]
    ratios = [_ratio(cells, size, scale.locked_by_size[0]) for size in (small, big)]
    measured = f"client-server takes {ratios[0]:.2f} times as long with {small:,} bytes, {ratios[1]:.2f} with {big:,}"
    says = "peer to peer is better also at the extremes of the size"
    yield Claim(("figure 7",), says, measured, unless(min(ratios) >= 1, "not for little data between sites"), _LITTLE)
    queue = {mode: seen(cells, on_platform(mode, "grid5000"), "wait").mean for mode in MODES}
    slots = {
        mode: queue[mode] / (seen(cells, on_platform(mode, "grid5000"), "settled").mean / scale.peers) for mode in MODES
    }
    measured = f"{slots['peer']:.1f} peer to peer, {slots['server']:.1f} client-server"
    says = "the queue q is much shorter peer to peer than client-server"
    yield Claim(("figure 7",), says, measured, unless(slots["peer"] < 0.5 * slots["server"], "as long"), _QUEUE)
    is_two = abs(ratios[1] - 2) <= 0.1
    says = "peer to peer takes half the time of client-server where moving data is all there is"
    yield Claim((WANTED,), says, f"{ratios[1]:.3f} with {big:,} bytes, not held", unless(is_two, "not half"), "")


def _ratio(cells: Cells, size: int, locked: float) -> float:
    server, peer = (seen(cells, by_size(mode, size, locked), "settled").mean for mode in ("server", "peer"))
    return server / peer


# ----------------------------------------------------------------------------------------------------- figure 8


def _of_8(cells: Cells, scale: Scale) -> Iterator[Claim]:
    nothing = asynchronous(scale.locked[0], 0.0, "acquire")
    cycle, wait = (seen(cells, nothing, what) for what in ("cycle", "wait"))
    is_same = abs(cycle.mean - wait.mean) <= _EXACT * cycle.mean
    says = "with T_locked = T_Wblocked = 0, T_DHO and T_wait are the same"
    yield Claim(("figure 8",), says, f"{cycle} s and {wait} s", unless(is_same, "they differ"), "")
    for locked in scale.locked[1:]:
        waits = [seen(cells, asynchronous(locked, wblocked, "acquire"), "wait").mean for wblocked in scale.wblocked]
        shown = ", ".join(f"{one:.2f} ({at:g})" for at, one in zip(scale.wblocked, waits, strict=True))
        grows = waits[-1] > waits[0]
        says = f"T_wait grows slightly with T_Wblocked (T_locked {locked:g} s)"
        yield Claim(("figure 8",), says, shown, unless(grows, "it does not"), _WAIT)
    five = min(scale.wblocked, key=lambda one: abs(one - 5.0))
    for locked in scale.locked:
        blocked = {
            at: seen(cells, asynchronous(locked, at, "grant"), "blocking").mean
            for at in (0.0, five, scale.wblocked[-1])
        }
        saved = blocked[0.0] - blocked[five]
        last = scale.wblocked[-1]
        measured = (
            f"T_blocking {blocked[0.0]:.2f} s without, {blocked[five]:.2f} s with {five:g} s, "
            f"{blocked[last]:.2f} s with {last:g} s"
        )
        says = f"T_Wblocked = 5 s overlaps computation and transfer well (T_locked {locked:g} s)"
        yield Claim(("figure 8",), says, measured, unless(saved >= 0.85 * five, f"{saved:.2f} s of {five:g} s"), "")


# ------------------------------------------------------------------------------------------------------- table 2


def _of_table_2(cells: Cells, scale: Scale) -> Iterator[Claim]:
    worst = 0.0
    for peers in scale.peers_leaving:
        for part in scale.leaving:
            shown, most = [], 0.0
            for (leavers, platform), says in LEAVERS.items():
                more, without = overhead(cells, peers, part, leavers, platform)
                worst, most = max(worst, more.mean / without), max(most, more.mean)
                shown.append(f"{more.mean:+.2f} ± {more.half:.2f} s ({100 * more.mean / without:+.3f} %), {says}")
            paper = PAPER_OVERHEADS.get((peers, part))
            if paper is None:
                continue
            says = f"{100 * part:g} % of {peers} peers leaving cost the others {paper[0]} s ({paper[1]} %) a cycle"
            yield Claim(("table 2",), says, "; ".join(shown), _difference(most, paper[0]), _LEAVING)
    measured = f"{100 * worst:.3f} % at most"
    says = "what departures add is negligible"
    yield Claim(("table 2",), says, measured, unless(worst <= _LOW_OVERHEAD, "it is not"), "")


def _difference(most: float, paper: float) -> str:
    return unless(abs(most - paper) <= 0.2 * paper, "less" if most < paper else "more")


# ------------------------------------------------------------------------------------------------------ messages


def words_of(fit: Fit) -> str:
    """Write both lines, and what they leave over."""
    log, line = fit.over_log, fit.over_n
    return (
        f"{log.at_zero:.2f} {log.slope:+.2f} log2 n leaves {log.left:.2f}; "
        f"{line.at_zero:.2f} {line.slope:+.5f} n leaves {line.left:.2f}"
    )


def _of_messages(cells: Cells, scale: Scale) -> Iterator[Claim]:
    low, high = scale.processes[0], scale.processes[-1]
    for one in COUNTINGS:
        fit = fit_of(cells, scale, one.name)
        first, last = (messages(cells, one.name, processes).mean for processes in (low, high))
        # Where hardly anything grows both lines fit.
        is_flat = last - first <= 0.1 * fit.over_log.at_zero + 3
        is_so = fit.over_log.left <= fit.over_n.left or is_flat
        measured = f"{first:.1f} ({low:,}) to {last:.1f} ({high:,}); {words_of(fit)}"
        says = f"messages grow as the logarithm of n: {one.says}"
        yield Claim(("complexity",), says, measured, unless(is_so, "a line over n fits better"), "")
