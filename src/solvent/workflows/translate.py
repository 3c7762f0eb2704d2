"""From the abstract workflow to the concrete one: the molecules of its tasks and the rules that make them react.

The rules stand in `rules/*.hocl` and are the same for every workflow; what differs is molecules.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from solvent.errors import WorkflowProblem
from solvent.lang.evaluate import lower_program
from solvent.lang.functions import Functions
from solvent.lang.molecule import List, Molecule, Symbol
from solvent.lang.parser import parse_program
from solvent.lang.rule import Rule
from solvent.lang.scope import resolve
from solvent.lang.solution import Solution
from solvent.source import Source
from solvent.workflows.forms import Forms, forms_of
from solvent.workflows.gates import Gates, Needs, start_rule
from solvent.workflows.libraries import Library, library_of
from solvent.workflows.model import REQUIRED, Alternative, Argument, Claim, Each, Input, Result, Task, Value, Workflow
from solvent.workflows.rule_functions import FUNCTIONS, molecule_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_SRC, _IN, _DST, _SRV, _ARG, _OPEN, _FROM, _VALUE, _WAIT, _READY, _EACH_OF, _GATE = map(
    Symbol, ("SRC", "IN", "DST", "SRV", "ARG", "OPEN", "FROM", "VALUE", "WAIT", "READY", "EACH", "GATE")
)
_SYMBOL = re.compile(r"[A-Z][A-Za-z0-9_]*\Z")
_KINDS = {"failure": ("FAILED", "TIMEOUT", "LOST"), "timeout": ("TIMEOUT",)}
_RESERVED = frozenset(
    ("SRC", "DST", "IN", "SRV", "ARG", "RES", "ERR", "PASS", "BOND", "WAKE", "ALT", "TRIGGER", "OPEN", "GONE", "PAR",
     "RUN", "RAN", "DOT", "CROSS", "FILTER", "FROM", "VALUE", "ADAPTED", "GIVE_UP", "REPLACE", "MOVE",
     "OFF", "OFFS", "GATE", "EPOCH", "SKIP", "SKIPPED", "SIGNAL", "LOCK", "FLAG_INVOKE", "VOID", "VOID_PART", "LAST",
     "AWAY", "COLLECT", "SPREAD", "GOT", "REST", "OFFER", "RIVALS", "REACHED", "END", "ENDED", "WITHDRAWN",
     "WAIT", "READY", "ITEMS", "LOCK_AT", "OFFER_AT")
)  # fmt: skip
_AWAY_OF_GATES = frozenset(("away_skip", "away_signal", "away_cancel", "away_cancelled", "away_lock", "away_offer"))
_FILTERED = ("df_init", "df_step", "df_setup")
_FLAT_EACH = ("ft_each", "ft_each_done", "ft_each_failed")
_EACH = (
    "gw_mix", "gw_each", "gw_next", "gw_last", "gw_call_each", "gw_result", "gw_fault", "gw_done", "gw_fail",
    "gw_forget",
)  # fmt: skip


@dataclass(slots=True)
class Concrete:
    """A concrete workflow: the solution, and by which molecule each task goes."""

    workflow: Workflow
    solution: Solution
    tasks: dict[str, Molecule]
    names: dict[Molecule, str]
    """The same the other way round."""
    forms: Forms
    is_foreign: bool = False
    """Whether somebody else has written it, or changed it: it may have tasks that the workflow does not know."""


def foreign(workflow: Workflow, solution: Solution) -> Concrete:
    """Return a concrete workflow that was printed and read again, or written by hand."""
    tasks = {task.name: task_symbol(task.name) for task in workflow.tasks}
    names = {symbol: name for name, symbol in tasks.items()}
    forms = forms_of(workflow)
    written = frozenset(names[one[1]] for one in solution if type(one) is tuple and one[0] is _GATE and one[1] in names)
    if written != forms.gates:
        # It was written with other forms, or for a workflow that has changed since.
        swapped = {one.name for one in workflow.alternatives if not written.isdisjoint(one.exits)}
        forms = Forms(frozenset(tasks) - written, written, frozenset(swapped), forms.relations)
    return Concrete(workflow, solution, tasks, names, forms, is_foreign=True)


def task_symbol(name: str) -> Molecule:
    """Return what stands for a task: a symbol where its name is one, its name as a text otherwise."""
    return Symbol(name) if _SYMBOL.match(name) and name not in _RESERVED else name


class _Symbols(dict[str, Molecule]):
    """What stands for each task, also for one that is named and not there."""

    def __missing__(self, name: str) -> Molecule:
        return task_symbol(name)


def concretise(
    workflow: Workflow,
    inputs: Mapping[str, Any] | None = None,
    *,
    functions: Functions | None = None,
    folder: Path | None = None,
) -> Concrete:
    """Make the concrete workflow; `functions` must know `invoke` and `invoke_each`, or it cannot run.

    The rule libraries that it names are looked for in `folder`.
    """
    return Concretiser(workflow, inputs, functions=functions, folder=folder).concrete()


def workflow_functions(**host: Callable[..., Any]) -> Functions:
    """Return the functions that the rules call; a run brings those in `_HOST_FUNCTIONS`."""
    functions = Functions()
    for name, call in {**FUNCTIONS, **_HOST_FUNCTIONS, **host}.items():
        functions.register(call, name, is_raw=True)
    return functions


def _nobody(*_: Molecule) -> Molecule:
    raise WorkflowProblem("W134", "this workflow was made concrete to be shown, not to be run")


_HOST_FUNCTIONS = dict.fromkeys(
    ("invoke", "invoke_each", "call", "adapted", "called_off", "rejected", "rejecting", "chosen", "skipped", "routed",
     "rounds", "holds", "ended", "parts_off", "told"),
    _nobody,
)  # fmt: skip


def _inputs(workflow: Workflow, given: Mapping[str, Any]) -> dict[str, Any]:
    unknown = [name for name in given if name not in workflow.inputs]
    if unknown:
        known = ", ".join(workflow.inputs) or "none"
        raise WorkflowProblem("W131", f"`{workflow.name}` has no input `{unknown[0]}`", hint=f"its inputs: {known}")
    values = {**workflow.inputs, **given}
    for name, value in values.items():
        if isinstance(value, str) and value == REQUIRED:
            raise WorkflowProblem("W132", f"the input `{name}` has no value", hint=f"give it: --input {name}=...")
    return values


class Concretiser:
    """Makes the molecules of one workflow, or of parts of it, one after the other."""

    def __init__(
        self,
        workflow: Workflow,
        inputs: Mapping[str, Any] | None = None,
        *,
        functions: Functions | None = None,
        folder: Path | None = None,
    ) -> None:
        self.workflow = workflow
        self.folder = folder or Path()
        self.inputs = _inputs(workflow, inputs or {})
        self.functions = functions = functions if functions is not None else workflow_functions()
        self.rules = {name: rule for file in ("generic", "data") for name, rule in _rules(file, functions).items()}
        self.forms = forms_of(workflow)
        #: The alternatives that take tasks out and put others in; those that call another service are in gates.
        self.moving = [one for one in workflow.alternatives if one.name not in self.forms.swapped]
        if self.moving:
            self.rules |= _rules("adaptation", functions)
        self.wakers = workflow.wakers
        self._known = workflow.by_name
        self._symbols = _Symbols({name: task_symbol(name) for name in self._known})
        self._names = {symbol: name for name, symbol in self._symbols.items()}
        self.destinations = _destinations(workflow)
        self._gates: Gates | None = None

    def concrete(self, only: frozenset[str] | None = None) -> Concrete:
        """Make the whole; or a part: these tasks, and the alternatives that watch them.

        Tasks that rules join must be in one part (see `shards`).
        """
        return Concrete(self.workflow, Solution(self._molecules(only)), self._symbols, self._names, self.forms)

    def _molecules(self, only: frozenset[str] | None) -> list[Molecule]:
        """Return the molecules of the outermost solution."""
        forms = self.forms
        tasks = self.workflow.tasks if only is None else [self._known[name] for name in sorted(only)]
        found: list[Molecule] = []
        if forms.gates:
            found += self._gate_molecules(only)
            dormant = self.workflow.dormant
            # What stands in for a gate's task is in that gate.
            tasks = [
                task
                for task in tasks
                if task.name not in forms.gates and (task.name not in dormant or task.name in forms.replaceable)
            ]
        flat = [task for task in tasks if task.name not in forms.replaceable]
        if flat:
            found += _rules("flat", self.functions).values()
        if any(task.each is not None for task in flat):
            found += [self.rules[name] for name in _FLAT_EACH]
        if self.moving:
            inner = "wa_reject"
            found += [rule for name, rule in _rules("adaptation", self.functions).items() if name != inner]
            for alternative in self._watching(only):
                found += self._alternative(alternative)
        if only is not None:
            found += [
                rule
                for name, rule in _rules("away", self.functions).items()
                if forms.gates or name not in _AWAY_OF_GATES
            ]
            found += [(Symbol("AWAY"), self._symbols[name]) for name in self._away(only)]
        for task in tasks:
            if task.name in forms.replaceable:
                found.append(self._task(task))
            else:
                found += self._flat_task(task)
        return found

    def _sources(self, task: Task) -> tuple[str, ...]:
        """Return the tasks that one gets results of, or only hears that they are done."""
        relations = self.forms.relations
        return task.sources if relations is None else relations.paths.sources.get(task.name, task.sources)

    def _flat_task(self, task: Task) -> list[Molecule]:
        own, symbols = self._symbols[task.name], self._symbols
        called: Molecule = task.service if task.each is None else (_EACH_OF, task.service, *_each(task.each))
        later: list[Molecule] = [(_DST, own, symbols[name]) for name in self.destinations[task.name]]
        arguments = List(map(self._argument, task.slots))
        missing = len(self._sources(task))
        if missing:
            return [*later, (_WAIT, own, missing, called, arguments)]
        return [*later, (_READY, own, called, List(value for _, value in arguments))]

    def _watching(self, only: frozenset[str] | None) -> list[Alternative]:
        """Return the alternatives of a part."""
        return [one for one in self.moving if only is None or not only.isdisjoint(one.watched)]

    def _away(self, only: frozenset[str]) -> list[str]:
        """Return the tasks of other parts of which this one knows; of others it learns when it hears of them."""
        known = {name: None for task in sorted(only) for name in self.destinations[task]}
        relations = self.forms.relations
        if relations is not None:
            for name in sorted(only & self.forms.gates):
                known |= relations.addressed_by(name)
        for one in self._watching(only):
            known |= dict.fromkeys((*one.exits.values(), *one.replaced))
            for name, alternatives in self.wakers.items():
                if one.name in alternatives:
                    known |= dict.fromkeys((name, *self._known[name].sources))
        return [name for name in known if name not in only]

    def _task(self, task: Task) -> Molecule:
        symbols, own = self._symbols, self._symbols[task.name]
        sources: list[Molecule] = [symbols[name] for name in self._sources(task)]
        if task.name in self.wakers:
            sources.append(Symbol("WAKE"))
        filters = dict.fromkeys(
            (slot.task, slot.item) for slot in task.slots if isinstance(slot, Result) and slot.item is not None
        )
        parts: list[Molecule] = [
            (_SRC, Solution(sources)),
            (_IN, Solution()),
            (_DST, Solution([symbols[name] for name in self.destinations[task.name]])),
            (_SRV, task.service),
            (_ARG, own, List(map(self._argument, task.slots))),
            _OPEN,
        ]
        if filters:
            parts.append((Symbol("FILTER"), Solution((task_symbol(name), item) for name, item in filters)))
        if task.each is not None:
            parts.append((Symbol("EACH"), *_each(task.each)))
        parts += [(Symbol("RUN"), 0), (Symbol("DST'"), Solution())]
        parts += self._judges(task)
        names = (_FILTERED if filters else ("gw_setup",)) + (_EACH if task.each is not None else ("gw_call",))
        parts += [self.rules[name] for name in names]
        return own, Solution(parts)

    def _gate_molecules(self, only: frozenset[str] | None) -> list[Molecule]:
        """Return the rules and molecules of tasks that join and split by patterns."""
        libraries = {name: self._library(name, path) for name, path in self.workflow.patterns.items()}
        rules = _rules("patterns", self.functions) | _rules("instances", self.functions)
        swaps = {name for one in self.workflow.alternatives if one.name in self.forms.swapped for name in one.exits}

        def inner(task: Task) -> list[Molecule]:
            if task.control is not None and task.control.many is not None:
                return [self.rules["gw_call"]]
            names = ("gw_setup", *(_EACH if task.each is not None else ("gw_call",)))
            found: list[Molecule] = [self.rules[name] for name in names]
            if task.each is not None:
                found.append((Symbol("EACH"), *_each(task.each)))
            if task.name in swaps:
                found += [rules[name] for name in ("wa_judge", "wa_swap", "wa_swap_last", "wa_swap_choice")]
            return found

        if self._gates is None:
            self._gates = Gates(self.workflow, self.forms, task_symbol, self._argument, inner, libraries)
            if only is not None:
                # Now it is known which rules there are.
                self._gates.molecules()
        gates = self._gates
        molecules = gates.molecules(only)
        found: list[Molecule] = [rule for name, rule in rules.items() if name in gates.names]
        found += [
            rules["invokeServ"] if needs == Needs() else _composed(needs, self.functions) for needs in gates.needs
        ]
        for library in libraries.values():
            found += library.rules
        if only is not None:
            found += gates.elsewhere(only)
        return [*found, *molecules]

    def _library(self, name: str, path: str) -> Library:
        try:
            text = (self.folder / path).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise WorkflowProblem("W140", f"the pattern `{name}` cannot be read: {error}") from None
        return library_of(name, _solution(text, path, self.functions))

    def _argument(self, slot: Argument) -> Molecule:
        if isinstance(slot, Result):
            if slot.item is not None:
                return Symbol("FILTER"), self._symbols[slot.task], slot.item
            return _FROM, self._symbols[slot.task]
        if isinstance(slot, Claim):
            # For people to read: the call finds what it claims by the place of the argument.
            return Symbol("VALUE"), (Symbol("RESOURCE"), slot.resource, Symbol(slot.mode.upper()))
        if not isinstance(slot, Value | Input):
            # Nobody but tasks that join by patterns can ask who arrived.
            return Symbol("VALUE"), molecule_of(None)
        value = slot.value if isinstance(slot, Value) else self.inputs[slot.name]
        return _VALUE, molecule_of(value)

    # --- Adaptation.

    def _judges(self, task: Task) -> list[Molecule]:
        """Return what rejects a task's results: the rule, and the conditions by alternative (none for a predicate)."""
        judges = [
            (one.name, one.when or "") for one in self.moving if "condition" in one.on and task.name in one.watched
        ]
        return [(Symbol("JUDGES"), List(judges)), self.rules["wa_reject"]] if judges else []

    def _alternative(self, alternative: Alternative) -> list[Molecule]:
        """Return the molecules of an alternative: when it applies, and what is done then."""
        name = alternative.name
        kinds: list[Molecule] = [Symbol(kind) for on in alternative.on for kind in _KINDS.get(on, ())]
        if "condition" in alternative.on:
            kinds.append(Symbol("CONDITION"))
        triggers = [(Symbol("TRIGGER"), task_symbol(task), name) for task in alternative.watched]
        return [(Symbol("ALT"), name, List(dict.fromkeys(kinds)), Solution(self._bonds(alternative))), *triggers]

    def _bonds(self, alternative: Alternative) -> list[Molecule]:
        """Return the molecules that put an alternative's tasks in the place of those it replaces."""
        tasks = [task for task in self.workflow.tasks if alternative.name in self.wakers.get(task.name, ())]
        found: list[Molecule] = [(Symbol("WAKE"), task_symbol(task.name)) for task in tasks]
        for task in tasks:
            outside = [source for source in task.sources if task.name not in self.destinations[source]]
            found += [(Symbol("BOND"), Symbol("SRC"), task_symbol(one), task_symbol(task.name)) for one in outside]
        found += [(Symbol("REPLACE"), task_symbol(old), task_symbol(new)) for old, new in alternative.exits.items()]
        given_up = [name for name in alternative.replaced if name not in alternative.exits]
        return [*found, *((Symbol("GIVE_UP"), task_symbol(name)) for name in given_up)]


def _destinations(workflow: Workflow) -> dict[str, list[str]]:
    """Return the tasks that each task passes its result to; sleeping ones if it sleeps for the same alternative."""
    asleep = workflow.dormant
    return {
        name: [one for one in later if one not in asleep or asleep[one] == asleep.get(name)]
        for name, later in workflow.destinations.items()
    }


def _each(each: Each) -> tuple[List, List]:
    """Return the leaves and the products of a composition, the products with two branches each and node 0 on top."""
    leaves: list[Molecule] = []
    products: list[Molecule] = []
    numbers = iter(range(1, 1_000_000))

    def place(part: int | Each, number: int) -> int:
        if isinstance(part, int):
            leaves.append((number, part))
            return number
        how = Symbol(part.how.upper())
        *others, last = part.over
        if not others:
            return place(last, number)
        rest: int | Each = others[0] if len(others) == 1 else Each(part.how, tuple(others))
        left, right = place(rest, next(numbers)), place(last, next(numbers))
        products.append((how, number, left, right))
        return number

    place(each, 0)
    return List(leaves), List(products)


@cache
def _text_of(file: str) -> str:
    return (resources.files("solvent.workflows") / "rules" / f"{file}.hocl").read_text(encoding="utf-8")


def _rules(file: str, functions: Functions) -> dict[str, Rule]:
    """Return the rules of a library by name, read once for each set of functions."""
    known = _libraries.setdefault(functions, {})
    if file not in known:
        solution = _solution(_text_of(file), f"{file}.hocl", functions)
        known[file] = {str(rule.name): rule for rule in solution if isinstance(rule, Rule)}
    return known[file]


def _composed(needs: Needs, functions: Functions) -> Rule:
    """Return the rule that starts a task that waits for more than its tokens, read once for each set of functions."""
    known = _libraries.setdefault(functions, {})
    if needs.name not in known:
        rules = [one for one in _solution(start_rule(needs), f"{needs.name}.hocl", functions) if isinstance(one, Rule)]
        known[needs.name] = {needs.name: rules[0]}
    return known[needs.name][needs.name]


_libraries: WeakKeyDictionary[Functions, dict[str, dict[str, Rule]]] = WeakKeyDictionary()


def _solution(text: str, name: str, functions: Functions) -> Solution:
    source = Source(text, name)
    tree = parse_program(source)
    resolve(tree, source, functions)
    return lower_program(tree, source, functions)
