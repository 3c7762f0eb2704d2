"""What the paper says of its simulations, lemmas, theorems and variants, and what is wanted of us."""

from __future__ import annotations

from functools import partial
from math import log2
from typing import TYPE_CHECKING

from solvent_lab.experiments.claims import WANTED, Statement, Verdict, unless
from solvent_lab.experiments.token.cells import BY_NAME, LOSING, name_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solvent_lab.experiments.token.cells import Cells, Measured, Scale

_MAX_RATIO = 1.05
_MAX_O = 2.0
"""What is said to be of the order of log N may be so many times log2 N."""

_UNFAIR = (
    "A queue is served in its order, but the token also serves whoever it visits on its way, and whose search is quick "
    "has it before one whose search is under way. Where nearly all nodes want it, one may so wait longer than a round."
)
_NEARLY = 1.1
_INVERSE = (
    "On its way back along the search the token meets only the traps before the place where it was found. Those set "
    "beyond it stay, and send it to who was served long ago (T6)."
)
_ONE_SEARCH = "A node keeps all searches but one to itself, so somebody may wait until the token happens to come by."
_PUSH = (
    "Whoever looks for one request that nobody else knows of has to ask every node: all others give the same answer "
    "wherever it is. A request that goes round and collects others brings the answer together, and takes a round for "
    "it. So who has the token asks all, half of them through each of two, and many requests share that (T11)."
)


def statements(scale: Scale) -> tuple[Statement, ...]:
    """Return all statements at a scale."""
    return (*_of_figures(scale), *_of_theorems(scale), *_of_variants(scale), *_wanted(scale))


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
    yield Statement(("figure 9",), says, _fixed(scale, "ring"), partial(_ring_at_fixed_load, scale))
    says = "that of BinarySearch is bounded by log2 N"
    yield Statement(("figure 9",), says, _fixed(scale), partial(_at_most_log, scale))
    says = f"a ring's mean responsiveness approaches N/2 = {nodes / 2:g}"
    yield Statement(("figure 10",), says, _falling(scale, "ring"), partial(_ring_at_falling_load, scale))
    says = f"that of BinarySearch approaches log2 {nodes} = {log2(nodes):.2f} from below"
    yield Statement(("figure 10",), says, _falling(scale), partial(_from_below, scale))


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
        f"{100 * shares[worst]:.0f} % of it at most (at {worst:,} nodes: {found[worst]} of {log2(worst):.2f}), "
        f"{100 * shares[last]:.0f} % at {last:,} ({found[last]} of {log2(last):.2f})"
    )
    return Verdict(measured, unless(not over, f"above it at {', '.join(over)}"))


def _ring_at_falling_load(scale: Scale, cells: Cells) -> Verdict:
    found = [cells[name].responsiveness for name in _falling(scale, "ring")]
    off = found[-1].mean - scale.nodes / 2
    measured = f"{found[-1]} at a request every {scale.gaps[-1]:,} steps"
    return Verdict(measured, unless(abs(off) <= 0.05 * scale.nodes, f"{off:+.1f}"))


def _from_below(scale: Scale, cells: Cells) -> Verdict:
    found = [cells[name].responsiveness for name in _falling(scale)]
    bound, top = log2(scale.nodes), max(value.mean for value in found)
    measured = f"{found[-1]} at a request every {scale.gaps[-1]:,} steps, {top:.2f} at most"
    is_so = top <= bound and found[-1].mean >= 0.85 * bound
    return Verdict(measured, unless(is_so, "above it" if top > bound else "far below"))


# ----------------------------------------------------------------------------------------------- lemmas and theorems


def _of_theorems(scale: Scale) -> Iterator[Statement]:
    everywhere = (*_fixed(scale), *_falling(scale), *_full(scale))
    says = "a request is forwarded O(log N) times"
    yield Statement(("lemma 6",), says, _fixed(scale), partial(_forwarded, scale))
    says = "responsiveness is O(log N), at its greatest too"
    yield Statement(("theorem 2",), says, everywhere, partial(_greatest, everywhere))
    says = "while one waits, no other node gets the token more than log2 N times"
    yield Statement(("theorem 3",), says, everywhere, partial(_one_other, everywhere))
    says = "nor do all others together more than N times"
    yield Statement(("theorem 3",), says, everywhere, partial(_all_others, everywhere))


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


# ----------------------------------------------------------------------------------- variants: sections 4.2 and 4.4


def _of_variants(scale: Scale) -> Iterator[Statement]:
    usual, literal = _at(scale, "usual"), _at(scale, "one by one")
    says = "log N fairness needs traps in the order they were set"
    yield Statement(("theorem 3",), says, (*literal, *_at(scale, "newest first")), partial(_stack, scale))
    says = "who has the token can look for who wants it, by a logarithmic number of messages"
    yield Statement(("section 4.2",), says, (*usual, *_at(scale, "push")), partial(_push, scale))
    says = "both schemes can be combined"
    needs = (*usual, *_at(scale, "push"), *_at(scale, "both, rests"))
    yield Statement(("section 4.2",), says, needs, partial(_both, scale))
    says = "old traps can be cleaned up by the token's rotation, or by its way back along the search"
    needs = (*literal, *_at(scale, "inverse"), *_at(scale, "none"))
    yield Statement(("section 4.4",), says, needs, partial(_clean_ups, scale))
    says = "a directed search takes up to twice the search messages, and may save some"
    yield Statement(("section 4.4",), says, (*usual, *_at(scale, "directed")), partial(_directed, scale))
    says = "with one search at a time there are no more search messages than token messages"
    yield Statement(("section 4.4",), says, (*usual, *_at(scale, "one search")), partial(_one_search, scale))
    says = "the token may go round slowly while few want it"
    yield Statement(("section 4.4",), says, (*usual, *_at(scale, "rests")), partial(_rests, scale))
    says = "cheap messages may be lost: they matter for speed alone"
    yield Statement(("section 1",), says, _losing(scale), partial(_losses, scale))


def _at(scale: Scale, variant: str) -> tuple[str, ...]:
    return tuple(name_of("binary", scale.nodes, gap, BY_NAME[variant]) for gap in scale.gaps_of_variants)


def _losing(scale: Scale) -> tuple[str, ...]:
    return tuple(name_of("binary", scale.nodes, scale.gap, one, loss) for one in LOSING for loss in scale.losses)


def _cell(scale: Scale, cells: Cells, variant: str, gap: int) -> Measured:
    return cells[name_of("binary", scale.nodes, gap, BY_NAME[variant])]


def _stack(scale: Scale, cells: Cells) -> Verdict:
    parts = []
    for gap in scale.gaps_of_variants:
        oldest, newest = (_cell(scale, cells, name, gap) for name in ("one by one", "newest first"))
        parts.append((newest.max_wait / oldest.max_wait, f"{oldest.max_wait:,} and {newest.max_wait:,} at every {gap}"))
    worst = max(parts)
    shown = ", ".join(words for _, words in parts[:3])
    measured = f"the longest wait, oldest first and newest first: {shown}"
    return Verdict(measured, unless(worst[0] > _NEARLY, "it makes no difference"))


def _push(scale: Scale, cells: Cells) -> Verdict:
    shown, are_few = [], True
    for gap in scale.gaps_of_variants:
        pull, push = (_cell(scale, cells, name, gap) for name in ("usual", "push"))
        are_few = are_few and push.searches.mean <= 2 * log2(scale.nodes)
        responsive = f"{push.responsiveness.mean:.1f} ({pull.responsiveness.mean:.1f})"
        shown.append(
            f"{push.searches.mean:,.1f} ({pull.searches.mean:.1f}), responsiveness {responsive} at every {gap}"
        )
    measured = f"cheap messages per request, and by searching instead: {'; '.join(shown)}"
    return Verdict(measured, unless(are_few, "linear, and shared by all who wait"), _PUSH)


def _both(scale: Scale, cells: Cells) -> Verdict:
    shown, is_good = [], True
    for gap in scale.gaps_of_variants:
        pull, push, both = (_cell(scale, cells, name, gap) for name in ("usual", "push", "both, rests"))
        is_good = is_good and both.messages.mean <= _NEARLY * min(pull.messages.mean, push.messages.mean)
        shown.append(
            f"{both.messages.mean:,.1f} ({pull.messages.mean:,.1f} and {push.messages.mean:,.1f}) at every {gap}"
        )
    measured = (
        "searching, and asking round while many want the token, which rests while nobody does: messages per request, "
        f"and those of each scheme alone: {', '.join(shown)}"
    )
    return Verdict(measured, unless(is_good, "more than the better of them"))


def _clean_ups(scale: Scale, cells: Cells) -> Verdict:
    three = [
        (says, _cell(scale, cells, name, scale.gap))
        for says, name in (("rotation", "one by one"), ("inverse path", "inverse"), ("none", "none"))
    ]
    shown = [f"{name} {cell.responsiveness}, longest wait {cell.max_wait:,}" for name, cell in three]
    measured = f"at a request every {scale.gap}, lent one by one: {'; '.join(shown)}"
    rotation, inverse = three[0][1].responsiveness.mean, three[1][1].responsiveness.mean
    return Verdict(measured, unless(inverse <= _NEARLY * rotation, "the way back cleans up too little"), _INVERSE)


def _directed(scale: Scale, cells: Cells) -> Verdict:
    usual, directed = (_cell(scale, cells, name, scale.gap) for name in ("usual", "directed"))
    times = directed.searches.mean / usual.searches.mean
    measured = (
        f"{times:.2f} times ({directed.searches.mean:.1f} against {usual.searches.mean:.1f}); "
        f"responsiveness {directed.responsiveness} against {usual.responsiveness}"
    )
    return Verdict(measured, unless(times <= 2, "more"))


def _one_search(scale: Scale, cells: Cells) -> Verdict:
    over = []
    for gap in scale.gaps_of_variants:
        cell = _cell(scale, cells, "one search", gap)
        moves = cell.messages.mean - cell.searches.mean
        if cell.searches.mean > moves:
            over.append(f"at every {gap} ({cell.searches.mean:.1f} against {moves:.1f})")
    usual, one = (_cell(scale, cells, name, scale.gap) for name in ("usual", "one search"))
    measured = (
        f"{one.searches.mean:.1f} search messages per request at every {scale.gap}, {usual.searches.mean:.1f} without; "
        f"responsiveness {one.responsiveness} against {usual.responsiveness}, "
        f"longest wait {one.max_wait:,} against {usual.max_wait:,}"
    )
    return Verdict(measured, unless(not over, f"more {', '.join(over)}"), _ONE_SEARCH)


def _rests(scale: Scale, cells: Cells) -> Verdict:
    shown = []
    for gap in scale.gaps_of_variants[-2:]:
        usual, rests = (_cell(scale, cells, name, gap) for name in ("usual", "rests"))
        shown.append(
            f"{rests.messages.mean:,.1f} messages per request against {usual.messages.mean:,.1f}, responsiveness "
            f"{rests.responsiveness} against {usual.responsiveness} at every {gap}"
        )
    slowest = max(_cell(scale, cells, "rests", gap).responsiveness.mean for gap in scale.gaps_of_variants)
    is_so = slowest <= log2(scale.nodes) + 1
    return Verdict(f"resting 100 steps at each node: {'; '.join(shown)}", unless(is_so, "it is found late"))


def _losses(scale: Scale, cells: Cells) -> Verdict:
    shown = []
    for loss in (scale.losses[0], scale.losses[-1]):
        parts = []
        for one in LOSING:
            cell = cells[name_of("binary", scale.nodes, scale.gap, one, loss)]
            parts.append(f"{cell.responsiveness.mean:.1f} and {cell.max_wait:,} ({one.says})")
        shown.append(f"with {100 * loss:g} % lost {', '.join(parts)}")
    return Verdict(f"all are served; responsiveness and longest wait {'; '.join(shown)}")


# ----------------------------------------------------------------------------------------------------- what is wanted


def _wanted(scale: Scale) -> Iterator[Statement]:
    first, last = scale.sizes[0], scale.sizes[-1]
    says = f"at fixed load, mean responsiveness is at most log2 N for N = {first} … {last:,}"
    yield Statement((WANTED,), says, _fixed(scale), partial(_at_most_log, scale))
    says = f"at falling load it approaches log2 {scale.nodes} from below, where a ring approaches {scale.nodes // 2}"
    yield Statement((WANTED,), says, (*_falling(scale), *_falling(scale, "ring")), partial(_from_below, scale))
    says = f"at full load it takes at most {_MAX_RATIO} times a ring's steps per grant"
    yield Statement((WANTED,), says, (*_full(scale), *_full(scale, "ring")), partial(_no_worse, scale))


def _no_worse(scale: Scale, cells: Cells) -> Verdict:
    ratios = [
        cells[name_of("binary", nodes, 0)].steps_per_grant.mean / cells[name_of("ring", nodes, 0)].steps_per_grant.mean
        for nodes in scale.sizes_full
    ]
    shown = ", ".join(f"{ratio:.3f} ({nodes:,})" for nodes, ratio in zip(scale.sizes_full, ratios, strict=True))
    return Verdict(f"by nodes: {shown}", unless(max(ratios) <= _MAX_RATIO, "more"))
