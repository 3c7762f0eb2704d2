"""Homes: where molecules meet that a rule joins by a value, such as counts of one word.

A rule like `replace word : m, word : n by word : m + n` takes only tuples that agree in a part. So each value of that
part has a home, one node that is told of all such tuples and has them in its charge: nobody else need hear of them,
and nobody else wants them. What a node begins with is dealt out by homes too, so most of it never travels.

This works for a word (see `shapes`) if every rule that wants several molecules, one of them of that word, joins all of
them by a part at a fixed place, and all rules agree in the place. Otherwise everybody hears of everything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.engine.compile import code_of
from solvent.lang.syntax import TuplePattern, VariablePattern
from solvent.runs.nodes.shapes import ANYTHING, Home, word_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from solvent.engine.compile import RuleCode
    from solvent.lang.syntax import Pattern, RuleNode

HASHES = 1 << 32


def homes_of(standing: Iterable[RuleNode], loose: Iterable[RuleNode], words: Iterable[str]) -> dict[str, Home]:
    """Give the place by which the tuples of each word are joined, and the kinds of what stands there, for each word."""
    # A rule some part of which can be of no kind at all never reacts.
    codes = [code for code in map(code_of, standing) if len(code.elements) > 1 and all(code.keys)]
    # Those with the least choice first, so that others can agree with them.
    codes.sort(key=lambda code: len(list(_joins(code))))
    shared = [_words(code) for code in codes]
    taken = {word for node in loose for word in _words(code_of(node))}
    lost = taken | _overlapping(set(words))
    homes: dict[str, int] = {}
    kinds: dict[str, set[str]] = {}
    for code, used in zip(codes, shared, strict=True):
        joins = (one for one in _joins(code) if _agrees(one[1], homes) and not lost & one[1].keys())
        name, places = next(joins, ("", {}))
        if not places:
            lost |= used
        for word, place in places.items():
            homes[word] = place
            kinds.setdefault(word, set()).update(_kinds(code, name))
    # A rule that wants one molecule everybody hears of wants all others of that kind too.
    while True:
        more = {word for used in shared if used & lost for word in used} - lost
        if not more:
            found = {word: place for word, place in homes.items() if word not in lost}
            return {word: (place, tuple(sorted(kinds[word]))) for word, place in found.items()}
        lost |= more


def _words(code: RuleCode) -> set[str]:
    return {word_of(key) for keys in code.keys for key in keys}


def _joins(code: RuleCode) -> Iterable[tuple[str, dict[str, int]]]:
    """Give every way to join all elements of a rule: by which variable, and its place in each word."""
    parts = [_places(element.pattern) for element in code.elements]
    for name in parts[0]:
        found: dict[str, int] = {}
        for places, keys in zip(parts, code.keys, strict=True):
            place = places.get(name)
            word = word_of(keys[0])
            if place is None or found.setdefault(word, place) != place:
                break
        else:
            yield name, found


def _kinds(code: RuleCode, name: str) -> set[str]:
    kinds = code.plan.kinds.get(name)
    return {ANYTHING} if kinds is None else set(map(word_of, kinds))


def _places(pattern: Pattern) -> dict[str, int]:
    """Give the places of the variables that are parts of a tuple."""
    if not isinstance(pattern, TuplePattern):
        return {}
    return {part.name: place for place, part in enumerate(pattern.parts) if isinstance(part, VariablePattern)}


def _agrees(places: dict[str, int], homes: dict[str, int]) -> bool:
    return all(homes.get(word, place) == place for word, place in places.items())


def _overlapping(words: set[str]) -> set[str]:
    """Give the words for tuples that may fit other words too."""
    if words & {ANYTHING, "tuple"}:
        return words
    lengths = {word for word in words if word.isdigit()}
    headed = {word for word in words if word.partition(" ")[0] in lengths and word not in lengths}
    return headed | {word.partition(" ")[0] for word in headed}


def home_of(number: int, nodes: int) -> int:
    """Give the node whose charge a hash is."""
    return number * nodes // HASHES


def charge_of(node: int, nodes: int) -> tuple[int, int]:
    """Give the hashes in a node's charge: from the first up to, not including, the second."""
    return -(-node * HASHES // nodes), -(-(node + 1) * HASHES // nodes)


__all__ = ["HASHES", "charge_of", "home_of", "homes_of"]
