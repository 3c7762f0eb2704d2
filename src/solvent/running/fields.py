"""Errors and reactions as plain fields, for whoever reads JSON: programs, and pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from solvent.engine.trace import Record
    from solvent.errors import SolventError


def error_as_json(error: SolventError) -> dict[str, Any]:
    """Give an error's fields."""
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


def reaction_as_json(record: Record) -> dict[str, Any]:
    """Give a reaction's fields."""
    return {
        "number": record.number,
        "rule": record.rule,
        "level": record.level,
        "place": record.place,
        "reactants": record.before[len(record.kept) :],
        "kept": record.before[: len(record.kept)],
        "products": [one.text for one in record.products],
    }


__all__ = ["error_as_json", "reaction_as_json"]
