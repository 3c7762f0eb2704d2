"""The statements: of the paper's simulations, of its lemmas and theorems, of its variants, and what is wanted of us."""

from __future__ import annotations

from functools import partial
from math import log2
from typing import TYPE_CHECKING

from solvent.simulation.experiments.token.cells import BY_NAME, name_of
from solvent.simulation.experiments.token.claims import WANTED, Statement, Verdict, sure, unless

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solvent.simulation.experiments.token.cells import Scale
    from solvent.simulation.experiments.token.measuring import Cells, Measured

_RATIO_MAX = 1.05
_O_MAX = 2.0
"""What is said to be of the order of log N may be so many times log2 N."""

_UNFAIR = (
    "Where lending is just about as much as it can do (it serves every second step at best), the token changes between "
    "lending and going round all the time, and passes some who wait several times before it comes to them. At full "
    "load it is lent at first, until it has seen how busy it is; each time it comes back its lender wants it again, "
    "and has it."
)
_INVERSE = (
    "On its way back along the search the token meets only the traps before the place where it was found. Those set "
    "beyond it stay, and send it to who was served long ago (T6)."
)
_ONE_SEARCH = "A node keeps all searches but one to itself, so somebody may wait until the token happens to come by."


def statements(scale: Scale) -> tuple[Statement, ...]:
    """Give all statements that can be judged at a scale."""
    return (*_of_figures(scale), *_of_theorems(scale), *_of_variants(scale), *_wanted(scale))


def _fixed(scale: Scale, protocol: str = "binary") -> tuple[str, ...]:
    return tuple(name_of(protocol, nodes, scale.gap) for nodes in scale.sizes)


def _falling(scale: Scale, protocol: str = "binary") -> tuple[str, ...]:
    return tuple(name_of(protocol, scale.nodes, gap) for gap in scale.gaps)


def _full(scale: Scale, protocol: str = "binary") -> tuple[str, ...]:
    return tuple(name_of(protocol, nodes, 0) for nodes in scale.sizes_full)


def _at(scale: Scale, variant: str) -> tuple[str, ...]:
    return tuple(name_of("binary", scale.nodes, gap, BY_NAME[variant]) for gap in scale.gaps_of_variants)


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
    is_so = top <= bound and found[-1].mean >= 0.9 * bound
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
    says = "this needs traps in the order they were set"
    needs = (*_at(scale, "rotation"), *_at(scale, "newest first"))
    yield Statement("theorem 3", says, needs, partial(_stack, scale))


def _forwarded(scale: Scale, cells: Cells) -> Verdict:
    shares = [cells[name_of("binary", nodes, scale.gap)].searches.mean / log2(nodes) for nodes in scale.sizes]
    measured = f"from {min(shares):.2f} to {max(shares):.2f} times log2 N search messages per request"
    return Verdict(measured, unless(max(shares) <= _O_MAX, "more"))


def _greatest(everywhere: tuple[str, ...], cells: Cells) -> Verdict:
    def share(cell: Measured) -> float:
        return cell.responsiveness_max / log2(cell.setup.nodes)

    worst = max((cells[name] for name in everywhere), key=share)
    measured = f"{share(worst):.2f} times log2 N at most ({worst.responsiveness_max} with {_words(worst)})"
    return Verdict(measured, unless(share(worst) <= _O_MAX, "more"))


def _one_other(everywhere: tuple[str, ...], cells: Cells) -> Verdict:
    found = [cells[name] for name in everywhere]
    over = [cell for cell in found if cell.one_other_max > log2(cell.setup.nodes)]
    worst = max(found, key=lambda cell: cell.one_other_max / log2(cell.setup.nodes))
    measured = f"{worst.one_other_max} times at most ({_words(worst)})"
    return Verdict(measured, unless(not over, f"more in {len(over)} of {len(found)} setups"), _UNFAIR)


def _all_others(everywhere: tuple[str, ...], cells: Cells) -> Verdict:
    found = [cells[name] for name in everywhere]
    over = [cell for cell in found if cell.others_max > cell.setup.nodes]
    worst = max(found, key=lambda cell: cell.others_max / cell.setup.nodes)
    measured = f"{worst.others_max:,} times at most ({_words(worst)})"
    return Verdict(measured, unless(not over, f"more in {len(over)} of {len(found)} setups"), _UNFAIR)


def _words(cell: Measured) -> str:
    gap = cell.setup.gap
    return f"{cell.setup.nodes:,} nodes, {f'a request every {gap:g}' if gap else 'full load'}"


# --------------------------------------------------------------------------------------------------------- variants


def _of_variants(scale: Scale) -> Iterator[Statement]:
    usual = _at(scale, "rotation")
    says = "old traps can be cleaned up by the token's rotation, or by its way back along the search"
    needs = (*usual, *_at(scale, "inverse"), *_at(scale, "none"))
    yield Statement("section 4.4", says, needs, partial(_clean_ups, scale))
    says = "a directed search takes up to twice the search messages, and may save some"
    yield Statement("section 4.4", says, (*usual, *_at(scale, "directed")), partial(_directed, scale))
    says = "with one search at a time there are no more search messages than token messages"
    yield Statement("section 4.4", says, (*usual, *_at(scale, "one search")), partial(_one_search, scale))
    says = "the token may go round slowly while few want it"
    yield Statement("section 4.4", says, (*usual, *_at(scale, "rests")), partial(_rests, scale))


def _pair(scale: Scale, cells: Cells, variant: str, gap: int) -> tuple[Measured, Measured]:
    name = partial(name_of, "binary", scale.nodes, gap)
    return cells[name(BY_NAME["rotation"])], cells[name(BY_NAME[variant])]


def _clean_ups(scale: Scale, cells: Cells) -> Verdict:
    usual, inverse = _pair(scale, cells, "inverse", scale.gap)
    _, none = _pair(scale, cells, "none", scale.gap)
    three = (("rotation", usual), ("inverse path", inverse), ("none", none))
    shown = [f"{name} {sure(cell.responsiveness)}, longest wait {cell.wait_max:,}" for name, cell in three]
    measured = f"at a request every {scale.gap}: {'; '.join(shown)}"
    is_so = inverse.responsiveness.mean <= 1.1 * usual.responsiveness.mean
    return Verdict(measured, unless(is_so, "the way back cleans up too little"), _INVERSE)


def _stack(scale: Scale, cells: Cells) -> Verdict:
    parts = []
    for gap in scale.gaps_of_variants[:3]:
        usual, newest = _pair(scale, cells, "newest first", gap)
        parts.append(f"{usual.wait_max:,} and {newest.wait_max:,} at every {gap}")
    return Verdict(f"the longest wait, oldest first and newest first: {', '.join(parts)}")


def _directed(scale: Scale, cells: Cells) -> Verdict:
    usual, directed = _pair(scale, cells, "directed", scale.gap)
    times = directed.searches.mean / usual.searches.mean
    measured = (
        f"{times:.2f} times ({directed.searches.mean:.1f} against {usual.searches.mean:.1f}); "
        f"responsiveness {sure(directed.responsiveness)} against {sure(usual.responsiveness)}"
    )
    return Verdict(measured, unless(times <= _O_MAX, "more"))


def _one_search(scale: Scale, cells: Cells) -> Verdict:
    over = []
    for gap in scale.gaps_of_variants:
        cell = cells[name_of("binary", scale.nodes, gap, BY_NAME["one search"])]
        moves = cell.messages.mean - cell.searches.mean
        if cell.searches.mean > moves:
            over.append(f"at every {gap} ({cell.searches.mean:.1f} against {moves:.1f})")
    usual, one = _pair(scale, cells, "one search", scale.gap)
    measured = (
        f"{one.searches.mean:.1f} search messages per request at every {scale.gap}, {usual.searches.mean:.1f} without; "
        f"responsiveness {sure(one.responsiveness)} against {sure(usual.responsiveness)}, "
        f"longest wait {one.wait_max:,} against {usual.wait_max:,}"
    )
    return Verdict(measured, unless(not over, f"more {', '.join(over)}"), _ONE_SEARCH)


def _rests(scale: Scale, cells: Cells) -> Verdict:
    gap = scale.gaps_of_variants[-1]
    usual, rests = _pair(scale, cells, "rests", gap)
    return Verdict(
        f"resting 100 steps at each node, at a request every {gap}: {rests.messages.mean:.1f} messages per request "
        f"against {usual.messages.mean:.1f}; responsiveness {sure(rests.responsiveness)} against "
        f"{sure(usual.responsiveness)}"
    )


# ----------------------------------------------------------------------------------------------------- what is wanted


def _wanted(scale: Scale) -> Iterator[Statement]:
    first, last = scale.sizes[0], scale.sizes[-1]
    says = f"at fixed load, mean responsiveness is at most log2 N for N = {first} … {last:,}"
    yield Statement(WANTED, says, _fixed(scale), partial(_at_most_log, scale))
    says = f"at falling load it approaches log2 {scale.nodes} from below, where a ring approaches {scale.nodes // 2}"
    yield Statement(WANTED, says, (*_falling(scale), *_falling(scale, "ring")), partial(_from_below, scale))
    says = f"at full load it takes at most {_RATIO_MAX} times a ring's steps per grant"
    yield Statement(WANTED, says, (*_full(scale), *_full(scale, "ring")), partial(_no_worse, scale))


def _no_worse(scale: Scale, cells: Cells) -> Verdict:
    ratios = [
        cells[name_of("binary", nodes, 0)].steps_per_grant.mean / cells[name_of("ring", nodes, 0)].steps_per_grant.mean
        for nodes in scale.sizes_full
    ]
    shown = ", ".join(f"{ratio:.3f} ({nodes:,})" for nodes, ratio in zip(scale.sizes_full, ratios, strict=True))
    return Verdict(f"by nodes: {shown}", unless(max(ratios) <= _RATIO_MAX, "more"))


__all__ = ["statements"]
