"""What Solvent must reach, each demand with the figures that decide it.

A peer that ran out of time counts with the limit, which it would have exceeded; a demand for which nothing
was measured is neither met nor missed.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from bench.figures import Figures
from bench.problems import PROBLEMS, Problem

QUADRATIC_IN_MAUDE = ("max", "primes", "sort", "paths", "philosophers")
PEERS = {"chr": "CHR", "clips": "CLIPS", "maude": "Maude", "maude-eq": "Maude with equations"}
MAX_HAND_FACTOR = 10.0
HAND_FACTOR_MAX_OF = {"max": 3.0}
MAX_MAUDE_SHARE = 0.1
MAX_GROWTH_ABOVE_HAND = 0.1


@dataclass(frozen=True)
class Verdict:
    """A demand, whether it is met, and the figures."""

    demand: str
    is_met: bool | None
    figures: str


def verdicts_on_programs(figures: Figures) -> list[Verdict]:
    """Judge every program that was run."""
    verdicts: list[Verdict] = []
    for problem in PROBLEMS.values():
        sizes = [size for size in figures.sizes(problem.name) if size in problem.judged]
        if sizes:
            verdicts += _below_peers(figures, problem, sizes)
            verdicts.append(_near_hand(figures, problem, sizes))
            verdicts.append(_growth(figures, problem))
    return verdicts


def at_most(demand: str, found: float | None, most: float, unit: str = "") -> Verdict:
    """Judge one number against its limit."""
    if found is None:
        return Verdict(demand, None, "not measured")
    return Verdict(demand, found <= most, f"{found:.3g}{unit}, at most {most:g}{unit}")


def _below_peers(figures: Figures, problem: Problem, sizes: list[int]) -> Iterator[Verdict]:
    for peer, title in PEERS.items():
        if not any(figures.cell(peer, problem.name, size) for size in sizes):
            continue
        # CHR is compared only where it ends; the demand on the others has no such clause.
        compared = [size for size in sizes if peer != "chr" or figures.has_ended(peer, problem.name, size)]
        yield _share(f"{problem.name}: below {title}", figures, problem.name, peer=peer, sizes=compared, max_share=1.0)
        if peer.startswith("maude") and problem.name in QUADRATIC_IN_MAUDE:
            demand = f"{problem.name}: at most a tenth of {title}"
            yield _share(demand, figures, problem.name, peer=peer, sizes=compared, max_share=MAX_MAUDE_SHARE)


def _share(demand: str, figures: Figures, problem: str, *, peer: str, sizes: list[int], max_share: float) -> Verdict:
    parts: list[str] = []
    met: list[bool] = []
    for size in sizes:
        ours = figures.seconds_least("solvent", problem, size)
        theirs = figures.seconds_least(peer, problem, size)
        if ours is None or theirs is None:
            continue
        sign = "" if figures.has_ended(peer, problem, size) else "< "
        parts.append(f"{sign}{ours / theirs:.3g} at {size:,}")
        met.append(figures.has_ended("solvent", problem, size) and ours < theirs * max_share)
    return _verdict(demand, met, parts)


def _near_hand(figures: Figures, problem: Problem, sizes: list[int]) -> Verdict:
    max_factor = HAND_FACTOR_MAX_OF.get(problem.name, MAX_HAND_FACTOR)
    parts: list[str] = []
    met: list[bool] = []
    for size in sizes:
        ours = figures.seconds_least("solvent", problem.name, size)
        loop = figures.seconds("hand", problem.name, size)
        if ours is None or loop is None:
            continue
        parts.append(f"{ours / loop:.3g} at {size:,}")
        met.append(figures.has_ended("solvent", problem.name, size) and ours <= loop * max_factor)
    return _verdict(f"{problem.name}: within {max_factor:g} times of the hand-written loop", met, parts)


def _growth(figures: Figures, problem: Problem) -> Verdict:
    demand = f"{problem.name}: growth exponent at most {MAX_GROWTH_ABOVE_HAND:g} above the loop's"
    ours = figures.growth("solvent", problem.name, beside="hand")
    loop = figures.growth("hand", problem.name, beside="solvent")
    if ours is None or loop is None:
        return Verdict(demand, None, "not measured")
    return Verdict(demand, ours <= loop + MAX_GROWTH_ABOVE_HAND, f"{ours:.2f}, the loop's {loop:.2f}")


def _verdict(demand: str, met: list[bool], parts: list[str]) -> Verdict:
    if not met:
        return Verdict(demand, None, "not measured")
    return Verdict(demand, all(met), "; ".join(parts))
