"""Errors and warnings as a page shows them: with the stretch of the text that they are about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from solvent.errors import SolventError
    from solvent.lang.doubts import Doubt
    from solvent.source import Span

NAME = "program"
"""What the text is called."""
_HINTS = {
    "H501": "allow more reactions",
    "H502": "allow more seconds",
    "H503": "keep long data flat, in a solution",
}


def error_of(error: SolventError) -> dict[str, Any]:
    """Give an error; options of a command become what the page calls them."""
    found: dict[str, Any] = {
        "kind": "error",
        "code": error.code,
        "message": error.message,
        "note": error.note,
        "hint": _HINTS.get(error.code, error.hint),
        "details": list(error.details()),
    }
    # What is asked about is a text, too, and not the one in the editor.
    if error.span is not None and error.span.source.name == NAME:
        found |= place_of(error.span)
    return found


def warning_of(doubt: Doubt) -> dict[str, Any]:
    """Give a warning."""
    found = {"kind": "warning", "code": doubt.code, "message": doubt.message, "note": "", "hint": doubt.hint}
    return found | {"details": [], **(place_of(doubt.span) if doubt.span is not None else {})}


def place_of(span: Span) -> dict[str, int]:
    """Give a stretch of the text as JavaScript counts."""
    text = span.source.text
    start = units(text, span.start)
    return {"start": start, "end": start + units(span.text, len(span.text)), "line": span.line, "column": span.column}


def units(text: str, end: int) -> int:
    """Count the UTF-16 units of a text up to a character."""
    return end if text.isascii() else len(text[:end].encode("utf-16-le", "surrogatepass")) // 2


__all__ = ["NAME", "error_of", "place_of", "units", "warning_of"]
