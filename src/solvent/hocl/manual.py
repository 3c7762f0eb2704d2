"""One sentence for each word of the language: functions with their signatures, keywords, kinds of molecules."""

from __future__ import annotations

from solvent.chemistry.kinds import KINDS

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
}
"""By name: how a built-in function is called, and what it gives."""

WORDS = {
    "let": ("let NAME = RULE in", "Names a rule for the molecules after `in`."),
    "rec": ("let rec NAME = RULE in", "Names a rule that may name itself in its product."),
    "in": ("x in l", "Ends a `let`; between two values: whether the first is in a list, a solution or a string."),
    "replace": ("replace PATTERNS by MOLECULES if CONDITION", "A rule that reacts again and again."),
    "replace-one": ("replace-one PATTERNS by MOLECULES if CONDITION", "A rule that reacts once, and is gone then."),
    "one": ("one PATTERNS by MOLECULES if CONDITION", "The same as `replace-one`."),
    "by": ("replace PATTERNS by MOLECULES", "What the reactants become; nothing, if nothing follows."),
    "if": ("if CONDITION", "The molecules react only if this holds for them."),
    "inject": ("inject MOLECULES with PATTERNS if CONDITION", "Adds molecules, once, and takes nothing."),
    "with": ("inject MOLECULES with PATTERNS", "What must be there, and stays."),
    "and": ("a and b", "Whether both hold; also `&&` and `∧`."),
    "or": ("a or b", "Whether one of them holds; also `||` and `∨`."),
    "not": ("not a", "Whether it does not hold; also `!` and `¬`."),
    "true": ("true", "The boolean that holds."),
    "false": ("false", "The boolean that does not hold."),
}
"""By keyword: how it is written, and what it means."""


def kind_says(kind: str) -> str:
    """Say which molecules a kind stands for."""
    same = sorted(name for name, types in KINDS.items() if types == KINDS[kind] and name != kind)
    also = f"; also {', '.join(f'`{name}`' for name in same)}" if same else ""
    return f"A kind of molecules{also}."


__all__ = ["FUNCTIONS", "WORDS", "kind_says"]
