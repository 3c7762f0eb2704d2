"""A rule's tree to code that runs: its plan at once, its searches and its reaction when first needed."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from solvent.engine.builder import Builder, may_be_rule
from solvent.engine.code import Code
from solvent.engine.matcher import Matcher
from solvent.engine.onward import lengths_looked_up
from solvent.engine.plan import Plan
from solvent.engine.sweep_code import can_sweep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from solvent.engine.index import Cell, Row, Store
    from solvent.engine.plan import Element
    from solvent.lang.functions import Functions
    from solvent.lang.rule import Rule
    from solvent.lang.solution import Solution
    from solvent.lang.syntax import RuleNode


class RuleCode:
    """The compiled form of a rule's tree; every rule made from the tree shares it."""

    def __init__(self, node: RuleNode) -> None:
        self.node = node
        self.functions: Functions = node.functions
        self.plan = Plan(node)
        self.one_shot = self.plan.one_shot
        self.is_late = self.plan.is_late
        self.elements = self.plan.top.elements
        # Whether its reaction may take rules, itself not among them.
        self.takes_rules = any(may_be_rule(self.plan, one) and not one.kept for one in self.elements)
        self.meets_rules = any(may_be_rule(self.plan, one) for one in self.elements)
        # The lengths of tuples of which a search may ask for an index that nobody has asked for before; 0 for all.
        self.looks_up = lengths_looked_up(self.plan) if len(self.elements) > 1 else frozenset()
        self.keys = [self.plan.keys(element) for element in self.elements]
        # For each element, the shapes without which a search that starts there finds nothing.
        shapes = [self.plan.shape(element) for element in self.elements]
        self.needs = [
            tuple({shape for at, shape in enumerate(shapes) if at != own and shape is not None})
            for own in range(len(shapes))
        ]
        # The loops of its sweeps, by the types of the molecules they are for (see `sweep_code`).
        self.sweeps: dict[Any, Any] = {}
        self.cannot_sweep = not can_sweep(self.plan)
        self._builder: Builder | None = None
        self._fields: list[str] = []
        self._reaction_code: Code | None = None
        self._attempt_codes: list[Code] = []
        self._functions: dict[str, Callable[..., Any]] = {}

    @property
    def title(self) -> str:
        """What messages call the rule."""
        return self.plan.title

    @cached_property
    def is_async(self) -> bool:
        """Whether its product waits for an external call."""
        self.reaction()
        assert self._builder is not None
        return self._builder.is_async

    def reaction(self) -> Callable[..., Any]:
        """Return `react`, compiled when first asked for."""
        react = self._functions.get("react")
        if react is None:
            code = self._reaction_code = Code(self.title)
            self._builder = Builder(code, self.plan, self.functions)
            self._fields = self._builder.write()
            made = code.made()
            react = self._functions["react"] = made["react"]
            if self._builder.is_async:
                self._functions["consume"] = made["consume"]
        return react

    def consumption(self) -> Callable[..., Any]:
        """Return `consume`, which a rule with an asynchronous product has."""
        self.reaction()
        return self._functions["consume"]

    def search(self, element: Element | None, *, reacts: bool = False) -> Callable[..., Any]:
        """Return the search that starts at an element, or at none; one that `reacts` gives products, not matches."""
        name = f"{'react' if reacts else 'find'}_{'all' if element is None else element.number}"
        found = self._functions.get(name)
        if found is None:
            self.reaction()
            code = Code(self.title)
            Matcher(code, self.plan, self.functions, self._fields).write(name, element, reacts=reacts)
            found = self._functions[name] = code.made()[name]
            self._attempt_codes.append(code)
        return found

    def pure(self) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """Return the search for every match, and the reaction that leaves what it takes as it is, for `explore`."""
        if "pure_react" not in self._functions:
            code = Code(self.title)
            fields = Builder(code, self.plan, self.functions, is_pure=True).write()
            Matcher(code, self.plan, self.functions, fields).write("find", None)
            made = code.made()
            self._functions["pure_find"], self._functions["pure_react"] = made["find"], made["react"]
            self._attempt_codes.append(code)
        return self._functions["pure_find"], self._functions["pure_react"]

    def other_search(self, name: str, write: Callable[[Code, list[str]], None]) -> Callable[..., Any]:
        """Return a search that somebody else writes, with the fields its matches carry; it is made once."""
        found = self._functions.get(name)
        if found is None:
            self.reaction()
            code = Code(self.title)
            write(code, self._fields)
            found = self._functions[name] = code.made()[name]
            self._attempt_codes.append(code)
        return found

    def texts(self) -> dict[str, str]:
        """Return the Python text of everything, for people who want to see it."""
        self.reaction()
        assert self._reaction_code is not None
        found = {"react": self._reaction_code.text()}
        for element in (*self.elements, None):
            for reacts in (False, True):
                name = f"{'react' if reacts else 'find'}_{'all' if element is None else element.number}"
                if self.is_async and reacts:
                    continue
                code = Code(self.title)
                Matcher(code, self.plan, self.functions, self._fields).write(name, element, reacts=reacts)
                found[name] = code.text()
        return found

    def note_text(self, code: Code) -> None:
        """Note a text in which this rule's searches are written, so that errors find their place."""
        self._attempt_codes.append(code)

    def has_raised(self, error: BaseException, part: int) -> bool:
        """Return whether an error came out of this part of a text that was noted, which is this rule's."""
        codes = {code.file: code for code in self._attempt_codes}
        trace = error.__traceback__
        while trace is not None:
            code = codes.get(trace.tb_frame.f_code.co_filename)
            if code is not None and code.part_at(trace.tb_lineno) == part:
                return True
            trace = trace.tb_next
        return False

    def node_at(self, error: BaseException) -> Any:
        """Return the node whose line raised an error, if the reaction's text did."""
        codes = [self._reaction_code, *self._attempt_codes]
        nodes = {code.file: code.nodes for code in codes if code is not None}
        trace = error.__traceback__
        found = None
        while trace is not None:
            mine = nodes.get(trace.tb_frame.f_code.co_filename)
            if mine is not None:
                found = mine.get(trace.tb_lineno, found)
            trace = trace.tb_next
        return found


class Entry:
    """One way into a registered rule: through one of its elements."""

    __slots__ = (
        "attempt", "cell", "code", "consumes", "element", "find", "is_async", "keys", "needs", "one_shot", "react",
        "rule",
    )  # fmt: skip

    def __init__(self, cell: Cell, rule: Rule, code: RuleCode, at: int | None) -> None:
        self.cell = cell
        self.rule = rule
        self.code = code
        self.element = None if at is None else code.elements[at]
        self.keys: list[Any] = [] if at is None else code.keys[at]
        self.needs: tuple[Any, ...] = () if at is None else code.needs[at]
        # Whether the reaction takes the molecule the search started with.
        self.consumes = self.element is not None and not self.element.kept
        self.find: Callable[..., Any] | None = None
        # The search that makes its reaction happen at once: where nobody watches, limits or waits for it.
        self.attempt: Callable[..., Any] | None = None
        self.react: Callable[..., Any] = _unprepared
        self.is_async = False
        # Of an endless rule there are more after each reaction.
        self.one_shot = code.one_shot and not cell.endless

    def prepare(self, store: Store, scan: Callable[[Row], Any], solution: Solution) -> Callable[[Any], Any]:
        """Compile what a search from here needs, and give the search in a store."""
        self.react = self.code.reaction()
        self.is_async = self.code.is_async
        self.find = self.code.search(self.element)(store, self.cell, scan, self.rule, solution)
        return self.find

    def can_attempt(self) -> bool:
        """Return whether its reaction can happen in the search itself: it waits for nothing and ends no rule."""
        return not (self.one_shot or self.code.is_late or self.code.is_async)

    def prepare_attempt(
        self, store: Store, scan: Callable[[Row], Any], solution: Solution
    ) -> Callable[[Any], Any] | None:
        """Compile the search that makes its reaction happen, and give it for a store; None where it cannot."""
        if not self.can_attempt():
            return None
        search = self.code.search(self.element, reacts=True)
        self.attempt = search(store, self.cell, scan, self.rule, solution)
        return self.attempt

    def matches(self, store: Store, scan: Callable[[Row], Any], solution: Solution) -> Iterator[Any]:
        """Return every match, one after the other; only an entry without an element can."""
        assert self.element is None
        found: Iterator[Any] = self.prepare(store, scan, solution)(None)
        return found


def _unprepared(*_: Any) -> Any:
    raise AssertionError("an entry is prepared before it reacts")


def code_of(node: RuleNode) -> RuleCode:
    """Return the compiled form of a rule's tree, made once."""
    code: RuleCode | None = node.code
    if code is None:
        code = node.code = RuleCode(node)
    return code


def entries_of(cell: Cell, rule: Rule) -> list[Entry]:
    """Return all the ways into a rule that a cell holds."""
    code = code_of(rule.node)
    if code.is_late or not code.elements:
        return [Entry(cell, rule, code, None)]
    return [Entry(cell, rule, code, at) for at in range(len(code.elements))]
