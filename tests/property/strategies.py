"""Programs, molecules and trees at random.

`programs()` gives the text of small programs: a few rules over few values, with molecules that fit their
patterns, and n-shot rules that make less than they take, so that most programs react and end.
`molecule_values()` gives molecules; trees are in `trees.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, TypeVar

from hypothesis import strategies as st

from solvent.lang.molecule import Endless, List, Molecule, Symbol
from solvent.lang.solution import Solution

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Value = TypeVar("Value")
Both: TypeAlias = tuple[str, ...]
"""A pattern, and a molecule that fits it."""

ATOMS = ("1", "2", "0", "1", "2", "3", '"a"', "A", "A", "B", '"b"', "true", "1.0", "-1")
KINDS = ("int",) * 6 + (
    "number",
    "string",
    "symbol",
    "bool",
    "tuple",
    "list",
    "solution",
    "rule",
    "float",
    "Object",
    "BigInteger",
)
INSTANCES = {
    "int": "1",
    "number": "2",
    "string": '"a"',
    "symbol": "A",
    "bool": "true",
    "tuple": "(1 : A)",
    "list": "(1, A)",
    "solution": "<1>",
    "float": "1.0",
    "Object": "2",
    "BigInteger": "1",
}
"""For each kind a molecule of it."""
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


class Writer:
    """Writes one random program; every choice is drawn from hypothesis, so that failures shrink."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Value]], Value]) -> None:
        self.draw = draw
        self.names: list[str] = []
        # Molecules that fit the patterns written so far.
        self.offered: list[str] = []
        self.reset()

    def reset(self) -> None:
        """Forget the variables of the last rule."""
        self.variables: dict[str, str] = {}
        self.rests: list[str] = []
        self.outer: dict[str, str] = {}
        self.values: dict[str, str] = {}

    def chance(self, percent: int) -> bool:
        """Say yes so often."""
        return self.draw(st.integers(1, 100)) > 100 - percent

    def pick(self, options: Sequence[str]) -> str:
        """Draw one of several texts."""
        return self.draw(st.sampled_from(list(options)))

    def count(self, least: int, most: int) -> int:
        """Draw a number."""
        return self.draw(st.integers(least, most))

    # --- Molecules.

    def molecule(self, depth: int = 0) -> str:
        """Write a constant molecule."""
        what = self.pick(("atom", "atom", "atom", "tuple", "solution", "list", "rule") if depth < 2 else ("atom",))
        if what == "tuple":
            return f"({' : '.join(self.molecule(depth + 1) for _ in range(self.count(2, 3)))})"
        if what == "solution":
            return f"<{', '.join(self.molecule(depth + 1) for _ in range(self.count(0, 3)))}>"
        if what == "list":
            items = [self.molecule(depth + 1) for _ in range(self.count(0, 2))]
            return f"list({items[0]})" if len(items) == 1 else f"({', '.join(items)})"
        return self.pick(self.names) if what == "rule" and self.names else self.pick(ATOMS)

    # --- Patterns, each with a molecule that fits it.

    def pattern(self, depth: int = 0) -> Both:
        """Write a pattern that takes one molecule."""
        what = self.pick(("variable", "variable", "typed", "typed", "atom", "tuple", "solution", "list", "rule"))
        if what == "tuple" and depth < 2:
            parts = [self.pattern(depth + 1) for _ in range(self.count(2, 3))]
            return tuple(f"({' : '.join(texts)})" for texts in zip(*parts, strict=True))
        if what == "solution" and depth < 2:
            items, held = self.patterns(depth + 1, self.count(0, 2), rest=70)
            return f"<{', '.join(items)}>", f"<{', '.join(held)}>"
        if what == "list" and depth < 2:
            items, held = self.patterns(depth + 1, self.count(0, 2), rest=50)
            alone = len(items) == 1 and items[0][0] not in "?+"
            text = f"list({items[0]})" if alone else f"({', '.join(items)})"
            return text, f"list({held[0]})" if len(held) == 1 else f"({', '.join(held)})"
        if what == "atom":
            atom = self.pick(ATOMS)
            return atom, atom
        if what == "rule" and self.names:
            name, rule = self.pick(("m", "n")), self.pick(self.names)
            self.variables[name] = "rule"
            return f"{rule} = {name}", rule
        return self.variable(typed=what == "typed")

    def variable(self, *, typed: bool) -> Both:
        """Write a variable, perhaps one that was there before."""
        # With a type a variable may have a capital, as in the programs of 2009.
        name = self.pick(("x", "y", "z", "X") if typed else ("x", "y", "z"))
        kind = self.pick(KINDS) if typed else ""
        self.variables[name] = kind or self.variables.get(name, "")
        value = self.values.setdefault(name, INSTANCES.get(kind) or self.pick(ATOMS))
        return f"{name}::{kind}" if kind else name, value

    def patterns(self, depth: int, count: int, *, rest: int) -> tuple[list[str], list[str]]:
        """Write patterns that take several molecules, perhaps with a rest among them."""
        both = [self.pattern(depth) for _ in range(count)]
        found, held = [one for one, _ in both], [other for _, other in both]
        if self.chance(rest):
            name = f"w{len(self.rests)}"
            self.rests.append(name)
            found.append(f"{'+' if self.chance(15) else '?'}{name}")
            held += [self.molecule(depth + 1) for _ in range(self.count(0, 2))]
        return found, held

    # --- Conditions.

    def number(self) -> str:
        """Write something that is likely to be a number."""
        names = [name for name, kind in self.variables.items() if kind in ("int", "number", "float")]
        if not names or self.chance(10):
            names = [*self.variables, "1"]
        what = self.pick(("name", "name", "atom", "sum", "negative"))
        if what == "sum":
            return f"{self.pick(names)} {self.pick('+-*/%')} {self.pick((*names, '1', '2', '0'))}"
        if what == "negative":
            return f"-{self.pick(names)}"
        return self.pick(names) if what == "name" else self.pick(("0", "1", "2"))

    def test(self) -> str:
        """Write a comparison."""
        names = [*self.variables, *self.outer]
        if names and self.chance(50):
            return f"{self.pick(names)} {self.pick(COMPARISONS)} {self.pick((*names, *ATOMS))}"
        if names and self.chance(40):
            return f"{self.pick(names)} == {self.number()}"
        if names and self.chance(15):
            return f"({self.pick(names)} in (1, A, 2))"
        return f"{self.number()} {self.pick(COMPARISONS)} {self.number()}"

    def condition(self) -> str:
        """Write a whole condition."""
        text = self.test()
        for _ in range(self.count(0, 2)):
            text = f"{text} {self.pick(('&&', '&&', '||'))} {self.test()}"
        return f"!({text})" if self.chance(10) else text

    # --- Products and rules.

    def item(self, depth: int, *, grows: bool) -> str:
        """Write one molecule of a product."""
        names = [*self.variables, *self.outer]
        what = self.pick(("name",) * 4 + ("atom", "sum", "tuple", "solution", "list", "rest", "many", "rule"))
        if what == "rest" and self.rests:
            return self.pick(self.rests)
        if what in ("tuple", "solution", "list") and depth < 2:
            inside = [self.item(depth + 1, grows=False) for _ in range(self.count(2 - (what == "solution"), 2))]
            if what == "tuple":
                inside = [one for one in inside if one not in self.rests]
                return f"({' : '.join(inside)})" if len(inside) > 1 else self.pick(ATOMS)
            return f"<{', '.join(inside)}>" if what == "solution" else f"({', '.join(inside)})"
        if what == "sum":
            return f"({self.number()})"
        if what == "many" and grows and names:
            return f"{self.pick(names)}^{self.count(0, 2)}" if depth == 0 else self.pick(names)
        if what == "rule" and grows and depth == 0:
            return self.closure()
        return self.pick(names) if what == "name" and names else self.pick(ATOMS)

    def closure(self) -> str:
        """Write a rule that may use the variables of the rule around it."""
        before = self.variables, self.rests, self.outer, self.values
        self.outer = {**self.outer, **{name: kind for name, kind in self.variables.items() if name != "z"}}
        outer_rests = [name for name in self.rests if self.chance(50)]
        self.variables, self.values = {}, dict(self.values)
        self.rests = list(self.rests)
        patterns, _ = self.patterns(1, self.count(1, 2), rest=0)
        self.rests = outer_rests
        self.outer = {name: kind for name, kind in self.outer.items() if name not in self.variables}
        product = [self.item(1, grows=False) for _ in range(self.count(0, 2))]
        text = f"replace-one {', '.join(patterns)} by {', '.join(product)}{self.maybe_condition()}"
        self.variables, self.rests, self.outer, self.values = before
        return f"(inner = {text})" if self.chance(50) else f"({text})"

    def maybe_condition(self) -> str:
        """Write a condition or nothing."""
        return f" if {self.condition()}" if self.chance(50) else ""

    def rule(self) -> str:
        """Write a rule."""
        self.reset()
        if self.chance(10):
            patterns, held = self.patterns(0, self.count(0, 2), rest=0)
            self.offered += held
            product = ", ".join(self.item(0, grows=True) for _ in range(self.count(1, 2)))
            catalysts = f" with {', '.join(patterns)}" if patterns else ""
            return f"inject {product}{catalysts}{self.maybe_condition()}"
        one_shot = self.chance(40)
        patterns, held = self.patterns(0, self.count(1, 3), rest=10 if one_shot else 0)
        self.offered += held
        most = 3 if one_shot or self.chance(10) else max(0, min(3, len(patterns) - 1))
        product = [self.item(0, grows=one_shot) for _ in range(self.count(0, most))]
        if self.chance(70):
            product += [name for name in self.rests if name not in " ".join(product)]
        word = "replace-one" if one_shot else "replace"
        return f"{word} {', '.join(patterns)} by {', '.join(product)}{self.maybe_condition()}"

    def program(self) -> str:
        """Write a whole program."""
        lets = []
        for name in ("one", "two", "three")[: self.count(1, 3)]:
            lets.append(f"let r{name} = {self.rule()} in")
            self.names.append(f"r{name}")
        self.reset()
        molecules = [self.molecule() for _ in range(self.count(0, 2))] + self.names
        molecules += [one for one in self.offered[:6] if self.chance(70)]
        if self.chance(15):
            molecules.append(f"{self.pick(ATOMS)}^{self.pick(('2', 'inf'))}")
        return "\n".join([*lets, f"<{', '.join(molecules)}>"])


@st.composite
def programs(draw: Callable[[st.SearchStrategy[Value]], Value]) -> str:
    """Give the text of a small program, most of which end."""
    return Writer(draw).program()


def symbols() -> st.SearchStrategy[Symbol]:
    """Give symbols."""
    return st.from_regex(r"[A-Z][A-Za-z0-9_]{0,5}'?", fullmatch=True).map(Symbol)


def atoms() -> st.SearchStrategy[Molecule]:
    """Give atoms: any integer, float, text or boolean, and symbols."""
    huge = st.integers(4_000, 9_000).map(lambda digits: 10**digits + 7)
    return st.one_of(
        st.integers(),
        huge,
        st.floats(),
        st.text(st.characters(exclude_categories=())),
        st.booleans(),
        symbols(),
    )


def molecule_values() -> st.SearchStrategy[Molecule]:
    """Give molecules without rules."""

    def inside(parts: st.SearchStrategy[Molecule]) -> st.SearchStrategy[Molecule]:
        some = st.lists(parts, max_size=4)
        return st.one_of(
            st.lists(parts, min_size=2, max_size=4).map(tuple),
            some.map(List),
            some.map(Solution),
            st.tuples(some, parts).map(lambda both: Solution([*both[0], Endless(both[1])])),
        )

    return st.recursive(atoms(), inside, max_leaves=12)
