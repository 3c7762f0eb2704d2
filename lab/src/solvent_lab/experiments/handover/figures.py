"""The figures: 7 and 8 of the paper, table 2 drawn, and message counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent_lab.experiments.figure import Figure, Panel, Series
from solvent_lab.experiments.handover.cells import (
    COUNTINGS,
    LEAVERS,
    ON_PLATFORMS,
    asynchronous,
    by_size,
    counting,
    mobile,
    on_platform,
    without_them,
)
from solvent_lab.experiments.handover.measurement import messages, seen
from solvent_lab.experiments.reproduction import Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solvent_lab.experiments.handover.cells import Scale
    from solvent_lab.experiments.handover.measurement import Cells
    from solvent_lab.experiments.token.measurement import Estimate

MODES = {"peer": "peer to peer", "server": "client-server"}
PAPER_OVERHEADS = {
    (50, 0.25): (2.27, 0.842),
    (50, 0.33): (2.65, 0.98),
    (50, 0.5): (4.29, 1.56),
    (120, 0.25): (4.27, 0.725),
    (120, 0.33): (6.46, 1.05),
    (120, 0.5): (10.34, 1.68),
}
"""The paper's table 2: seconds, and per cent of a cycle."""
_COLOURS = ("C0", "C1", "C2")


def _curve(
    name: str, xs: Sequence[float], ys: Sequence[Estimate], *, is_beside: bool = False, colour: str | None = None
) -> Series:
    means, lows, highs = [y.mean for y in ys], [max(0.0, y.low) for y in ys], [y.high for y in ys]
    return Series(name, xs, means, is_beside, colour, lows, highs)


def figure_7(cells: Cells, scale: Scale) -> Figure:
    """Draw how long a cycle takes, by the size of the data."""
    xs = [size / (1 << 20) for size in scale.sizes]
    panels = []
    for locked in scale.locked_by_size:
        curves = []
        for mode, says in MODES.items():
            ys = [seen(cells, by_size(mode, size, locked), "cycle") for size in scale.sizes]
            curves.append(_curve(says, xs, ys, is_beside=mode == "server"))
        panels.append(Panel(f"cycle in s, T_locked {locked:g} s", tuple(curves), log_y=True))
    return Figure(7, f"Cycle time by data size, {scale.peers} peers", "MiB", tuple(panels), log_x=True)


def figure_8(cells: Cells, scale: Scale) -> Figure:
    """Draw cycle, wait and blocking by the time between claim and wait."""
    xs = scale.wblocked
    panels = []
    for letter, locked in zip("abc", scale.locked, strict=False):
        paper = [asynchronous(locked, wblocked, "acquire") for wblocked in xs]
        ours = [asynchronous(locked, wblocked, "grant") for wblocked in xs]
        curves = [
            _curve(name, xs, [seen(cells, cell, what) for cell in paper], colour=colour)
            for (name, what), colour in zip(
                (("T_DHO", "cycle"), ("T_wait", "wait"), ("T_blocking", "blocking")), _COLOURS, strict=True
            )
        ]
        early = [seen(cells, cell, "blocking") for cell in ours]
        curves.append(_curve("T_blocking, fetched when granted", xs, early, is_beside=True, colour="C3"))
        panels.append(Panel(f"({letter}) T_locked {locked:g} s", tuple(curves)))
    title = f"Times by T_Wblocked, {scale.peers} peers, {scale.bytes >> 20} MiB"
    return Figure(8, title, "T_Wblocked in s", tuple(panels))


def overhead(cells: Cells, peers: int, leaving: float, leavers: str, platform: str) -> tuple[Estimate, float]:
    """Give by how much peers that leave lengthen the others' cycles, and the cycle without them."""
    with_them = seen(cells, mobile(peers, leaving, leavers, platform), "settled")
    without = seen(cells, without_them(peers, leaving, leavers, platform), "settled")
    half = (with_them.half**2 + without.half**2) ** 0.5
    return type(with_them)(with_them.mean - without.mean, half), without.mean


def figure_table_2(cells: Cells, scale: Scale) -> Figure:
    """Draw by how much peers that leave lengthen the cycles of the others."""
    xs = [100 * part for part in scale.leaving]
    panels = []
    for peers in scale.peers_leaving:
        curves = []
        for (leavers, platform), says in LEAVERS.items():
            ys = [overhead(cells, peers, part, leavers, platform)[0].mean for part in scale.leaving]
            curves.append(Series(says, xs, ys))
        paper = [PAPER_OVERHEADS.get((peers, part), (0.0, 0.0))[0] for part in scale.leaving]
        curves.append(Series("paper", xs, paper, is_beside=True, colour="black"))
        panels.append(Panel(f"overhead in s, {peers} peers", tuple(curves)))
    return Figure("table-2", "Table 2: what peers that leave cost the others", "% leaving", tuple(panels))


def figure_messages(cells: Cells, scale: Scale) -> Figure:
    """Draw the messages of each operation by the number of processes."""
    xs = scale.processes
    groups = (("order 2", ""), ("lazy", "lazy "), ("order 8, seats kept", "ours "))
    panels = []
    for says, prefix in groups:
        found = [one for one in COUNTINGS if (one.name.split()[0] + " " if " " in one.name else "") == prefix]
        curves = [_curve(one.says, xs, [messages(cells, counting(one.name, n)) for n in xs]) for one in found]
        panels.append(Panel(f"messages, {says}", tuple(curves)))
    return Figure("messages", "Messages per operation", "processes", tuple(panels), log_x=True)


# ---------------------------------------------------------------------------------------------------------- needs


def _of_7(scale: Scale) -> tuple[str, ...]:
    sizes = [by_size(mode, size, locked) for mode in MODES for locked in scale.locked_by_size for size in scale.sizes]
    return (*sizes, *[on_platform(mode, platform) for mode in MODES for platform in ON_PLATFORMS])


def _of_8(scale: Scale) -> tuple[str, ...]:
    return tuple(
        asynchronous(locked, wblocked, fetch)
        for locked in scale.locked
        for wblocked in scale.wblocked
        for fetch in ("acquire", "grant")
    )


def _of_table_2(scale: Scale) -> tuple[str, ...]:
    names = [
        name(peers, part, *who)
        for peers in scale.peers_leaving
        for part in scale.leaving
        for who in LEAVERS
        for name in (without_them, mobile)
    ]
    return tuple(dict.fromkeys(names))


def _of_messages(scale: Scale) -> tuple[str, ...]:
    return tuple(counting(one.name, processes) for one in COUNTINGS for processes in scale.processes)


FIGURES: dict[int | str, Plan] = {
    7: Plan(_of_7, figure_7),
    8: Plan(_of_8, figure_8),
    "table-2": Plan(_of_table_2, figure_table_2),
    "messages": Plan(_of_messages, figure_messages),
}

__all__ = [
    "FIGURES",
    "MODES",
    "PAPER_OVERHEADS",
    "figure_7",
    "figure_8",
    "figure_messages",
    "figure_table_2",
    "overhead",
]
