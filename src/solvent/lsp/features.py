"""The answers about a place in a text: hover, completion and document symbols, in Markdown.

`FUNCTIONS` and `WORDS` describe the built-in functions and the keywords.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from solvent.lang.lexer import KEYWORDS
from solvent.lang.operators import OPERATORS, PREFIXES
from solvent.lang.operators import WORDS as OPERATOR_WORDS
from solvent.lang.rule import KINDS
from solvent.lang.syntax import RulePattern, VariablePattern

if TYPE_CHECKING:
    from solvent.lang.operators import Operator
    from solvent.lsp.document import Document
    from solvent.lsp.occurrences import Definition


# Kinds of completions and of symbols, as the protocol counts them.
_TEXT, _FUNCTION, _VARIABLE, _CLASS, _KEYWORD, _CONSTANT = 1, 3, 6, 7, 14, 21
_SYMBOL_FUNCTION, _SYMBOL_OBJECT = 12, 19
_MAX_LINES = 20

FUNCTIONS: dict[str, tuple[str, str]] = {
    "list": ("list(a, b, ...)", "The list of its arguments."),
    "cons": ("cons(x, l)", "The list `l` with `x` at its end."),
    "first": ("first(l)", "The first element of a list."),
    "last": ("last(l)", "The last element of a list."),
    "rest": ("rest(l)", "All elements of a list but the first."),
    "nth": ("nth(n, l)", "Element `n` of a list, counted from 1; `nth(l, n)` too."),
    "len": ("len(x)", "The length of a list, a string, a tuple or a solution."),
    "length": ("length(x)", "The length of a list, a string, a tuple or a solution."),
    "size": ("size(x)", "The length of a list, a string, a tuple or a solution."),
    "isEmpty": ("isEmpty(x)", "Whether the length is 0."),
    "reverse": ("reverse(l)", "A list or a string from its end to its beginning."),
    "sort": ("sort(l)", "A list of numbers or of strings, in order."),
    "sum": ("sum(l)", "The sum of a list of numbers."),
    "range": ("range(a, b)", "The list of the integers from `a` to `b`, both included."),
    "min": ("min(x, y)", "The smaller of two numbers or two strings."),
    "max": ("max(x, y)", "The greater of two numbers or two strings."),
    "abs": ("abs(x)", "A number without its sign."),
    "pow": ("pow(x, y)", "`x` to the power of `y`."),
    "sqrt": ("sqrt(x)", "The square root of a number, a float."),
    "round": ("round(x)", "The nearest integer, halves away from zero."),
    "equals": ("equals(x, y)", "The same as `x == y`."),
    "compareTo": ("compareTo(x, y)", "-1, 0 or 1, as `x` is smaller than, equal to or greater than `y`."),
    "substring": ("substring(s, a, [b])", "From `a`, counted from 0, up to but not including `b`, or to the end."),
    "charAt": ("charAt(s, i)", "The character at `i`, counted from 0."),
    "concat": ("concat(s, t)", "Both strings joined."),
    "indexOf": ("indexOf(s, t)", "Where `t` begins in `s`, counted from 0, or -1."),
    "contains": ("contains(s, t)", "Whether the string `t` is a part of `s`."),
    "startsWith": ("startsWith(s, t)", "Whether `s` begins with `t`: two strings, or two lists."),
    "endsWith": ("endsWith(s, t)", "Whether `s` ends with `t`: two strings, or two lists."),
    "split": ("split(s, t)", "The list of the parts of `s` between `t`; by white space where `t` is empty."),
    "join": ("join(l, t)", "The elements of a list as one string, `t` between them."),
    "toUpperCase": ("toUpperCase(s)", "A string in upper case."),
    "toLowerCase": ("toLowerCase(s)", "A string in lower case."),
    "trim": ("trim(s)", "A string without white space at both ends."),
    "int": ("int(x)", "The integer of a number, toward zero, or of a string."),
    "intValue": ("intValue(x)", "The integer of a number, toward zero, or of a string."),
    "float": ("float(x)", "The float of a number or of a string."),
    "doubleValue": ("doubleValue(x)", "The float of a number or of a string."),
    "string": ("string(x)", "The text of a molecule."),
    "toString": ("toString(x)", "The text of a molecule."),
    "symbol": ("symbol(s)", "The symbol of that name."),
    "new Integer": ("new Integer(x)", "The integer of a number, toward zero, or of a string."),
    "new Long": ("new Long(x)", "The integer of a number, toward zero, or of a string."),
    "new BigInteger": ("new BigInteger(x)", "The integer of a number, toward zero, or of a string."),
    "new Float": ("new Float(x)", "The float of a number or of a string."),
    "new Double": ("new Double(x)", "The float of a number or of a string."),
    "new String": ("new String(x)", "The text of a molecule."),
    "Math.abs": ("Math.abs(x)", "A number without its sign."),
    "Math.ceil": ("Math.ceil(x)", "The smallest whole number that is not below `x`, a float."),
    "Math.floor": ("Math.floor(x)", "The greatest whole number that is not above `x`, a float."),
    "Math.round": ("Math.round(x)", "The nearest integer, halves upwards."),
    "Math.sqrt": ("Math.sqrt(x)", "The square root of a number, a float."),
    "Math.pow": ("Math.pow(x, y)", "`x` to the power of `y`, a float."),
    "Math.min": ("Math.min(x, y)", "The smaller of two numbers; a float if one of them is."),
    "Math.max": ("Math.max(x, y)", "The greater of two numbers; a float if one of them is."),
    "Math.exp": ("Math.exp(x)", "e to the power of `x`, a float."),
    "Math.log": ("Math.log(x)", "The natural logarithm, a float."),
    "Math.sin": ("Math.sin(x)", "The sine of an angle in radians."),
    "Math.cos": ("Math.cos(x)", "The cosine of an angle in radians."),
    "Math.tan": ("Math.tan(x)", "The tangent of an angle in radians."),
    "add": ("add(x, y)", "The same as `x + y`."),
    "subtract": ("subtract(x, y)", "The same as `x - y`."),
    "multiply": ("multiply(x, y)", "The same as `x * y`."),
    "divide": ("divide(x, y)", "The same as `x / y`."),
    "remainder": ("remainder(x, y)", "The same as `x % y`."),
    "mod": ("mod(x, m)", "The remainder of two integers, from 0 to `m - 1`; `m` is above 0."),
    "negate": ("negate(x)", "The same as `-x`."),
}
"""By name: how a built-in function is called, and what it returns."""


def _describe_operator(word: str, operator: Operator) -> tuple[str, str]:
    """Return how an operator is written by a word, and what it computes."""
    same = PREFIXES.get(operator.same_as, operator)
    others = [one for one in (same.symbol, *same.spellings) if one != word]
    also = f"; also {' and '.join(f'`{one}`' for one in others)}" if others else ""
    return operator.form.replace(operator.symbol, word), f"{operator.doc.removesuffix('.')}{also}."


WORDS = {
    **{word: _describe_operator(word, one) for word, one in OPERATOR_WORDS.items()},
    "in": ("x in l", f"Ends a `let`; between two values: {OPERATORS['in'].doc[:1].lower()}{OPERATORS['in'].doc[1:]}"),
    "let": ("let NAME = RULE in", "Names a rule for the molecules after `in`."),
    "rec": ("let rec NAME = RULE in", "Names a rule that may name itself in its product."),
    "replace": ("replace PATTERNS by MOLECULES if CONDITION", "A rule that reacts again and again."),
    "replace-one": ("replace-one PATTERNS by MOLECULES if CONDITION", "A rule that reacts once, and is gone then."),
    "one": ("one PATTERNS by MOLECULES if CONDITION", "The same as `replace-one`."),
    "by": ("replace PATTERNS by MOLECULES", "What the reactants become; nothing, if nothing follows."),
    "if": ("if CONDITION", "The molecules react only if this holds for them."),
    "inject": ("inject MOLECULES with PATTERNS if CONDITION", "Adds molecules, once, and takes nothing."),
    "with": ("inject MOLECULES with PATTERNS", "What must be there, and stays."),
    "true": ("true", "The boolean that holds."),
    "false": ("false", "The boolean that does not hold."),
}
"""By keyword: how it is written, and what it means."""


def describe_kind(kind: str) -> str:
    """Describe the molecules a kind stands for."""
    same = sorted(name for name, types in KINDS.items() if types == KINDS[kind] and name != kind)
    also = f"; also {', '.join(f'`{name}`' for name in same)}" if same else ""
    return f"A kind of molecules{also}."


def hover_at(document: Document, offset: int) -> tuple[str, int, int] | None:
    """Return the hover text at a place, and the range it is about."""
    found = document.occurrences.at(offset)
    if found is not None:
        if found.is_called:
            said = describe_function(document, found.name)
        else:
            said = "" if found.definition is None else describe_definition(document, found.definition)
        return (said, found.start, found.end) if said else None
    lexeme = document.lexeme_at(offset)
    if lexeme is None:
        return None
    # Keywords that are operators are lexemes by their signs, so the text itself is asked.
    word = document.text[lexeme.start : lexeme.end]
    if word in KINDS and document.text[: lexeme.start].rstrip().endswith("::"):
        return f"{_code(f'x::{word}')}\n\n{describe_kind(word)}", lexeme.start, lexeme.end
    if word in WORDS and lexeme.kind in ("keyword", "mark"):
        form, sentence = WORDS[word]
        return f"{_code(form)}\n\n{sentence}", lexeme.start, lexeme.end
    return None


def describe_definition(document: Document, definition: Definition) -> str:
    """Describe what a name is bound to."""
    if definition.kind == "rule":
        return _describe_rule(document, definition)
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


def _describe_rule(document: Document, definition: Definition) -> str:
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


def describe_function(document: Document, name: str) -> str:
    """Describe how a function is called and what it returns."""
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
    """Return the first lines of a part of the text, dedented."""
    lines = document.text[start:end].splitlines()
    margins = [len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()]
    # The first line begins in the middle of its own; the others keep their layout among each other.
    cut = max(0, min(margins, default=0) - 2)
    shown = [lines[0], *(line[cut:] for line in lines[1:])] if lines else []
    return "\n".join([*shown[:_MAX_LINES], *(["..."] if len(shown) > _MAX_LINES else [])])


def _code(text: str) -> str:
    return f"```hocl\n{text}\n```"


def completions_at(document: Document, offset: int) -> list[dict[str, Any]]:
    """Return the completions at a place, visible names first."""
    before = document.text[:offset].rstrip("".join(_letters(document.text[:offset])))
    if before.rstrip().endswith("::"):
        return [_item(kind, _CLASS, "0", documentation=describe_kind(kind)) for kind in KINDS]
    found: dict[str, dict[str, Any]] = {}
    for one in document.occurrences.known_at(offset):
        kind = _FUNCTION if one.kind == "rule" else _VARIABLE
        found[one.name] = _item(one.name, kind, "0", detail=one.kind, documentation=describe_definition(document, one))
    for lexeme in document.reading.lexemes:
        # A rule that is being written does not read yet, and its variables are not known; nor are symbols defined.
        if lexeme.kind in ("name", "symbol") and not lexeme.start <= offset <= lexeme.end:
            kind = _CONSTANT if lexeme.kind == "symbol" else _TEXT
            found.setdefault(lexeme.text, _item(lexeme.text, kind, "1"))
    for name in document.functions.names():
        form = FUNCTIONS.get(name, (f"{name}(...)", ""))[0]
        says = describe_function(document, name)
        found[name] = {**_item(name, _FUNCTION, "2", detail=form, documentation=says), **found.get(name, {})}
    for word in KEYWORDS:
        found.setdefault(word, _item(word, _KEYWORD, "3", documentation=WORDS.get(word, ("", ""))[1]))
    return [*found.values()]


def _letters(text: str) -> set[str]:
    """Return the letters of the word that a text ends in."""
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
    """Return the rules and tasks of a text, each with those inside of it."""
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
