"""Tables for notebooks: plain HTML without colours of its own, readable in light and dark themes."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MAX_CELL = 300
"""The longest text of a cell; the rest is cut."""
_TABLE = "border-collapse:collapse;font-size:small"
_CELL = "text-align:left;vertical-align:top;padding:2px 10px 2px 0;border-bottom:1px solid rgba(128,128,128,.3)"


def table(head: Sequence[str], rows: Iterable[Sequence[object]], *, says: str = "", below: str = "") -> str:
    """Return a table with a line of text above and below it; cells are escaped, and cut where they are long."""
    cells = "".join(f'<th style="{_CELL}">{escape(one)}</th>' for one in head)
    lines = "".join(f"<tr>{''.join(_cell(one) for one in row)}</tr>" for row in rows)
    body = f'<table style="{_TABLE}"><thead><tr>{cells}</tr></thead><tbody>{lines}</tbody></table>' if lines else ""
    return f'<div class="solvent">{line(says)}{body}{line(below)}</div>'


def line(text: str) -> str:
    """Return a line of text as HTML."""
    return f"<div>{escape(text)}</div>" if text else ""


def _cell(value: object) -> str:
    text = str(value)
    return f'<td style="{_CELL}">{escape(text if len(text) <= MAX_CELL else f"{text[:MAX_CELL]}…")}</td>'


__all__ = ["line", "table"]
