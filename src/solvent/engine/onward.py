"""Where the products of a reaction go, written where the reaction happens.

A product usually waits in a queue until its turn comes. Two things can be known before it does, from the other rules of
the store:

- *A rule that needs nothing else takes it.* `EAT : i : j` is made and `replace EAT : i : j by ...` is there: the second
  reaction is written right behind the first, and the molecule between them is never made.
- *It changes nothing.* The reaction took a settled molecule and made another that every rule sees the same way, as in
  `replace EDGE : a : b, TASK : b : w by TASK : b : (w - 1)` where nobody looks at `w`. The one that was settled met
  everything and reacted with none of it, so neither can the new one, which takes its cell.

What is written here holds only for the rules that were there: `consulted` says which, and whoever keeps the text
compares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from solvent.engine.expressions import ExpressionWriter, Text
from solvent.lang.molecule import ATOMS, Symbol
from solvent.lang.syntax import Literal, LiteralPattern, Pattern, TupleNode, TuplePattern, VariablePattern, names_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from solvent.engine.code import Code
    from solvent.engine.index import Store
    from solvent.engine.plan import Element, Plan
    from solvent.lang.syntax import Expression

_MAX_DEPTH = 3
_MAX_BRANCHES = 3


class Product:
    """A flat tuple that a reaction makes: the key of its shape, and its parts, each a name or a constant."""

    __slots__ = ("depth", "key", "parts")

    def __init__(self, key: tuple[int, Symbol], parts: list[Text], depth: int = 0) -> None:
        self.key = key
        self.parts = parts
        # How many reactions stand between it and the one that is written.
        self.depth = depth

    @property
    def text(self) -> str:
        """The tuple in Python."""
        return f"({', '.join(part.text for part in self.parts)})"


class _Reader(NamedTuple):
    """An element of a rule of the store that could take a product."""

    plan: Plan
    element: Element | None
    one_shot: bool


class Onward:
    """Writes what becomes of the products of one rule's reaction; without a store, they are queued."""

    def __init__(self, code: Code, plan: Plan, queue: Callable[[Any], str], store: Store | None) -> None:
        self.code = code
        self.plan = plan
        self.queue = queue
        self.store = store if len(plan.sites) == 1 else None
        self.consulted: set[Any] = set()
        self._branches = 0
        self._temporaries = 0

    def write(self, products: list[Product], taken: list[Element], reusable: list[Element], reactions: int = 1) -> None:
        """Write the way of all products; `taken` die unless one of the `reusable` among them gets a product's cell."""
        if not products:
            self._end(taken, reactions)
            return
        product, others = products[0], products[1:]
        is_watched = self.store is None
        readers = [] if is_watched else self._readers(product.key)
        blocks = self.code.depth
        for at, reader in enumerate(readers):
            answer = self._answer(reader, product)
            if answer is None:
                readers = readers[at:]
                break
            tests, made = answer
            if made is None:
                continue
            if tests:
                self._branches += 1
                self.code.open(f"if {' and '.join(tests)}:")
            self.write(self._products(made, product.depth + 1) + others, taken, reusable, reactions + 1)
            if not tests:
                self.code.close(blocks)
                return
            self.code.close()
            self.code.open("else:")
        else:
            readers = []
        same = None if is_watched else next((one for one in reusable if self._is_same(one, product, readers)), None)
        if same is None:
            self.code.line(f"{self.queue(product.key)}.append({product.text})")
        else:
            if not self._is_equal(same, product):
                self.code.line(f"{same.cell}.molecule = {product.text}")
            taken, reusable = _without(taken, same), _without(reusable, same)
        self.write(others, taken, reusable, reactions)
        self.code.close(blocks)

    def _end(self, taken: list[Element], reactions: int) -> None:
        if taken:
            # What `Store.delete` does; nobody calls this while something endless is in the store.
            self.code.line(f"{''.join(f'{element.cell}.alive = ' for element in taken)}False")
            self.code.line(f"s0.deaths += {len(taken)}")
        self.code.line(f"s0.reactions += {reactions}")

    def _readers(self, key: Any) -> list[_Reader]:
        assert self.store is not None
        self.consulted.add(key)
        return [_Reader(one.code.plan, one.element, one.one_shot) for one in self.store.entries_of_key(key)]

    # --- A rule that needs nothing else.

    def _answer(self, reader: _Reader, product: Product) -> tuple[list[str], list[list[Text]] | None] | None:
        """Return what a rule asks of a product and what it makes of it, None if it never takes it; None if unknown."""
        pattern = _lone_pattern(reader)
        if pattern is None or product.depth >= _MAX_DEPTH or self._branches >= _MAX_BRANCHES:
            return None
        plan = reader.plan
        tests: list[str] = []
        bound: dict[str, Text] = {}
        for part, text in zip(pattern.parts[1:], product.parts[1:], strict=True):
            if text.kind is None:
                return None
            if isinstance(part, LiteralPattern):
                if type(part.value) is not text.kind:
                    return [], None
                tests.append(f"{text.text} == {self.code.constant(part.value)}")
            elif isinstance(part, VariablePattern) and part.name not in bound:
                kinds = plan.kinds.get(part.name)
                if kinds is not None and text.kind not in kinds:
                    return [], None
                bound[part.name] = text
            else:
                return None
        writer = _writer(self.code, plan, bound)
        for condition in plan.conjuncts:
            test = _computed(writer, condition, bound)
            if test is None or test.kind is not bool:
                return None
            tests.append(test.text)
        made = [_flat_parts(writer, item, bound) for item in plan.product]
        return (tests, [parts for parts in made if parts is not None]) if None not in made else None

    def _products(self, made: Iterable[list[Text]], depth: int) -> list[Product]:
        """Write the computed parts of further products, each once."""
        found = []
        for parts in made:
            named = []
            for part in parts:
                text = part
                if not part.text.isalnum():
                    self._temporaries += 1
                    text = Text(f"u{self._temporaries}", part.kind)
                    self.code.line(f"{text.text} = {part.text}")
                named.append(text)
            head = self.code.names[parts[0].text]
            found.append(Product((len(parts), head), named, depth))
        return found

    # --- A product that changes nothing.

    def _is_same(self, element: Element, product: Product, readers: list[_Reader]) -> bool:
        """Return whether no rule and no index can tell a product from the molecule that an element took."""
        pattern = element.pattern
        if not isinstance(pattern, TuplePattern) or self.plan.head(pattern) is not product.key[1]:
            return False
        if len(pattern.parts) != product.key[0]:
            return False
        assert self.store is not None
        same = {at for at, part in enumerate(pattern.parts) if self._says(part, product.parts[at])}
        places = (place for one in self.store.tables(product.key) for place in one or range(product.key[0]))
        indexed = {place[0] if isinstance(place, tuple) else place for place in places}
        return indexed <= same and all(self._sees_no_change(reader, pattern, product, same) for reader in readers)

    def _is_equal(self, element: Element, product: Product) -> bool:
        assert isinstance(element.pattern, TuplePattern)
        return all(map(self._says, element.pattern.parts, product.parts))

    def _sees_no_change(self, reader: _Reader, old: TuplePattern, product: Product, same: set[int]) -> bool:
        plan = reader.plan
        pattern = reader.element and reader.element.pattern
        if not isinstance(pattern, TuplePattern) or plan.head(pattern) is None:
            return False
        for at, part in enumerate(pattern.parts):
            if at in same:
                continue
            if not isinstance(part, VariablePattern) or _is_tested(plan, part.name):
                return False
            kinds, before = plan.kinds.get(part.name), old.parts[at]
            if kinds is not None:
                assert isinstance(before, VariablePattern | LiteralPattern)
                old_kinds = self._kinds(before)
                if product.parts[at].kind not in kinds or old_kinds is None or not old_kinds <= kinds:
                    return False
        return True

    def _says(self, part: Pattern, text: Text) -> bool:
        if isinstance(part, VariablePattern):
            return self.plan.variables[part.name] == text.text
        return isinstance(part, LiteralPattern) and self.code.constant(part.value) == text.text

    def _kinds(self, part: Pattern) -> frozenset[type] | None:
        if isinstance(part, VariablePattern):
            return self.plan.kinds.get(part.name)
        return frozenset({type(part.value)}) if isinstance(part, LiteralPattern) else None


def _lone_pattern(reader: _Reader) -> TuplePattern | None:
    """Return the pattern of a rule that needs one flat tuple and nothing else, and can react any time."""
    plan = reader.plan
    elements = plan.top.elements
    if len(elements) != 1 or len(plan.sites) != 1 or plan.top.rests or reader.one_shot or plan.is_late:
        return None
    if plan.rule.captures or plan.rule.is_inject or elements[0].kept:
        return None
    pattern = elements[0].pattern
    if not isinstance(pattern, TuplePattern) or type(plan.head(pattern)) is not Symbol:
        return None
    return pattern


def _writer(code: Code, plan: Plan, bound: dict[str, Text]) -> ExpressionWriter:
    return ExpressionWriter(code, plan.rule, plan.rule.functions, lambda node: bound[node.text], lambda _: None)


def _computed(writer: ExpressionWriter, node: Expression, bound: dict[str, Text]) -> Text | None:
    """Return the text of an expression over known values that cannot fail."""
    if isinstance(node, TupleNode) or not names_in(node) <= bound.keys():
        return None
    text = writer.write(node)
    return None if text.may_raise or text.kind not in ATOMS else text


def _flat_parts(writer: ExpressionWriter, node: Expression, bound: dict[str, Text]) -> list[Text] | None:
    """Return the parts of a product that is a tuple of atoms, begins with a symbol and cannot fail."""
    if not isinstance(node, TupleNode) or not isinstance(node.parts[0], Literal):
        return None
    if type(node.parts[0].value) is not Symbol:
        return None
    parts = [_computed(writer, part, bound) for part in node.parts]
    found = [part for part in parts if part is not None]
    return found if len(found) == len(parts) else None


def _is_tested(plan: Plan, name: str) -> bool:
    """Return whether a rule asks anything of a variable but that it is there."""
    if any(name in names_in(test) for test in plan.conjuncts):
        return True
    return sum(_mentions(element.pattern, name) for element in plan.elements) > 1


def lengths_looked_up(plan: Plan) -> frozenset[int]:
    """Return the lengths of tuples that a rule finds by their parts, not knowing the first one before; 0 for all."""
    found: set[int] = set()
    for element in plan.top.elements:
        pattern = element.pattern
        if isinstance(pattern, TuplePattern) and plan.head(pattern) is None:
            # Where products may take the cells of others, whatever their length, these must not be indexed meanwhile.
            found.add(len(pattern.parts) if len(plan.sites) > 1 else 0)
        elif isinstance(pattern, VariablePattern) and _is_tested(plan, pattern.name):
            kinds = plan.kinds.get(pattern.name)
            if kinds is None or tuple in kinds:
                found.add(0)
    return frozenset(found)


def _mentions(pattern: Pattern, name: str) -> int:
    if isinstance(pattern, TuplePattern):
        return sum(_mentions(part, name) for part in pattern.parts)
    # Whatever is nested deeper may ask anything.
    return int(not isinstance(pattern, LiteralPattern | VariablePattern) or getattr(pattern, "name", None) == name)


def _without(elements: list[Element], one: Element) -> list[Element]:
    return [element for element in elements if element is not one]
