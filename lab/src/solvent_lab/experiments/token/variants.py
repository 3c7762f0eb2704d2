"""The statements of the paper about variants of its protocol: sections 4.2 and 4.4, and lost messages."""

from __future__ import annotations

from functools import partial
from math import log2
from typing import TYPE_CHECKING

from solvent_lab.experiments.token.cells import BY_NAME, LOSING, name_of
from solvent_lab.experiments.token.claims import Statement, Verdict, sure, unless

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solvent_lab.experiments.token.cells import Scale
    from solvent_lab.experiments.token.measurement import Cells, Measured

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


def of_variants(scale: Scale) -> Iterator[Statement]:
    """Give the statements about variants."""
    usual, literal = _at(scale, "usual"), _at(scale, "one by one")
    says = "log N fairness needs traps in the order they were set"
    yield Statement("theorem 3", says, (*literal, *_at(scale, "newest first")), partial(_stack, scale))
    says = "who has the token can look for who wants it, by a logarithmic number of messages"
    yield Statement("section 4.2", says, (*usual, *_at(scale, "push")), partial(_push, scale))
    says = "both schemes can be combined"
    needs = (*usual, *_at(scale, "push"), *_at(scale, "both, rests"))
    yield Statement("section 4.2", says, needs, partial(_both, scale))
    says = "old traps can be cleaned up by the token's rotation, or by its way back along the search"
    needs = (*literal, *_at(scale, "inverse"), *_at(scale, "none"))
    yield Statement("section 4.4", says, needs, partial(_clean_ups, scale))
    says = "a directed search takes up to twice the search messages, and may save some"
    yield Statement("section 4.4", says, (*usual, *_at(scale, "directed")), partial(_directed, scale))
    says = "with one search at a time there are no more search messages than token messages"
    yield Statement("section 4.4", says, (*usual, *_at(scale, "one search")), partial(_one_search, scale))
    says = "the token may go round slowly while few want it"
    yield Statement("section 4.4", says, (*usual, *_at(scale, "rests")), partial(_rests, scale))
    says = "cheap messages may be lost: they matter for speed alone"
    yield Statement("section 1", says, _losing(scale), partial(_losses, scale))


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
    shown = [f"{name} {sure(cell.responsiveness)}, longest wait {cell.max_wait:,}" for name, cell in three]
    measured = f"at a request every {scale.gap}, lent one by one: {'; '.join(shown)}"
    rotation, inverse = three[0][1].responsiveness.mean, three[1][1].responsiveness.mean
    return Verdict(measured, unless(inverse <= _NEARLY * rotation, "the way back cleans up too little"), _INVERSE)


def _directed(scale: Scale, cells: Cells) -> Verdict:
    usual, directed = (_cell(scale, cells, name, scale.gap) for name in ("usual", "directed"))
    times = directed.searches.mean / usual.searches.mean
    measured = (
        f"{times:.2f} times ({directed.searches.mean:.1f} against {usual.searches.mean:.1f}); "
        f"responsiveness {sure(directed.responsiveness)} against {sure(usual.responsiveness)}"
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
        f"responsiveness {sure(one.responsiveness)} against {sure(usual.responsiveness)}, "
        f"longest wait {one.max_wait:,} against {usual.max_wait:,}"
    )
    return Verdict(measured, unless(not over, f"more {', '.join(over)}"), _ONE_SEARCH)


def _rests(scale: Scale, cells: Cells) -> Verdict:
    shown = []
    for gap in scale.gaps_of_variants[-2:]:
        usual, rests = (_cell(scale, cells, name, gap) for name in ("usual", "rests"))
        shown.append(
            f"{rests.messages.mean:,.1f} messages per request against {usual.messages.mean:,.1f}, responsiveness "
            f"{sure(rests.responsiveness)} against {sure(usual.responsiveness)} at every {gap}"
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


__all__ = ["of_variants"]
