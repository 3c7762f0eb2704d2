"""Shapes: under which word a molecule is listed in the directory, and which words a node listens to.

A node must hear of every molecule of others that a rule could take together with one of its own. All nodes have the
same rules, so all listen to the same words, and a molecule is listed under the first word that fits it, or not at all:
what no rule wants, or only rules that want nothing else, is nobody else's business.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeAlias

from solvent.engine.compile import code_of
from solvent.lang.molecule import ATOMS, Endless, List, Molecule, Opaque, Symbol
from solvent.lang.printer import print_atom, print_molecule
from solvent.lang.rule import Rule
from solvent.lang.solution import Solution

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from solvent.lang.syntax import RuleNode

ANYTHING = "*"
Home: TypeAlias = tuple[int, tuple[str, ...]]
"""By which part the tuples of a word are joined, and of which kinds it is; others of that word nobody wants."""
_KINDS: dict[Any, str] = {
    int: "int", float: "float", str: "string", bool: "bool", Symbol: "symbol", tuple: "tuple", List: "list",
    Solution: "solution", Rule: "rule", Opaque: "opaque", object: ANYTHING,
}  # fmt: skip
_HEADS = frozenset({Symbol, str, int})


def words_of(standing: Iterable[RuleNode], loose: Iterable[RuleNode]) -> list[str]:
    """Give the words to listen to, for rules that stand and rules that may be molecules."""
    found: dict[str, None] = {}
    for node in standing:
        code = code_of(node)
        if len(code.elements) > 1:
            found |= dict.fromkeys(word_of(key) for keys in code.keys for key in keys)
    for node in loose:
        found["rule"] = None
        found |= dict.fromkeys(word_of(key) for keys in code_of(node).keys for key in keys)
    return sorted(found)


def word_of(key: Any) -> str:
    """Give the word for a key of the engine's: a type, the length of tuples, their first part, or an atom."""
    if isinstance(key, tuple):
        first, value = key
        return f"={print_atom(value)}" if isinstance(first, type) else f"{first} {print_atom(value)}"
    return _KINDS[key] if isinstance(key, type) else str(key)


class Shapes:
    """Finds the word for a molecule, among those that nodes listen to.

    `homes` is for words whose values have a home (see `homes`).
    """

    def __init__(self, words: Iterable[str], homes: Mapping[str, Home] | None = None) -> None:
        self._words = frozenset(words)
        self.homes: Mapping[str, Home] = homes or {}

    def listing(self, molecule: Molecule, text: str) -> tuple[str, int | float | str] | None:
        """Give the word and the value in order under which a molecule is listed, if it is."""
        word = self.word(molecule)
        if word is None:
            return None
        if word not in self.homes:
            return word, _order_of(molecule, text)
        home = self.home(molecule)
        return None if home is None else (word, home)

    def home(self, molecule: Molecule) -> int | None:
        """Give the hash that tells the home of a molecule, if it has one."""
        word = self.word(molecule)
        place, kinds = self.homes.get(word or "", (0, ()))
        if not kinds:
            return None
        inner = molecule.molecule if type(molecule) is Endless else molecule
        part = inner[place]
        is_wanted = ANYTHING in kinds or _KINDS.get(type(part)) in kinds
        return hash_of(part) if is_wanted else None

    def are_heard(self, rule: RuleNode) -> bool:
        """Say whether nodes listen to all that a rule could want, and to the rule."""
        return self._words.issuperset(words_of((), [rule]))

    def word(self, molecule: Molecule) -> str | None:
        """Give the word, or None where no other node need hear of the molecule."""
        words = self._words
        if type(molecule) is Endless:
            molecule = molecule.molecule
        kind = type(molecule)
        if kind is tuple:
            head = molecule[0]
            candidates = (str(len(molecule)), "tuple", ANYTHING)
            if type(head) in _HEADS and (headed := f"{len(molecule)} {print_atom(head)}") in words:
                return headed
        elif kind in ATOMS:
            candidates = (_KINDS[kind], ANYTHING, f"={print_atom(molecule)}")
        else:
            candidates = (_KINDS.get(kind, ANYTHING), ANYTHING, ANYTHING)
        return next((one for one in candidates if one in words), None)


def _order_of(molecule: Molecule, text: str) -> int | float | str:
    """Give the value by which molecules of a word are put in order: that of a number or a string, else the text."""
    kind = type(molecule)
    if kind is int or kind is float or kind is str:
        value: int | float | str = molecule
        return value
    return text


def hash_of(part: Molecule) -> int:
    """Give a number of 32 bits that is the same for equal values, on every machine."""
    return int.from_bytes(blake2b(print_molecule(part).encode("utf-8", "surrogatepass"), digest_size=4).digest())


__all__ = ["ANYTHING", "Shapes", "hash_of", "word_of", "words_of"]
