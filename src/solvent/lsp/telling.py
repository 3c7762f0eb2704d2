"""What is said about the word under the pointer, in Markdown."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from solvent.chemistry.kinds import KINDS
from solvent.chemistry.syntax import RulePattern, VariablePattern
from solvent.hocl.manual import FUNCTIONS, WORDS, kind_says

if TYPE_CHECKING:
    from solvent.hocl.occurrences import Definition
    from solvent.lsp.document import Document

LINES_MAX = 20


def told_at(document: Document, offset: int) -> tuple[str, int, int] | None:
    """Say what stands at a place, and from where to where."""
    found = document.occurrences.at(offset)
    if found is not None:
        if found.is_called:
            said = told_of_function(document, found.name)
        else:
            said = "" if found.definition is None else told_of(document, found.definition)
        return (said, found.start, found.end) if said else None
    lexeme = document.lexeme_at(offset)
    if lexeme is None:
        return None
    # Keywords that are operators are lexemes by their signs, so the text itself is asked.
    word = document.text[lexeme.start : lexeme.end]
    if word in KINDS and document.text[: lexeme.start].rstrip().endswith("::"):
        return f"{_code(f'x::{word}')}\n\n{kind_says(word)}", lexeme.start, lexeme.end
    if word in WORDS and lexeme.kind in ("keyword", "mark"):
        form, sentence = WORDS[word]
        return f"{_code(form)}\n\n{sentence}", lexeme.start, lexeme.end
    return None


def told_of(document: Document, definition: Definition) -> str:
    """Say what a name is bound to."""
    if definition.kind == "rule":
        return _told_of_rule(document, definition)
    whole = _part(document, *definition.whole)
    if definition.kind == "task":
        return f"{_code(whole)}\n\nThe task `{definition.name}`."
    rule = definition.rule
    named = f"the rule `{rule.name}`" if rule is not None and rule.name else "its rule"
    if definition.kind == "rest":
        pattern = document.text[definition.node.start : definition.node.end]
        return f"{_code(pattern)}\n\nAll molecules that the other patterns of {named} leave.\n\n{_code(whole)}"
    if isinstance(definition.node, RulePattern):
        says = f"A rule named `{definition.node.rule}`, bound by a pattern of {named}."
        return f"{_code(document.text[definition.node.start : definition.node.end])}\n\n{says}\n\n{_code(whole)}"
    kind = definition.node.kind if isinstance(definition.node, VariablePattern) else None
    says = f"One molecule{f' of kind `{kind}`' if kind else ''}, bound by a pattern of {named}."
    return f"{_code(f'{definition.name}::{kind}' if kind else definition.name)}\n\n{says}\n\n{_code(whole)}"


def _told_of_rule(document: Document, definition: Definition) -> str:
    rule = definition.rule
    assert rule is not None
    count = len(rule.patterns)
    if rule.is_inject:
        says = "Adds molecules, once."
    else:
        says = f"Takes {count} molecule{'s' if count != 1 else ''} at a time, " + (
            "once, and is gone then." if rule.one_shot else "again and again."
        )
    return f"{_code(_part(document, *definition.whole))}\n\n{says}"


def told_of_function(document: Document, name: str) -> str:
    """Say how a function is called, and what it gives."""
    function = document.functions.find(name)
    if function is None:
        return ""
    if function.is_raw and name in FUNCTIONS:
        form, sentence = FUNCTIONS[name]
        return f"{_code(form)}\n\n{sentence}"
    try:
        form = f"{name}{inspect.signature(function.call)}"
    except (TypeError, ValueError):
        form = f"{name}(...)"
    says = inspect.getdoc(function.call) or "A function from Python."
    return f"```python\n{form}\n```\n\n{says}"


def _part(document: Document, start: int, end: int) -> str:
    """Give a part of the text, its first lines, as far to the left as it goes."""
    lines = document.text[start:end].splitlines()
    margins = [len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()]
    # The first line begins in the middle of its own; the others keep their layout among each other.
    cut = max(0, min(margins, default=0) - 2)
    shown = [lines[0], *(line[cut:] for line in lines[1:])] if lines else []
    return "\n".join([*shown[:LINES_MAX], *(["..."] if len(shown) > LINES_MAX else [])])


def _code(text: str) -> str:
    return f"```hocl\n{text}\n```"


__all__ = ["told_at", "told_of", "told_of_function"]
