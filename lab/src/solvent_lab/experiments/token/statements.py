"""The statements: of the paper's simulations, of its lemmas and theorems, and what is wanted of us."""

from __future__ import annotations

from functools import partial
from math import log2
from typing import TYPE_CHECKING

from solvent_lab.experiments.token.cells import name_of
from solvent_lab.experiments.token.claims import WANTED, Statement, Verdict, sure, unless
from solvent_lab.experiments.token.variants import of_variants

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solvent_lab.experiments.token.cells import Scale
    from solvent_lab.experiments.token.measurement import Cells, Measured

_MAX_RATIO = 1.05
_MAX_O = 2.0
"""What is said to be of the order of log N may be so many times log2 N."""

_UNFAIR = (
    "A queue is served in its order, but the token also serves whoever it visits on its way, and whose search is quick "
    "has it before one whose search is under way. Where nearly all nodes want it, one may so wait longer than a round."
)


def statements(scale: Scale) -> tuple[Statement, ...]:
    """Give all statements that can be judged at a scale."""
    return (*_of_figures(scale), *_of_theorems(scale), *of_variants(scale), *_wanted(scale))


def _fixed(scale: Scale, protocol: str = "binary") -> tuple[str, ...]:
    return tuple(name_of(protocol, nodes, scale.gap) for nodes in scale.sizes)


def _falling(scale: Scale, protocol: str = "binary") -> tuple[str, ...]:
    return tuple(name_of(protocol, scale.nodes, gap) for gap in scale.gaps)


def _full(scale: Scale, protocol: str = "binary") -> tuple[str, ...]:
    return tuple(name_of(protocol, nodes, 0) for nodes in scale.sizes_full)


# ------------------------------------------------------------------------------------------------- figures 9 and 10


def _of_figures(scale: Scale) -> Iterator[Statement]:
    gap, nodes = scale.gap, scale.nodes
    says = f"a ring's mean responsiveness approaches {gap}, the mean distance between requests"
    yield Statement("figure 9", says, _fixed(scale, "ring"), partial(_ring_at_fixed_load, scale))
    says = "that of BinarySearch is bounded by log2 N"
    yield Statement("figure 9", says, _fixed(scale), partial(_at_most_log, scale))
    says = f"a ring's mean responsiveness approaches N/2 = {nodes / 2:g}"
    yield Statement("figure 10", says, _falling(scale, "ring"), partial(_ring_at_falling_load, scale))
    says = f"that of BinarySearch approaches log2 {nodes} = {log2(nodes):.2f} from below"
    yield Statement("figure 10", says, _falling(scale), partial(_from_below, scale))


def _ring_at_fixed_load(scale: Scale, cells: Cells) -> Verdict:
    found = [cells[name].responsiveness for name in _fixed(scale, "ring")]
    shown = ", ".join(f"{value.mean:.1f} ({nodes:,})" for nodes, value in zip(scale.sizes, found, strict=True))
    off = found[-1].mean - scale.gap
    return Verdict(f"by nodes: {shown}", unless(abs(off) <= 0.1 * scale.gap, f"{off:+.1f} at {scale.sizes[-1]:,}"))


def _at_most_log(scale: Scale, cells: Cells) -> Verdict:
    found = {nodes: cells[name_of("binary", nodes, scale.gap)].responsiveness for nodes in scale.sizes}
    shares = {nodes: value.mean / log2(nodes) for nodes, value in found.items()}
    worst, last = max(shares, key=shares.__getitem__), scale.sizes[-1]
    over = [f"{nodes:,}" for nodes, value in found.items() if value.mean > log2(nodes)]
    measured = (
        f"{100 * shares[worst]:.0f} % of it at most (at {worst:,} nodes: {sure(found[worst])} of {log2(worst):.2f}), "
        f"{100 * shares[last]:.0f} % at {last:,} ({sure(found[last])} of {log2(last):.2f})"
    )
    return Verdict(measured, unless(not over, f"above it at {', '.join(over)}"))


def _ring_at_falling_load(scale: Scale, cells: Cells) -> Verdict:
    found = [cells[name].responsiveness for name in _falling(scale, "ring")]
    off = found[-1].mean - scale.nodes / 2
    measured = f"{sure(found[-1])} at a request every {scale.gaps[-1]:,} steps"
    return Verdict(measured, unless(abs(off) <= 0.05 * scale.nodes, f"{off:+.1f}"))


def _from_below(scale: Scale, cells: Cells) -> Verdict:
    found = [cells[name].responsiveness for name in _falling(scale)]
    bound, top = log2(scale.nodes), max(value.mean for value in found)
    measured = f"{sure(found[-1])} at a request every {scale.gaps[-1]:,} steps, {top:.2f} at most"
    is_so = top <= bound and found[-1].mean >= 0.85 * bound
    return Verdict(measured, unless(is_so, "above it" if top > bound else "far below"))


# ----------------------------------------------------------------------------------------------- lemmas and theorems


def _of_theorems(scale: Scale) -> Iterator[Statement]:
    everywhere = (*_fixed(scale), *_falling(scale), *_full(scale))
    says = "a request is forwarded O(log N) times"
    yield Statement("lemma 6", says, _fixed(scale), partial(_forwarded, scale))
    says = "responsiveness is O(log N), at its greatest too"
    yield Statement("theorem 2", says, everywhere, partial(_greatest, everywhere))
    says = "while one waits, no other node gets the token more than log2 N times"
    yield Statement("theorem 3", says, everywhere, partial(_one_other, everywhere))
    says = "nor do all others together more than N times"
    yield Statement("theorem 3", says, everywhere, partial(_all_others, everywhere))


def _forwarded(scale: Scale, cells: Cells) -> Verdict:
    shares = [cells[name_of("binary", nodes, scale.gap)].searches.mean / log2(nodes) for nodes in scale.sizes]
    measured = f"from {min(shares):.2f} to {max(shares):.2f} times log2 N search messages per request"
    return Verdict(measured, unless(max(shares) <= _MAX_O, "more"))


def _greatest(everywhere: tuple[str, ...], cells: Cells) -> Verdict:
    def share(cell: Measured) -> float:
        return cell.max_responsiveness / log2(cell.setup.nodes)

    worst = max((cells[name] for name in everywhere), key=share)
    measured = f"{share(worst):.2f} times log2 N at most ({worst.max_responsiveness} with {_words(worst)})"
    return Verdict(measured, unless(share(worst) <= _MAX_O, "more"))


def _one_other(everywhere: tuple[str, ...], cells: Cells) -> Verdict:
    found = [cells[name] for name in everywhere]
    over = [cell for cell in found if cell.max_one_other > log2(cell.setup.nodes)]
    worst = max(found, key=lambda cell: cell.max_one_other / log2(cell.setup.nodes))
    measured = f"{worst.max_one_other} times at most ({_words(worst)})"
    return Verdict(measured, unless(not over, f"more in {len(over)} of {len(found)} setups"), _UNFAIR)


def _all_others(everywhere: tuple[str, ...], cells: Cells) -> Verdict:
    found = [cells[name] for name in everywhere]
    over = [cell for cell in found if cell.max_others > cell.setup.nodes]
    worst = max(found, key=lambda cell: cell.max_others / cell.setup.nodes)
    measured = f"{worst.max_others:,} times at most ({_words(worst)})"
    return Verdict(measured, unless(not over, f"more in {len(over)} of {len(found)} setups"), _UNFAIR)


def _words(cell: Measured) -> str:
    gap = cell.setup.gap
    return f"{cell.setup.nodes:,} nodes, {f'a request every {gap:g}' if gap else 'full load'}"


# ----------------------------------------------------------------------------------------------------- what is wanted


def _wanted(scale: Scale) -> Iterator[Statement]:
    first, last = scale.sizes[0], scale.sizes[-1]
    says = f"at fixed load, mean responsiveness is at most log2 N for N = {first} … {last:,}"
    yield Statement(WANTED, says, _fixed(scale), partial(_at_most_log, scale))
    says = f"at falling load it approaches log2 {scale.nodes} from below, where a ring approaches {scale.nodes // 2}"
    yield Statement(WANTED, says, (*_falling(scale), *_falling(scale, "ring")), partial(_from_below, scale))
    says = f"at full load it takes at most {_MAX_RATIO} times a ring's steps per grant"
    yield Statement(WANTED, says, (*_full(scale), *_full(scale, "ring")), partial(_no_worse, scale))


def _no_worse(scale: Scale, cells: Cells) -> Verdict:
    ratios = [
        cells[name_of("binary", nodes, 0)].steps_per_grant.mean / cells[name_of("ring", nodes, 0)].steps_per_grant.mean
        for nodes in scale.sizes_full
    ]
    shown = ", ".join(f"{ratio:.3f} ({nodes:,})" for nodes, ratio in zip(scale.sizes_full, ratios, strict=True))
    return Verdict(f"by nodes: {shown}", unless(max(ratios) <= _MAX_RATIO, "more"))


__all__ = ["statements"]
