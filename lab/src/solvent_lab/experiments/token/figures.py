"""Figures 9 and 10 of the paper, with messages and fairness under them, three of ours, and the same as tables."""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING, NamedTuple

from solvent_lab.experiments.claims import Estimate, markdown_table
from solvent_lab.experiments.figure import Figure, Panel, Series
from solvent_lab.experiments.reproduction import Plan
from solvent_lab.experiments.token.cells import AT_FULL_LOAD, LOSING, PEERS, PROTOCOLS, VARIANTS, Scale, name_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from solvent_lab.experiments.token.cells import Cells, Measured

SAYS = {"ring": "ring", "binary": "BinarySearch", "raymond": "Raymond's tree", "naimi": "Naimi and Tréhel"}
_OTHERS = "others served in one wait, at most"
_OTHERS_IN_TABLE = "at most so often others got it in one wait (any one of them)"


class Curve(NamedTuple):
    """One protocol or variant: its name, whether it is drawn beside the others, and the names of its cells."""

    says: str
    is_beside: bool
    names: list[str]


# ------------------------------------------------------------------------------------------------------- what is shown


def _fixed(scale: Scale) -> list[Curve]:
    return [Curve(SAYS[one], one in PEERS, [name_of(one, n, scale.gap) for n in scale.sizes]) for one in PROTOCOLS]


def _falling(scale: Scale) -> list[Curve]:
    return [Curve(SAYS[one], one in PEERS, [name_of(one, scale.nodes, gap) for gap in scale.gaps]) for one in PROTOCOLS]


def _variants(scale: Scale) -> list[Curve]:
    gaps = scale.gaps_of_variants
    return [
        Curve(one.says, number > 0, [name_of("binary", scale.nodes, gap, one) for gap in gaps])
        for number, one in enumerate(VARIANTS)
    ]


def _full(scale: Scale) -> list[Curve]:
    sizes = scale.sizes_full
    protocols = [Curve(SAYS[one], one in PEERS, [name_of(one, n, 0) for n in sizes]) for one in PROTOCOLS]
    return protocols + [Curve(one.says, True, [name_of("binary", n, 0, one) for n in sizes]) for one in AT_FULL_LOAD]


def _losses(scale: Scale) -> list[Curve]:
    return [
        Curve(one.says, number > 0, [name_of("binary", scale.nodes, scale.gap, one, loss) for loss in scale.losses])
        for number, one in enumerate(LOSING)
    ]


# ------------------------------------------------------------------------------------------------------------- figures


def _panel(
    y_name: str,
    what: str,
    curves: Iterable[Curve],
    xs: Sequence[float],
    cells: Cells,
    *bounds: Series,
    log_y: bool = False,
) -> Panel:
    """Draw something that was measured, by its name: means with their intervals, or maxima."""
    series = []
    for says, is_beside, names in curves:
        values = [getattr(cells[name], what) for name in names]
        if isinstance(values[0], Estimate):
            # Nothing that is measured here can be negative, however wide an interval of few runs is.
            lows, highs = [max(value.low, 0.0) for value in values], [value.high for value in values]
            series.append(Series(says, xs, [value.mean for value in values], is_beside, lows=lows, highs=highs))
        else:
            series.append(Series(says, xs, values, is_beside))
    return Panel(y_name, (*series, *bounds), log_y)


def _bound(name: str, xs: Sequence[float], ys: Sequence[float]) -> Series:
    return Series(name, xs, ys, is_beside=True, colour="black")


def figure_9(cells: Cells, scale: Scale) -> Figure:
    """Draw how soon somebody is served at a fixed load, by the number of nodes."""
    xs, curves = scale.sizes, _fixed(scale)
    bound = _bound("log2 N", xs, [log2(nodes) for nodes in xs])
    panels = (
        _panel("responsiveness", "responsiveness", curves, xs, cells, bound),
        _panel("messages per request", "messages", curves, xs, cells),
        _panel(_OTHERS, "max_others", curves, xs, cells, log_y=True),
    )
    return Figure(9, f"Fixed load, a request every {scale.gap} steps", "nodes", panels, log_x=True)


def figure_10(cells: Cells, scale: Scale) -> Figure:
    """Draw how soon somebody is served in a ring of a fixed size, by the time between requests."""
    xs, curves = scale.gaps, _falling(scale)
    log_n, n = _bound("log2 N", xs, [log2(scale.nodes)] * len(xs)), _bound("N", xs, [scale.nodes] * len(xs))
    panels = (
        _panel("responsiveness", "responsiveness", curves, xs, cells, log_n),
        _panel("messages per request", "messages", curves, xs, cells, log_y=True),
        _panel(_OTHERS, "max_others", curves, xs, cells, n, log_y=True),
    )
    return Figure(10, f"Falling load, {scale.nodes} nodes", "steps between requests", panels, log_x=True)


def figure_full(cells: Cells, scale: Scale) -> Figure:
    """Draw what each protocol can do when every node always wants the token."""
    xs, curves = scale.sizes_full, _full(scale)
    named = [
        one if number < len(PROTOCOLS) else one._replace(says=f"BinarySearch, {one.says}")
        for number, one in enumerate(curves)
    ]
    panels = (
        _panel("steps per grant", "steps_per_grant", named, xs, cells),
        _panel("messages per request", "messages", named, xs, cells),
        _panel(_OTHERS, "max_others", named, xs, cells, _bound("N", xs, xs), log_y=True),
    )
    return Figure("full", "Full load: every node always wants the token", "nodes", panels, log_x=True)


def _waits_panels(
    curves: Sequence[Curve], xs: Sequence[float], cells: Cells, scale: Scale
) -> tuple[Panel, Panel, Panel]:
    return (
        _panel(
            "responsiveness",
            "responsiveness",
            curves,
            xs,
            cells,
            _bound("log2 N", xs, [log2(scale.nodes)] * len(xs)),
        ),
        _panel("longest wait", "max_wait", curves, xs, cells, log_y=True),
        _panel("messages per request", "messages", curves, xs, cells, log_y=True),
    )


def figure_variants(cells: Cells, scale: Scale) -> Figure:
    """Draw the variants of the search beside each other, by the time between requests."""
    panels = _waits_panels(_variants(scale), scale.gaps_of_variants, cells, scale)
    return Figure("variants", f"Variants of the search, {scale.nodes} nodes", "steps between requests", panels, True)


def figure_losses(cells: Cells, scale: Scale) -> Figure:
    """Draw what becomes of searches while messages get lost."""
    panels = _waits_panels(_losses(scale), [100 * loss for loss in scale.losses], cells, scale)
    title = f"Cheap messages get lost, {scale.nodes} nodes, a request every {scale.gap} steps"
    return Figure("losses", title, "part lost, in %", panels)


def _needs(curves_of: Callable[[Scale], list[Curve]]) -> Callable[[Scale], tuple[str, ...]]:
    return lambda scale: tuple(name for curve in curves_of(scale) for name in curve.names)


FIGURES: dict[int | str, Plan] = {
    9: Plan(_needs(_fixed), figure_9),
    10: Plan(_needs(_falling), figure_10),
    "variants": Plan(_needs(_variants), figure_variants),
    "full": Plan(_needs(_full), figure_full),
    "losses": Plan(_needs(_losses), figure_losses),
}


# -------------------------------------------------------------------------------------------------------------- tables


def tables_of(cells: Cells, scale: Scale) -> list[str]:
    """Return the tables for which everything has been measured."""
    tables: dict[int | str, Callable[[Cells, Scale], tuple[str, str]]] = {
        9: _fixed_table,
        10: _falling_table,
        "full": _full_table,
        "variants": _variants_table,
        "losses": _losses_table,
    }
    return [
        "\n\n".join(table(cells, scale))
        for number, table in tables.items()
        if all(name in cells for name in FIGURES[number].needs(scale))
    ]


def _by_x(curves: Sequence[Curve], cells: Cells, write: Callable[[Measured], str]) -> list[list[str]]:
    """Return a row for each x, with a cell for each curve."""
    return [[write(cells[name]) for name in names] for names in zip(*[one.names for one in curves], strict=True)]


def _fixed_table(cells: Cells, scale: Scale) -> tuple[str, str]:
    title = f"Fixed load, a request every {scale.gap} steps: mean responsiveness; messages per request; "
    rows = _by_x(_fixed(scale), cells, _measured)
    shown = [(f"{nodes:,}", f"{log2(nodes):.2f}", *row) for nodes, row in zip(scale.sizes, rows, strict=True)]
    return title + "others in one wait", markdown_table(("nodes", "log2 N", *SAYS.values()), shown)


def _falling_table(cells: Cells, scale: Scale) -> tuple[str, str]:
    title = f"Falling load, {scale.nodes} nodes: mean responsiveness; messages per request; {_OTHERS_IN_TABLE}"
    rows = _by_x(_falling(scale), cells, _measured)
    shown = [(f"{gap:,}", *row) for gap, row in zip(scale.gaps, rows, strict=True)]
    return title, markdown_table(("a request every", *SAYS.values()), shown)


def _full_table(cells: Cells, scale: Scale) -> tuple[str, str]:
    def write(cell: Measured) -> str:
        return f"{cell.steps_per_grant.mean:.3f}; {cell.messages.mean:.1f}; {_others(cell)}"

    rows = _by_x(_full(scale), cells, write)
    shown = [(f"{nodes:,}", *row) for nodes, row in zip(scale.sizes_full, rows, strict=True)]
    table = markdown_table(("nodes", *[one.says for one in _full(scale)]), shown)
    return f"Full load: steps per grant; messages per grant; {_OTHERS_IN_TABLE}", table


def _variants_table(cells: Cells, scale: Scale) -> tuple[str, str]:
    title = f"Variants, {scale.nodes} nodes: mean responsiveness; mean wait (longest); messages per request"
    return title, _waits_table(_variants(scale), cells, [f"every {gap:,}" for gap in scale.gaps_of_variants])


def _losses_table(cells: Cells, scale: Scale) -> tuple[str, str]:
    title = f"Cheap messages get lost, {scale.nodes} nodes, a request every {scale.gap} steps: the same"
    return title, _waits_table(_losses(scale), cells, [f"{100 * loss:g} % lost" for loss in scale.losses])


def _waits_table(curves: Sequence[Curve], cells: Cells, head: list[str]) -> str:
    def write(cell: Measured) -> str:
        return f"{cell.responsiveness.mean:.2f}; {cell.wait.mean:,.1f} ({cell.max_wait:,}); {cell.messages.mean:,.1f}"

    rows = [(one.says, *[write(cells[name]) for name in one.names]) for one in curves]
    return markdown_table(("variant", *head), rows)


def _measured(cell: Measured) -> str:
    return f"{cell.responsiveness}; {cell.messages.mean:,.1f}; {_others(cell)}"


def _others(cell: Measured) -> str:
    return f"{cell.max_others:,} ({cell.max_one_other})"
