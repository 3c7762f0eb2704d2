"""What Solvent must reach, each demand with the figures that decide it.

A peer that ran out of time counts with the limit, which it would have exceeded; a demand for which nothing was measured
is neither met nor missed. Parsl is compared twice: as it comes, with its log, and without, which is far faster.
"""

from dataclasses import dataclass

from bench.cell import Ending
from bench.verdicts import Verdict
from bench.workflow.cell import Cell, Mode
from bench.workflow.figures import Figures
from bench.workflow.graphs import SHAPES
from bench.workflow.systems import SYSTEMS

LARGE = 10_000
HUGE = 100_000
CHAIN = 1_000
MAX_GROWTH = 1.1
OURS = ("solvent", "solvent-processes")
# As it is installed. Without its log it is several times faster, which the tables show and the demands leave alone.
PARSL = ("parsl",)


@dataclass(frozen=True)
class Demand:
    """At most this share of a peer's time on a graph."""

    ours: str
    peer: str
    shape: str
    size: int
    max_share: float


def time_demands() -> list[Demand]:
    """List what is demanded of times."""
    demands = []
    for peer in PARSL:
        demands += [Demand("solvent", peer, shape, LARGE, 0.5) for shape in ("layers", "fan")]
        demands.append(Demand("solvent", peer, "chain", CHAIN, 1.0))
    for peer, share in (("ray", 1.0), ("dask", 0.5)):
        for shape, size in (("layers", LARGE), ("fan", LARGE), ("chain", CHAIN)):
            demands.append(Demand("solvent-processes", peer, shape, size, share))
    return demands


def verdicts_on(figures: Figures) -> list[Verdict]:
    """Judge everything."""
    verdicts = [judge_time(figures, demand) for demand in time_demands()]
    verdicts += [judge_growth(figures, system, shape) for system in OURS for shape in SHAPES]
    verdicts += [judge_completion(figures, shape) for shape in SHAPES]
    for ours, peers in (("solvent", PARSL), ("solvent-processes", ("parsl-htex",))):
        verdicts += [judge_memory(figures, ours, peer, shape) for peer in peers for shape in ("layers", "fan")]
        verdicts += [judge_recovery(figures, ours, peer) for peer in peers]
    return verdicts


def judge_time(figures: Figures, demand: Demand) -> Verdict:
    """Judge a share of a peer's time."""
    share = {1.0: "at most the time", 0.5: "at most half the time"}[demand.max_share]
    text = f"{_named(demand.shape, demand.size)}: {SYSTEMS[demand.ours].title}, {share} of {_peer(demand.peer)}"
    ours = figures.seconds_least(demand.ours, demand.shape, demand.size)
    theirs = figures.seconds_least(demand.peer, demand.shape, demand.size)
    has_ended = figures.seconds(demand.ours, demand.shape, demand.size) is not None
    if ours is None or theirs is None:
        return _failed_or_unknown(text, figures.cell(demand.ours, Mode.TIME, demand.shape, demand.size))
    sign = "" if figures.seconds(demand.peer, demand.shape, demand.size) is not None else "< "
    return Verdict(text, has_ended and ours <= theirs * demand.max_share, f"{sign}{ours / theirs:.3g} of it")


def judge_growth(figures: Figures, system: str, shape: str) -> Verdict:
    """Judge the growth from 100 to 10,000 tasks."""
    text = f"{shape}: {SYSTEMS[system].title}, growth exponent from 100 to 10,000 at most {MAX_GROWTH:g}"
    growth = figures.growth(system, shape)
    largest = figures.cell(system, Mode.TIME, shape, LARGE)
    if growth is None or largest is None or largest.best is None:
        return _failed_or_unknown(text, largest)
    return Verdict(text, growth <= MAX_GROWTH, f"{growth:.3f}")


def judge_completion(figures: Figures, shape: str) -> Verdict:
    """Judge whether 100,000 tasks come to their end."""
    text = f"{_named(shape, HUGE)}: Solvent, threads completes"
    cell = figures.cell("solvent", Mode.TIME, shape, HUGE)
    if cell is None or cell.best is None:
        return _failed_or_unknown(text, cell)
    return Verdict(text, is_met=True, figures=f"{cell.best:.3g} s, {cell.best / HUGE * 1e3:.3g} ms a task")


def judge_memory(figures: Figures, ours: str, peer: str, shape: str) -> Verdict:
    """Judge the peak of memory at 10,000 tasks."""
    text = f"{_named(shape, LARGE)}: {SYSTEMS[ours].title}, peak memory below that of {_peer(peer)}"
    mine, theirs = figures.peak_bytes(ours, shape, LARGE), figures.peak_bytes(peer, shape, LARGE)
    if mine is None or theirs is None:
        return _failed_or_unknown(text, figures.cell(ours, Mode.MEMORY, shape, LARGE))
    return Verdict(text, mine < theirs, f"{mine / 2**20:.0f} MiB, theirs {theirs / 2**20:.0f}")


def judge_recovery(figures: Figures, ours: str, peer: str) -> Verdict:
    """Judge the way from a failure to the other result."""
    text = f"failure to the alternative's result: {SYSTEMS[ours].title}, less than by hand in {_peer(peer)}"
    mine, theirs = figures.recovery(ours), figures.recovery(peer)
    if mine is None or mine.median is None or theirs is None or theirs.median is None:
        return _failed_or_unknown(text, mine)
    found = f"median {mine.median * 1e3:.3g} ms, theirs {theirs.median * 1e3:.3g}"
    return Verdict(text, mine.median < theirs.median, found)


def _failed_or_unknown(text: str, ours: Cell | None) -> Verdict:
    """Count against Solvent what it tried in vain; what a peer failed at, or nobody tried, is open."""
    if ours is not None and ours.ending in {Ending.FAILED, Ending.OUT_OF_TIME}:
        return Verdict(text, is_met=False, figures=f"{ours.ending} {ours.note}".rstrip())
    return Verdict(text, None, "not measured")


def _named(shape: str, size: int) -> str:
    return f"1 → {size:,} → 1" if shape == "fan" else f"{shape} of {size:,}"


def _peer(name: str) -> str:
    return SYSTEMS[name].title
