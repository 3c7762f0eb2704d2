"""Figures 7 and 8 of the paper, table 2 drawn, message counts, and the same as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent_lab.experiments.claims import markdown_table
from solvent_lab.experiments.figure import Figure, Panel, Series
from solvent_lab.experiments.handover.cells import (
    COUNTINGS,
    LEAVERS,
    OF_FIGURES,
    ON_PLATFORMS,
    asynchronous,
    by_size,
    on_platform,
)
from solvent_lab.experiments.handover.measurement import (
    MODES,
    MOVES,
    PAPER_ETA,
    PAPER_OVERHEADS,
    fit_of,
    hand_off,
    messages,
    overhead,
    seen,
)
from solvent_lab.experiments.reproduction import Plan
from solvent_lab.simulator.handover_network import LATENCY_FACTOR, PLATFORMS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from solvent_lab.experiments.claims import Estimate
    from solvent_lab.experiments.handover.cells import Scale
    from solvent_lab.experiments.handover.measurement import Cells

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
        curves = [_curve(one.says, xs, [messages(cells, one.name, n) for n in xs]) for one in found]
        panels.append(Panel(f"messages, {says}", tuple(curves)))
    return Figure("messages", "Messages per operation", "processes", tuple(panels), log_x=True)


def _plan(number: int | str, draw: Callable[[Cells, Scale], Figure]) -> Plan:
    return Plan(lambda scale: tuple(dict.fromkeys(cell.name for cell in OF_FIGURES[number](scale))), draw)


FIGURES: dict[int | str, Plan] = {
    7: _plan(7, figure_7),
    8: _plan(8, figure_8),
    "table-2": _plan("table-2", figure_table_2),
    "messages": _plan("messages", figure_messages),
}


# --------------------------------------------------------------------------------------------------------- tables


def tables_of(cells: Cells, scale: Scale) -> list[str]:
    """Return the tables for which everything has been measured."""
    tables: dict[int | str, tuple[Callable[[Cells, Scale], str], ...]] = {
        7: (_sizes, _formula),
        8: (_asynchronous,),
        "table-2": (_leaving,),
        "messages": (_messages,),
    }
    return [
        write(cells, scale)
        for number, writers in tables.items()
        if all(name in cells for name in FIGURES[number].needs(scale))
        for write in writers
    ]


def _sizes(cells: Cells, scale: Scale) -> str:
    rows = []
    for size in scale.sizes:
        row = [f"{size >> 20} MiB" if size >> 20 else f"{size >> 10} KiB"]
        for locked in scale.locked_by_size:
            server, peer = (seen(cells, by_size(mode, size, locked), "cycle").mean for mode in ("server", "peer"))
            row.append(f"{server:,.2f}; {peer:,.2f}; {server / peer:.2f}")
        rows.append(row)
    title = f"Figure 7, {scale.peers} peers: seconds of a cycle client-server; peer to peer; how many times as long"
    return f"{title}\n\n{markdown_table(('data', *[f'T_locked {one:g} s' for one in scale.locked_by_size]), rows)}"


def _formula(cells: Cells, scale: Scale) -> str:
    rows = []
    for mode, says in MODES.items():
        for platform in ON_PLATFORMS:
            part = hand_off(cells, scale, mode, platform)
            cycle = seen(cells, on_platform(mode, platform), "settled").mean
            moved = MOVES[mode] * PLATFORMS[platform].seconds_for(scale.bytes)
            formula = (5.0 + moved + LATENCY_FACTOR * PAPER_ETA[mode]) * scale.peers
            row = (
                f"{1e3 * part:.2f} ms",
                f"{1e6 * part / LATENCY_FACTOR:,.0f} us",
                f"{cycle:.2f} s",
                f"{formula:.2f} s",
            )
            rows.append((says, platform, *row, f"{100 * (cycle / formula - 1):+.2f} %"))
    title = f"Formula (4), {scale.peers} peers, {scale.bytes >> 20} MiB, T_locked 5 s: a hand-off beside data and hold"
    head = ("", "network", "alpha eta", "eta", "cycle", "with the paper's eta", "difference")
    return f"{title}\n\n{markdown_table(head, rows)}"


def _asynchronous(cells: Cells, scale: Scale) -> str:
    rows = []
    for wblocked in scale.wblocked:
        row = [f"{wblocked:g} s"]
        for locked in scale.locked:
            late, early = (asynchronous(locked, wblocked, fetch) for fetch in ("acquire", "grant"))
            times = [seen(cells, late, what).mean for what in ("cycle", "wait", "blocking")]
            row.append(f"{'; '.join(f'{one:.2f}' for one in times)} ({seen(cells, early, 'blocking').mean:.2f})")
        rows.append(row)
    title = (
        f"Figure 8, {scale.peers} peers, {scale.bytes >> 20} MiB: T_DHO; T_wait; T_blocking in seconds "
        "(T_blocking if data is fetched as soon as the lock is granted)"
    )
    letters = [f"({letter}) T_locked {one:g} s" for letter, one in zip("abc", scale.locked, strict=False)]
    return f"{title}\n\n{markdown_table(('T_Wblocked', *letters), rows)}"


def _leaving(cells: Cells, scale: Scale) -> str:
    rows = []
    for part in scale.leaving:
        for peers in scale.peers_leaving:
            paper = PAPER_OVERHEADS.get((peers, part))
            row = [f"{100 * part:g} %", str(peers), f"{paper[0]} s ({paper[1]} %)" if paper else ""]
            for leavers, platform in LEAVERS:
                more, without = overhead(cells, peers, part, leavers, platform)
                row.append(
                    f"{more.mean:+.2f} ± {more.half:.2f} s ({100 * more.mean / without:+.3f} %) of {without:.1f} s"
                )
            rows.append(row)
    title = "Table 2: by how much peers that leave lengthen a cycle of the others"
    return f"{title}\n\n{markdown_table(('leaving', 'peers', 'paper', *LEAVERS.values()), rows)}"


def _messages(cells: Cells, scale: Scale) -> str:
    rows = []
    for one in COUNTINGS:
        counts = [f"{messages(cells, one.name, n).mean:.1f}" for n in scale.processes]
        log, line = (fit := fit_of(cells, scale, one.name)).over_log, fit.over_n
        fits = (
            f"{log.at_zero:.1f} {log.slope:+.2f} log2 n; {log.left:.2f}",
            f"{line.at_zero:.1f} {line.slope:+.4f} n; {line.left:.2f}",
        )
        rows.append((one.says, *counts, *fits))
    title = "Messages per operation, by processes; nearest lines over log2 n and over n, and what each leaves over"
    head = ("operation", *[f"{n:,}" for n in scale.processes], "over log2 n", "over n")
    return f"{title}\n\n{markdown_table(head, rows)}"
