"""The table of what is said and what we measure, and under it the measured figures, as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent_lab.experiments.handover.cells import (
    COUNTINGS,
    LEAVERS,
    ON_PLATFORMS,
    asynchronous,
    by_size,
    counting,
    on_platform,
)
from solvent_lab.experiments.handover.claims import PAPER_ETA, fit_of, hand_off
from solvent_lab.experiments.handover.figures import FIGURES, MODES, PAPER_OVERHEADS, overhead
from solvent_lab.experiments.handover.measurement import messages, seen
from solvent_lab.simulator.handover_platform import LATENCY_FACTOR, PLATFORMS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from solvent_lab.experiments.handover.cells import Scale
    from solvent_lab.experiments.handover.measurement import Cells
    from solvent_lab.experiments.token.claims import Claim


def table_as_markdown(claims: Sequence[Claim], cells: Cells, scale: Scale) -> str:
    """Write all tables for which there is something."""
    parts = [_claims(claims)] if claims else []
    writers: dict[int | str, tuple[Callable[[Cells, Scale], str], ...]] = {
        7: (_sizes, _formula),
        8: (_asynchronous,),
        "table-2": (_leaving,),
        "messages": (_messages,),
    }
    for number, writes in writers.items():
        if all(name in cells for name in FIGURES[number].needs(scale)):
            parts += [write(cells, scale) for write in writes]
    return "\n\n".join(parts) + "\n"


def _claims(claims: Sequence[Claim]) -> str:
    """Write the statements; explanations stand under them, so that lines stay short."""
    notes: list[str] = []
    rows = []
    for claim in claims:
        difference = claim.difference
        if claim.why and claim.difference != "none":
            if claim.why not in notes:
                notes.append(claim.why)
            difference += f" ({notes.index(claim.why) + 1})"
        rows.append((claim.where, claim.paper, claim.measured, difference))
    table = _table(("where", "paper says, or is wanted", "we measure", "difference"), rows)
    return "\n".join([table, "", *[f"{number}. {note}" for number, note in enumerate(notes, 1)]]).rstrip()


def _sizes(cells: Cells, scale: Scale) -> str:
    rows = []
    for size in scale.sizes:
        row = [f"{size >> 20} MiB" if size >> 20 else f"{size >> 10} KiB"]
        for locked in scale.locked_by_size:
            server, peer = (seen(cells, by_size(mode, size, locked), "cycle").mean for mode in ("server", "peer"))
            row.append(f"{server:,.2f}; {peer:,.2f}; {server / peer:.2f}")
        rows.append(row)
    title = f"Figure 7, {scale.peers} peers: seconds of a cycle client-server; peer to peer; how many times as long"
    return f"{title}\n\n{_table(('data', *[f'T_locked {one:g} s' for one in scale.locked_by_size]), rows)}"


def _formula(cells: Cells, scale: Scale) -> str:
    rows = []
    for mode, says in MODES.items():
        for platform in ON_PLATFORMS:
            part = hand_off(cells, scale, mode, platform)
            cycle = seen(cells, on_platform(mode, platform), "settled").mean
            moved = (1 if mode == "peer" else 2) * PLATFORMS[platform].seconds_for(scale.bytes)
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
    return f"{title}\n\n{_table(head, rows)}"


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
    return f"{title}\n\n{_table(('T_Wblocked', *letters), rows)}"


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
    return f"{title}\n\n{_table(('leaving', 'peers', 'paper', *LEAVERS.values()), rows)}"


def _messages(cells: Cells, scale: Scale) -> str:
    rows = []
    for one in COUNTINGS:
        counts = [f"{messages(cells, counting(one.name, n)).mean:.1f}" for n in scale.processes]
        log, line = (fit := fit_of(cells, scale, one.name)).over_log, fit.over_n
        fits = (
            f"{log.at_zero:.1f} {log.slope:+.2f} log2 n; {log.left:.2f}",
            f"{line.at_zero:.1f} {line.slope:+.4f} n; {line.left:.2f}",
        )
        rows.append((one.says, *counts, *fits))
    title = "Messages per operation, by processes; nearest lines over log2 n and over n, and what each leaves over"
    head = ("operation", *[f"{n:,}" for n in scale.processes], "over log2 n", "over n")
    return f"{title}\n\n{_table(head, rows)}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join([_row(head), "|" + "---|" * len(head), *map(_row, rows)])


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


__all__ = ["table_as_markdown"]
