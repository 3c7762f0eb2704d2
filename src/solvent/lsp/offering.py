"""What can be written at a place, and what a text consists of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.chemistry.kinds import KINDS
from solvent.hocl.lexer import KEYWORDS
from solvent.hocl.manual import FUNCTIONS, WORDS, kind_says
from solvent.lsp.telling import told_of, told_of_function

if TYPE_CHECKING:
    from solvent.hocl.occurrences import Definition
    from solvent.lsp.document import Document

# Kinds of completions and of symbols, as the protocol counts them.
_TEXT, _FUNCTION, _VARIABLE, _CLASS, _KEYWORD, _CONSTANT = 1, 3, 6, 7, 14, 21
_SYMBOL_FUNCTION, _SYMBOL_OBJECT = 12, 19


def offered_at(document: Document, offset: int) -> list[dict[str, Any]]:
    """Give the words that may stand at a place: what is known there first."""
    before = document.text[:offset].rstrip("".join(_letters(document.text[:offset])))
    if before.rstrip().endswith("::"):
        return [_item(kind, _CLASS, "0", documentation=kind_says(kind)) for kind in KINDS]
    found: dict[str, dict[str, Any]] = {}
    for one in document.occurrences.known_at(offset):
        kind = _FUNCTION if one.kind == "rule" else _VARIABLE
        found[one.name] = _item(one.name, kind, "0", detail=one.kind, documentation=told_of(document, one))
    for lexeme in document.reading.lexemes:
        # A rule that is being written does not read yet, and its variables are not known; nor are symbols defined.
        if lexeme.kind in ("name", "symbol") and not lexeme.start <= offset <= lexeme.end:
            kind = _CONSTANT if lexeme.kind == "symbol" else _TEXT
            found.setdefault(lexeme.text, _item(lexeme.text, kind, "1"))
    for name in document.functions.names():
        form = FUNCTIONS.get(name, (f"{name}(...)", ""))[0]
        says = told_of_function(document, name)
        found[name] = {**_item(name, _FUNCTION, "2", detail=form, documentation=says), **found.get(name, {})}
    for word in KEYWORDS:
        found.setdefault(word, _item(word, _KEYWORD, "3", documentation=WORDS.get(word, ("", ""))[1]))
    return [*found.values()]


def _letters(text: str) -> set[str]:
    """Give the letters of the word that a text ends in."""
    at = len(text)
    while at and (text[at - 1].isalnum() or text[at - 1] in "_'"):
        at -= 1
    return set(text[at:])


def _item(label: str, kind: int, order: str, *, detail: str = "", documentation: str = "") -> dict[str, Any]:
    item: dict[str, Any] = {"label": label, "kind": kind, "sortText": order + label}
    if detail:
        item["detail"] = detail
    if documentation:
        item["documentation"] = {"kind": "markdown", "value": documentation}
    return item


def symbols_of(document: Document) -> list[dict[str, Any]]:
    """Give the rules and tasks of a text, each with those inside of it."""
    top: list[dict[str, Any]] = []
    open_now: list[tuple[int, list[dict[str, Any]]]] = []
    definitions = [one for one in document.occurrences.definitions if one.kind in ("rule", "task")]
    for one in sorted(definitions, key=lambda one: one.whole[0]):
        while open_now and open_now[-1][0] <= one.whole[0]:
            open_now.pop()
        symbol = _symbol(document, one)
        (open_now[-1][1] if open_now else top).append(symbol)
        open_now.append((one.whole[1], symbol["children"]))
    return top


def _symbol(document: Document, one: Definition) -> dict[str, Any]:
    positions = document.positions
    return {
        "name": one.name,
        "detail": one.kind,
        "kind": _SYMBOL_FUNCTION if one.kind == "rule" else _SYMBOL_OBJECT,
        "range": positions.range(*one.whole),
        "selectionRange": positions.range(one.start, one.end),
        "children": [],
    }


__all__ = ["offered_at", "symbols_of"]
