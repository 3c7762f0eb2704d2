"""Writes the loop of a sweep for one rule and the types of the molecules it sweeps."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any

from solvent.engine.code import Code
from solvent.engine.expressions import ExpressionWriter, Text
from solvent.engine.names import outer_text, rest_text
from solvent.lang.syntax import Expression, Literal, Name, Pattern, TupleNode, TuplePattern, VariablePattern

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.engine.plan import Plan
    from solvent.lang.rule import Rule


class _CannotSweep(Exception):
    pass


class SweepCode:
    """A compiled loop: `bind(rule)` gives `sweep(todo, settled, out, should_stop) -> reactions`."""

    def __init__(self, make: Callable[[Rule], Callable[..., int]], key: Callable[[Any], Any] | None) -> None:
        self.bind = make
        # Gives what molecules must have in common to react; None where they need not.
        self.key = key


def sweep_code(
    plan: Plan, known: dict[Any, SweepCode | None], kinds: tuple[type, ...], *, is_tuple: bool
) -> SweepCode | None:
    """Return the loop for molecules whose parts have these types, made once; None if the rule cannot be swept so."""
    if kinds not in known:
        try:
            known[kinds] = _Writer(plan, kinds, is_tuple=is_tuple).write()
        except _CannotSweep:
            known[kinds] = None
    return known[kinds]


def can_sweep(plan: Plan) -> bool:
    """Return whether a rule could be swept at all: two flat patterns of its own solution, and it stays."""
    if plan.one_shot or plan.is_late or len(plan.sites) != 1 or len(plan.elements) != 2:
        return False
    one, other = (element.pattern for element in plan.elements)
    if isinstance(one, VariablePattern) and isinstance(other, VariablePattern):
        return one.name != other.name
    return isinstance(one, TuplePattern) and isinstance(other, TuplePattern) and len(one.parts) == len(other.parts)


class _Writer:
    def __init__(self, plan: Plan, kinds: tuple[type, ...], *, is_tuple: bool) -> None:
        self.plan = plan
        self.kinds = kinds
        self.is_tuple = is_tuple
        self.code = Code(plan.title)
        # How many comparisons may pass before the run is asked whether it should stop.
        self.code.names["POLL"] = 50_000
        self.places: dict[str, str] = {}
        self.types: dict[str, type] = {}
        self.writer = ExpressionWriter(self.code, plan.rule, plan.rule.functions, self._variable, self._spread)
        first, second = self.plan.elements
        self.parts = [self._parts(first.pattern), self._parts(second.pattern)]
        self.shared = self._check_parts()
        self.used: set[str] = set()

    def _parts(self, pattern: Pattern) -> list[Pattern]:
        return pattern.parts if isinstance(pattern, TuplePattern) else [pattern]

    def _check_parts(self) -> list[int]:
        """Check that both patterns fit all these molecules and only differ in names; give the shared positions."""
        names: list[set[str]] = [set(), set()]
        shared = []
        for at, kind in enumerate(self.kinds):
            one, other = self.parts[0][at], self.parts[1][at]
            for side, part in enumerate((one, other)):
                if not isinstance(part, VariablePattern) or part.name in names[side]:
                    raise _CannotSweep
                allowed = self.plan.kinds.get(part.name)
                if allowed is not None and kind not in allowed:
                    raise _CannotSweep
                names[side].add(part.name)
                self.types[part.name] = kind
            assert isinstance(one, VariablePattern)
            assert isinstance(other, VariablePattern)
            if one.name == other.name:
                shared.append(at)
        if len(names[0] & names[1]) != len(shared):
            raise _CannotSweep
        return shared

    def _variable(self, node: Name) -> Text:
        place = self.places.get(node.text)
        if place is None:
            return outer_text(self.plan, self.code, node.text)
        self.used.add(place)
        return Text(place, self.types[node.text])

    def _spread(self, node: Name) -> str | None:
        return rest_text(self.plan, node.text)

    def _roles(self, first: str, second: str) -> None:
        """Let the first pattern's variables stand for parts of one molecule, the second's for the other's."""
        for prefix, parts in ((second, self.parts[1]), (first, self.parts[0])):
            for at, part in enumerate(parts):
                assert isinstance(part, VariablePattern)
                self.places[part.name] = f"{prefix}{at}" if self.is_tuple else prefix

    # --- Text.

    def write(self) -> SweepCode:
        """Write and compile the loop."""
        kept = [element.kept for element in self.plan.elements]
        condition, backwards = self._condition("a", "b"), self._condition("b", "a")
        ahead, back = self._reaction("a", "b", kept), self._reaction("b", "a", kept)
        self.change = self.product_count + sum(kept) - 2
        code = self.code
        code.open("def make(rule):")
        captures = list(self.plan.rule.captures)
        if captures:
            code.line(f"{', '.join(f'k{at}' for at in range(len(captures)))}, = rule.captured")
        code.open("def sweep(todo, settled, out, should_stop):")
        code.line("reactions = 0")
        code.line("budget = POLL")
        code.line("size = len(todo) + len(settled)")
        code.line(f"must_meet_settled = bool(settled) or {self.product_count > 0}")
        code.open("while todo:")
        code.line("items = iter(todo)")
        code.line("a = next(items)")
        self._unpack("a")
        code.line("kept = []")
        code.line("keep = kept.append")
        code.line("stale = 0")
        code.open("while True:")
        code.open("for b in items:")
        self._unpack("b")
        self._branch("if", condition, ahead)
        if condition is not None:
            self._branch("elif", backwards, back)
            code.line("else: keep(b)")
        code.close()
        code.line("if a is None or not stale: break")
        code.line("budget -= len(kept)")
        code.open("if budget < 0:")
        code.line("budget = POLL")
        code.open("if should_stop is not None and should_stop():")
        code.line("todo[:] = [a, *kept]")
        code.line(self._count())
        code.close()
        code.close()
        code.line("items = iter(kept[:stale])")
        code.line("del kept[:stale]")
        code.line("stale = 0")
        code.close()
        code.line("todo[:] = kept")
        code.line("if a is None: continue")
        self._meet_settled(condition, backwards)
        code.line("budget -= len(todo) + 1")
        code.open("if budget < 0:")
        code.line("budget = POLL")
        code.line("if should_stop is not None and todo and should_stop(): break")
        code.close()
        code.close()
        code.line(self._count())
        code.close()
        code.line("return sweep")
        code.close(0)
        made = code.made()
        return SweepCode(made["make"], itemgetter(*self.shared) if self.shared else None)

    def _unpack(self, name: str) -> None:
        if self.is_tuple:
            self.code.line(f"{''.join(f'{name}{at}, ' for at in range(len(self.kinds)))} = {name}")

    def _condition(self, first: str, second: str) -> str | None:
        self._roles(first, second)
        texts = []
        for part in self.plan.conjuncts:
            text = self.writer.write(part)
            if text.kind is not bool or (text.may_raise and not self._is_division(text)):
                raise _CannotSweep
            texts.append(text.text)
        return " and ".join(texts) if texts else None

    def _is_division(self, text: Text) -> bool:
        """Only `x % y == 0` raises nothing but a division by zero, which the loop can rule out by a test."""
        return text.may_raise and " % " in text.text and "_" not in text.text

    def _branch(self, word: str, condition: str | None, reaction: list[str]) -> None:
        code = self.code
        if condition is None:
            for line in reaction:
                code.line(line)
            return
        code.open(f"{word} {self._guarded(condition)}:")
        for line in reaction:
            code.line(line)
        code.close()

    def _guarded(self, condition: str) -> str:
        if " % " not in condition:
            return condition
        divisors = [piece.split()[0].strip("()") for piece in condition.split(" % ")[1:]]
        return " and ".join([*(one for one in divisors if not one.lstrip("-").isdigit()), condition])

    def _reaction(self, first: str, second: str, kept: list[bool]) -> list[str]:
        """Return the lines for a reaction of `a` and `b` in these roles."""
        self._roles(first, second)
        places: list[str] = []
        others: list[str] = []
        for item in self.plan.product:
            text = self._product(item)
            (places if text[1] else others).append(text[0])
        self.product_count = len(places)
        lines = [f"out.append({text})" for text in others]
        stays = {first: kept[0], second: kept[1]}
        if first == "b":
            # The product that stands where the molecule in hand stood goes to hand again.
            places.reverse()
        if stays["a"]:
            lines += [f"keep({text})" for text in places]
            if places:
                lines.append("stale = len(kept)")
        elif stays["b"]:
            lines += [*(f"keep({text})" for text in places), "a = b", "stale = len(kept)", *self._unpack_lines()]
        elif places:
            new = [f"n{at}" for at in range(len(places))]
            lines += [f"{name} = {text}" for name, text in zip(new, places, strict=True)]
            lines += [f"a = {new[0]}", *(f"keep({name})" for name in new[1:]), "stale = len(kept)"]
            lines += self._unpack_lines()
        else:
            lines += ["a = next(items, None)", "stale = len(kept)", "if a is None: break", *self._unpack_lines()]
        if self._changes_nothing(kept):
            lines.append("reactions += 1")
        return lines or ["pass"]

    def _changes_nothing(self, kept: list[bool]) -> bool:
        return self.product_count + sum(kept) == 2

    def _unpack_lines(self) -> list[str]:
        if not self.is_tuple:
            return []
        return [f"{''.join(f'a{at}, ' for at in range(len(self.kinds)))} = a"]

    def _count(self) -> str:
        """Where each reaction changes the number of molecules alike, that number tells how many there were."""
        if not self.change:
            return "return reactions"
        return f"return (len(todo) + len(settled) - size) // {self.change}"

    def _product(self, item: Expression) -> tuple[str, bool]:
        """Return the text of a product and whether it has the shape that is swept."""
        if isinstance(item, TupleNode):
            parts = [self._value(part) for part in item.parts]
            same = self.is_tuple and tuple(part.kind for part in parts) == self.kinds
            return f"({', '.join(part.text for part in parts)})", same
        value = self._value(item)
        return value.text, not self.is_tuple and value.kind is self.kinds[0]

    def _value(self, node: Expression) -> Text:
        if isinstance(node, Literal | Name) or hasattr(node, "operator"):
            text = self.writer.write(node)
            if not text.may_raise and text.kind is not None:
                return text
        raise _CannotSweep

    def _meet_settled(self, condition: str | None, backwards: str | None) -> None:
        """Hold the molecule in hand against the settled ones; if one reacts, both are to do again."""
        code = self.code
        code.open("if must_meet_settled:")
        code.open("for at, b in enumerate(settled):")
        self._unpack("b")
        test = "True" if condition is None else f"({self._guarded(condition)}) or ({self._guarded(backwards or '')})"
        code.line(f"if {test}: break")
        code.close()
        code.open("else:")
        code.line("settled.append(a)")
        code.line("at = -1")
        code.close()
        code.open("if at >= 0:")
        code.line("del settled[at]")
        code.line("todo[:0] = (a, b)")
        code.close()
        code.close()
        code.line("else: settled.append(a)")
