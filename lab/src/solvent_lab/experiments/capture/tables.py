"""The table *paper says / we measure / difference*, as Markdown and as plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solvent_lab.experiments.capture.claims import Claim

_HEAD = ("experiment", "figure", "paper says", "we measure", "difference", "why")


def table_as_markdown(claims: Sequence[Claim]) -> str:
    """Write the table; explanations stand under it, so that its lines stay short."""
    notes: list[str] = []
    rows = []
    for claim in claims:
        difference = claim.difference
        if claim.why:
            if claim.why not in notes:
                notes.append(claim.why)
            difference += f" ({notes.index(claim.why) + 1})"
        figure = str(claim.figure) if claim.figure else ""
        rows.append((str(claim.experiment or "ours"), figure, claim.paper, claim.measured, difference))
    lines = [_row(_HEAD[:5]), "|---|---|---|---|---|", *map(_row, rows)]
    if notes:
        lines += ["", *[f"{number}. {note}" for number, note in enumerate(notes, 1)]]
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def table_as_values(claims: Sequence[Claim]) -> list[dict[str, Any]]:
    """Give the claims with the names of their fields."""
    return [claim._asdict() for claim in claims]


__all__ = ["table_as_markdown", "table_as_values"]
