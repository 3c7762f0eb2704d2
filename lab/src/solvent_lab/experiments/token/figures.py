"""The figures: 9 and 10 of the paper, with messages and fairness under them, and two of ours."""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING

from solvent_lab.experiments.figure import Figure, Panel, Series
from solvent_lab.experiments.reproduction import Plan
from solvent_lab.experiments.token.cells import AT_FULL_LOAD, LOSING, PEERS, PROTOCOLS, VARIANTS, name_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from solvent_lab.experiments.token.cells import Scale
    from solvent_lab.experiments.token.measurement import Cells, Estimate, Measured

SAYS = {"ring": "ring", "binary": "BinarySearch", "raymond": "Raymond's tree", "naimi": "Naimi and Tréhel"}
_RESPONSIVENESS, _MESSAGES, _OTHERS = "responsiveness", "messages per request", "others served in one wait, at most"


def _curve(
    name: str, xs: Sequence[float], cells: Sequence[Measured], of: Callable[[Measured], Estimate], *, is_beside: bool
) -> Series:
    values = [of(cell) for cell in cells]
    means = [value.mean for value in values]
    # Nothing that is measured here can be negative, however wide an interval of few runs is.
    lows = [max(value.low, 0.0) for value in values]
    return Series(name, xs, means, is_beside, lows=lows, highs=[value.high for value in values])


def _by_protocol(
    xs: Sequence[int], cell_of: Callable[[str, int], Measured]
) -> tuple[list[Series], list[Series], list[Series]]:
    """Draw responsiveness, messages and fairness of every protocol."""
    responsive, messages, others = [], [], []
    for protocol in PROTOCOLS:
        cells, is_beside = [cell_of(protocol, x) for x in xs], protocol in PEERS
        name = SAYS[protocol]
        responsive.append(_curve(name, xs, cells, lambda cell: cell.responsiveness, is_beside=is_beside))
        messages.append(_curve(name, xs, cells, lambda cell: cell.messages, is_beside=is_beside))
        others.append(Series(name, xs, [cell.max_others for cell in cells], is_beside))
    return responsive, messages, others


def _bound(name: str, xs: Sequence[float], ys: Sequence[float]) -> Series:
    return Series(name, xs, ys, is_beside=True, colour="black")


def figure_9(cells: Cells, scale: Scale) -> Figure:
    """Draw how soon somebody is served at a fixed load, by the number of nodes."""
    xs = scale.sizes
    responsive, messages, others = _by_protocol(xs, lambda protocol, nodes: cells[name_of(protocol, nodes, scale.gap)])
    responsive.append(_bound("log2 N", xs, [log2(nodes) for nodes in xs]))
    panels = (
        Panel(_RESPONSIVENESS, tuple(responsive)),
        Panel(_MESSAGES, tuple(messages)),
        Panel(_OTHERS, tuple(others), log_y=True),
    )
    return Figure(9, f"Fixed load, a request every {scale.gap} steps", "nodes", panels, log_x=True)


def figure_10(cells: Cells, scale: Scale) -> Figure:
    """Draw how soon somebody is served in a ring of a fixed size, by the time between requests."""
    xs = scale.gaps
    responsive, messages, others = _by_protocol(xs, lambda protocol, gap: cells[name_of(protocol, scale.nodes, gap)])
    responsive.append(_bound("log2 N", xs, [log2(scale.nodes)] * len(xs)))
    others.append(_bound("N", xs, [scale.nodes] * len(xs)))
    panels = (
        Panel(_RESPONSIVENESS, tuple(responsive)),
        Panel(_MESSAGES, tuple(messages), log_y=True),
        Panel(_OTHERS, tuple(others), log_y=True),
    )
    return Figure(10, f"Falling load, {scale.nodes} nodes", "steps between requests", panels, log_x=True)


def figure_variants(cells: Cells, scale: Scale) -> Figure:
    """Draw the variants of the search beside each other, by the time between requests."""
    xs = scale.gaps_of_variants
    responsive, waits, messages = [], [], []
    for number, variant in enumerate(VARIANTS):
        of_variant = [cells[name_of("binary", scale.nodes, gap, variant)] for gap in xs]
        is_beside = number > 0
        responsive.append(_curve(variant.says, xs, of_variant, lambda cell: cell.responsiveness, is_beside=is_beside))
        waits.append(Series(variant.says, xs, [cell.max_wait for cell in of_variant], is_beside))
        messages.append(_curve(variant.says, xs, of_variant, lambda cell: cell.messages, is_beside=is_beside))
    responsive.append(_bound("log2 N", xs, [log2(scale.nodes)] * len(xs)))
    panels = (
        Panel(_RESPONSIVENESS, tuple(responsive)),
        Panel("longest wait", tuple(waits), log_y=True),
        Panel(_MESSAGES, tuple(messages), log_y=True),
    )
    return Figure("variants", f"Variants of the search, {scale.nodes} nodes", "steps between requests", panels, True)


def figure_full(cells: Cells, scale: Scale) -> Figure:
    """Draw what each protocol can do when every node always wants the token."""
    xs = scale.sizes_full
    steps, messages, others = [], [], []
    which = [(SAYS[protocol], protocol, None) for protocol in PROTOCOLS]
    others_of_binary = [(f"BinarySearch, {variant.says}", "binary", variant) for variant in AT_FULL_LOAD]
    for name, protocol, variant in [*which, *others_of_binary]:
        of_protocol = [cells[name_of(protocol, nodes, 0, variant)] for nodes in xs]
        is_beside = protocol in PEERS or variant is not None
        steps.append(_curve(name, xs, of_protocol, lambda cell: cell.steps_per_grant, is_beside=is_beside))
        messages.append(_curve(name, xs, of_protocol, lambda cell: cell.messages, is_beside=is_beside))
        others.append(Series(name, xs, [cell.max_others for cell in of_protocol], is_beside))
    others.append(_bound("N", xs, xs))
    panels = (
        Panel("steps per grant", tuple(steps)),
        Panel(_MESSAGES, tuple(messages)),
        Panel(_OTHERS, tuple(others), log_y=True),
    )
    return Figure("full", "Full load: every node always wants the token", "nodes", panels, log_x=True)


def figure_losses(cells: Cells, scale: Scale) -> Figure:
    """Draw what becomes of searches while messages get lost."""
    xs = scale.losses
    percents = [100 * loss for loss in xs]
    responsive, waits, messages = [], [], []
    for number, variant in enumerate(LOSING):
        of_variant = [cells[name_of("binary", scale.nodes, scale.gap, variant, loss)] for loss in xs]
        is_beside, name = number > 0, variant.says
        responsive.append(_curve(name, percents, of_variant, lambda cell: cell.responsiveness, is_beside=is_beside))
        waits.append(Series(name, percents, [cell.max_wait for cell in of_variant], is_beside))
        messages.append(_curve(name, percents, of_variant, lambda cell: cell.messages, is_beside=is_beside))
    responsive.append(_bound("log2 N", percents, [log2(scale.nodes)] * len(xs)))
    panels = (
        Panel(_RESPONSIVENESS, tuple(responsive)),
        Panel("longest wait", tuple(waits), log_y=True),
        Panel(_MESSAGES, tuple(messages), log_y=True),
    )
    title = f"Cheap messages get lost, {scale.nodes} nodes, a request every {scale.gap} steps"
    return Figure("losses", title, "part lost, in %", panels)


def _fixed(scale: Scale) -> tuple[str, ...]:
    return tuple(name_of(protocol, nodes, scale.gap) for protocol in PROTOCOLS for nodes in scale.sizes)


def _falling(scale: Scale) -> tuple[str, ...]:
    return tuple(name_of(protocol, scale.nodes, gap) for protocol in PROTOCOLS for gap in scale.gaps)


def _variants(scale: Scale) -> tuple[str, ...]:
    return tuple(name_of("binary", scale.nodes, gap, one) for one in VARIANTS for gap in scale.gaps_of_variants)


def _full(scale: Scale) -> tuple[str, ...]:
    names = [name_of(protocol, nodes, 0) for protocol in PROTOCOLS for nodes in scale.sizes_full]
    return (*names, *[name_of("binary", nodes, 0, one) for one in AT_FULL_LOAD for nodes in scale.sizes_full])


def _losses(scale: Scale) -> tuple[str, ...]:
    return tuple(name_of("binary", scale.nodes, scale.gap, one, loss) for one in LOSING for loss in scale.losses)


FIGURES: dict[int | str, Plan] = {
    9: Plan(_fixed, figure_9),
    10: Plan(_falling, figure_10),
    "variants": Plan(_variants, figure_variants),
    "full": Plan(_full, figure_full),
    "losses": Plan(_losses, figure_losses),
}

__all__ = ["FIGURES", "SAYS", "figure_9", "figure_10", "figure_full", "figure_losses", "figure_variants"]
