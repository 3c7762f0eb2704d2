"""The table of what is said and what we measure, and under it the measured figures, as Markdown."""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING

from solvent_lab.experiments.token.cells import AT_FULL_LOAD, LOSING, PROTOCOLS, VARIANTS, name_of
from solvent_lab.experiments.token.figures import SAYS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from solvent_lab.experiments.token.cells import Scale
    from solvent_lab.experiments.token.claims import Claim
    from solvent_lab.experiments.token.measurement import Cells, Measured

_OTHERS = "at most so often others got it in one wait (any one of them)"
_WHAT = f"mean responsiveness; messages per request; {_OTHERS}"


def table_as_markdown(claims: Sequence[Claim], cells: Cells, scale: Scale) -> str:
    """Write all tables for which there is something."""
    parts = [_claims(claims)] if claims else []
    parts += [part for part in (_fixed(cells, scale), _falling(cells, scale)) if part]
    parts += [part for part in (_full(cells, scale), _variants(cells, scale), _losses(cells, scale)) if part]
    return "\n\n".join(parts) + "\n"


def _claims(claims: Sequence[Claim]) -> str:
    """Write the statements; explanations stand under them, so that lines stay short."""
    notes: list[str] = []
    rows = []
    for claim in claims:
        difference = claim.difference
        if claim.why:
            if claim.why not in notes:
                notes.append(claim.why)
            difference += f" ({notes.index(claim.why) + 1})"
        rows.append((claim.where, claim.paper, claim.measured, difference))
    table = _table(("where", "paper says, or is wanted", "we measure", "difference"), rows)
    return "\n".join([table, "", *[f"{number}. {note}" for number, note in enumerate(notes, 1)]]).rstrip()


def _fixed(cells: Cells, scale: Scale) -> str:
    names = {(protocol, n): name_of(protocol, n, scale.gap) for protocol in PROTOCOLS for n in scale.sizes}
    if not all(name in cells for name in names.values()):
        return ""
    rows = []
    for nodes in scale.sizes:
        of_size = [cells[names[protocol, nodes]] for protocol in PROTOCOLS]
        rows.append((f"{nodes:,}", f"{log2(nodes):.2f}", *_measured(of_size)))
    title = (
        f"Fixed load, a request every {scale.gap} steps: mean responsiveness; messages per request; others in one wait"
    )
    return f"{title}\n\n{_table(('nodes', 'log2 N', *SAYS.values()), rows)}"


def _falling(cells: Cells, scale: Scale) -> str:
    names = {(protocol, gap): name_of(protocol, scale.nodes, gap) for protocol in PROTOCOLS for gap in scale.gaps}
    if not all(name in cells for name in names.values()):
        return ""
    rows = [(f"{gap:,}", *_measured([cells[names[protocol, gap]] for protocol in PROTOCOLS])) for gap in scale.gaps]
    title = f"Falling load, {scale.nodes} nodes: {_WHAT}"
    return f"{title}\n\n{_table(('a request every', *SAYS.values()), rows)}"


def _measured(cells: Iterable[Measured]) -> list[str]:
    return [
        f"{cell.responsiveness.mean:.2f} ± {cell.responsiveness.half:.2f}; {cell.messages.mean:,.1f}; "
        f"{cell.max_others:,} ({cell.max_one_other})"
        for cell in cells
    ]


def _full(cells: Cells, scale: Scale) -> str:
    which = [(protocol, None) for protocol in PROTOCOLS] + [("binary", variant) for variant in AT_FULL_LOAD]
    if not all(name_of(one, nodes, 0, variant) in cells for nodes in scale.sizes_full for one, variant in which):
        return ""
    rows = []
    for nodes in scale.sizes_full:
        of_size = [cells[name_of(protocol, nodes, 0, variant)] for protocol, variant in which]
        shown = [
            f"{cell.steps_per_grant.mean:.3f}; {cell.messages.mean:.1f}; {cell.max_others:,} ({cell.max_one_other})"
            for cell in of_size
        ]
        rows.append((f"{nodes:,}", *shown))
    title = f"Full load: steps per grant; messages per grant; {_OTHERS}"
    return f"{title}\n\n{_table(('nodes', *SAYS.values(), *[one.says for one in AT_FULL_LOAD]), rows)}"


def _variants(cells: Cells, scale: Scale) -> str:
    nodes, gaps = scale.nodes, scale.gaps_of_variants
    names = {(one.name, gap): name_of("binary", nodes, gap, one) for one in VARIANTS for gap in gaps}
    if not all(name in cells for name in names.values()):
        return ""
    rows = [(one.says, *[_waits(cells[names[one.name, gap]]) for gap in gaps]) for one in VARIANTS]
    title = f"Variants, {nodes} nodes: mean responsiveness; mean wait (longest); messages per request"
    head = ("variant", *[f"every {gap:,}" for gap in gaps])
    return f"{title}\n\n{_table(head, rows)}"


def _losses(cells: Cells, scale: Scale) -> str:
    nodes, gap = scale.nodes, scale.gap
    names = {(one.name, loss): name_of("binary", nodes, gap, one, loss) for one in LOSING for loss in scale.losses}
    if not all(name in cells for name in names.values()):
        return ""
    rows = [(one.says, *[_waits(cells[names[one.name, loss]]) for loss in scale.losses]) for one in LOSING]
    title = f"Cheap messages get lost, {nodes} nodes, a request every {gap} steps: the same"
    head = ("variant", *[f"{100 * loss:g} % lost" for loss in scale.losses])
    return f"{title}\n\n{_table(head, rows)}"


def _waits(cell: Measured) -> str:
    return f"{cell.responsiveness.mean:.2f}; {cell.wait.mean:,.1f} ({cell.max_wait:,}); {cell.messages.mean:,.1f}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join([_row(head), "|" + "---|" * len(head), *map(_row, rows)])


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


__all__ = ["table_as_markdown"]
