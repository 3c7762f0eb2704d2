"""Errors, warnings and reactions as the fields of a JSON object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from solvent.engine.trace import Record
    from solvent.errors import SolventError
    from solvent.lang.doubts import Doubt


def error_as_json(error: SolventError) -> dict[str, Any]:
    """Return the fields of an error."""
    fields: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.span is not None:
        fields |= {"file": error.span.source.name, "line": error.span.line, "column": error.span.column}
    for name in ("rule", "reactants"):
        if hasattr(error, name):
            value = getattr(error, name)
            fields[name] = value if isinstance(value, str) else list(value)
    if error.hint:
        fields["hint"] = error.hint
    return fields


def doubt_as_json(doubt: Doubt) -> dict[str, Any]:
    """Return the fields of a warning."""
    place = {} if doubt.span is None else {"line": doubt.span.line, "column": doubt.span.column}
    return {"code": doubt.code, "message": doubt.message, **place, "hint": doubt.hint}


def reaction_as_json(record: Record) -> dict[str, Any]:
    """Return the fields of a reaction."""
    return {
        "number": record.number,
        "rule": record.rule,
        "level": record.level,
        "place": record.place,
        "reactants": record.before[len(record.kept) :],
        "kept": record.before[: len(record.kept)],
        "products": [one.text for one in record.products],
    }


__all__ = ["doubt_as_json", "error_as_json", "reaction_as_json"]
