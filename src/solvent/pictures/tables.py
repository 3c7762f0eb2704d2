"""Tables for notebooks: plain HTML without colours of its own, so that it can be read on any ground."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

CELL_MAX = 300
"""How many letters of a cell are shown."""
_TABLE = "border-collapse:collapse;font-size:small"
_CELL = "text-align:left;vertical-align:top;padding:2px 10px 2px 0;border-bottom:1px solid rgba(128,128,128,.3)"


def table(head: Sequence[str], rows: Iterable[Sequence[object]], *, says: str = "", below: str = "") -> str:
    """Give a table with a line above it and one below; cells are texts, cut where they are long, never markup."""
    cells = "".join(f'<th style="{_CELL}">{escape(one)}</th>' for one in head)
    lines = "".join(f"<tr>{''.join(_cell(one) for one in row)}</tr>" for row in rows)
    body = f'<table style="{_TABLE}"><thead><tr>{cells}</tr></thead><tbody>{lines}</tbody></table>' if lines else ""
    return f'<div class="solvent">{line(says)}{body}{line(below)}</div>'


def line(text: str) -> str:
    """Give a line of text."""
    return f"<div>{escape(text)}</div>" if text else ""


def _cell(value: object) -> str:
    text = str(value)
    return f'<td style="{_CELL}">{escape(text if len(text) <= CELL_MAX else f"{text[:CELL_MAX]}…")}</td>'


__all__ = ["line", "table"]
