"""Every order in which a workflow can happen.

A service is called where its rule is, at once, and its answers are remembered: services are taken for functions. What
is left of a run is which reaction comes next, and those orders are all tried. Inside a task's instance only one thing
can happen next and nobody sees it half done, so that part is not varied; everything between tasks is. A stand-in begins
by an event of its own, which leaves `REPLACED : task : stand-in` in the state: an instance that is gone tells nothing.

    orders = explore_workflow(workflow, {"n": 3})
    violations(orders, ["A before B", "C once"])            # see `causality`
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from solvent.engine.explore import MAX_STATES
from solvent.engine.reaction import Stopped
from solvent.engine.successors import Successors
from solvent.errors import Misuse, WorkflowProblem
from solvent.hocl.process_settings import deep_stack
from solvent.hocl.program import rule
from solvent.lang.molecule import List, Molecule, Symbol, order_key
from solvent.lang.solution import Solution
from solvent.runs.conditions import Chooser, judge_of
from solvent.runs.functions import HOST_FUNCTIONS, current
from solvent.runs.stuck import waiting_in
from solvent.services.failure import cause_of
from solvent.services.python import function_of, is_asynchronous
from solvent.workflows.alternative_checks import unfit_alternatives
from solvent.workflows.items import follows, in_place
from solvent.workflows.model import Control
from solvent.workflows.rule_functions import Unusable, concerns, molecule_of, value_of
from solvent.workflows.translate import concretise, task_symbol, workflow_functions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from solvent.engine.interned import Content
    from solvent.workflows.model import Workflow

_TRY = "explore a copy of the workflow {}"
"""What to do about a workflow that cannot be explored."""
_RES, _ERR, _GATE, _RUNS, _END = Symbol("RES"), Symbol("ERR"), Symbol("GATE"), Symbol("RUNS"), Symbol("ENDED")
_ARG, _REPLACED, _LOST, _SEEN = map(Symbol, ("ARG", "REPLACED", "LOST", "SEEN"))
_WITHDRAWN, _COLLECT, _PART, _COLLECTED = map(Symbol, ("WITHDRAWN", "COLLECT", "PART", "COLLECTED"))


@dataclass(slots=True)
class Counts:
    """How often each task has started and is done in a state, and how the state is."""

    started: dict[str, int]
    running: dict[str, int]
    done: dict[str, int]
    replaced: dict[str, int] = field(default_factory=dict)
    """How often a stand-in has begun in the place of each."""
    is_final: bool = False
    is_ended: bool = False
    is_cancelled: bool = False
    stuck: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    @property
    def end(self) -> str:
        """How the case is, in a final state: `done`, `cancelled`, `failed` or `stuck`."""
        if self.is_ended:
            return "cancelled" if self.is_cancelled else "done"
        return "failed" if self.failed else "stuck" if self.stuck else "done"


@dataclass(slots=True)
class Orders:
    """All states of a workflow that can be reached."""

    states: list[Counts] = field(default_factory=list)
    came_from: list[int | None] = field(default_factory=list)
    edges: set[tuple[int, int]] = field(default_factory=set)
    is_complete: bool = True

    @property
    def finals(self) -> list[Counts]:
        """The states in which nothing more can happen."""
        return [state for state in self.states if state.is_final]

    def way_to(self, state: int) -> list[Counts]:
        """Give the states on a shortest way to one."""
        way: list[Counts] = []
        at: int | None = state
        while at is not None:
            way.append(self.states[at])
            at = self.came_from[at]
        return way[::-1]


class _Explorer:
    """What the rules find as their run while a workflow is explored."""

    def __init__(self, workflow: Workflow, services: Mapping[str, Callable[..., Any]], folder: Path | None) -> None:
        self.workflow = workflow
        self.folder = folder
        self.chooser = Chooser(workflow, folder)
        self._services = services
        self._answers: dict[Any, Molecule] = {}
        self._names = {task_symbol(task.name): task.name for task in workflow.tasks}
        self._judge = judge_of(workflow, folder)
        self.tasks = {task.name: task for task in workflow.tasks}

    def name_of(self, task: Molecule) -> str:
        """Give the name of the task that a molecule stands for."""
        return self._names[task]

    def invoke(self, task: Molecule, service: Molecule, arguments: Molecule) -> Molecule:
        """Call a service at once; an answer is asked for once only, so that it is the same in every order."""
        key = (task, service, order_key(arguments))
        if key not in self._answers:
            called = self.tasks[self._names[task]]
            values = [value_of(one) for one in arguments]
            if Unusable in map(type, values):
                text = next(one for one in values if type(one) is Unusable)
                self._answers[key] = _ERR, Symbol("FAILED"), str(text)
                return self._answers[key]
            try:
                keywords = dict(zip(called.keywords, values[len(called.arguments) :], strict=True))
                result = self._services[service](*values[: len(called.arguments)], **keywords)
                self._answers[key] = _RES, molecule_of(result)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # noqa: BLE001 - a service may raise anything, which fails its task
                self._answers[key] = _ERR, Symbol("FAILED"), cause_of(error)
        return self._answers[key]

    def invoke_each(self, task: Molecule, service: Molecule, index: Molecule, arguments: Molecule) -> Molecule:
        """Make one of several calls."""
        per_item, name = self.tasks[self._names[task]].per_item, self._names[task]
        for route in count():
            answer = self.invoke(task, service, arguments)
            kind = "" if answer[0] is _RES else answer[1].name
            then = None
            if per_item is not None:
                result = answer[-1]
                then = follows(per_item, route, kind, lambda one: self.chooser.rejects(name, one, result))  # noqa: B023
            if then is None:
                break
            if then.what != "tried":
                assert per_item is not None
                return in_place(per_item, then, index)
            service = then.service
        return (Symbol("GOT"), index, answer[1]) if answer[0] is _RES else (Symbol("FAULT"), *answer[1:])

    def rejecting(self, task: Molecule, judges: Molecule, result: Molecule) -> list[str]:
        """Give the alternatives that reject a result."""
        return self._judge.rejecting(self._names[task], judges, result)

    def note_adaptation(self, *_: Molecule) -> None:
        """Do nothing: the state says it."""

    call_off = call_off_parts = end = note_adaptation


def explore_workflow(
    workflow: Workflow,
    inputs: Mapping[str, Any] | None = None,
    *,
    services: Mapping[str, Callable[..., Any]] | None = None,
    signals: Sequence[tuple[str, Any]] = (),
    max_states: int = MAX_STATES,
    should_stop: Callable[[], bool] | None = None,
    folder: Path | None = None,
    into: Orders | None = None,
) -> Orders:
    """Explore every order of a workflow; signals may come at any moment.

    Its modules and rule libraries are looked for in `folder`; `into` can be watched as it grows.
    """
    _check_signals(workflow, signals)
    _refuse_resources(workflow)
    # Every task is a gate, so that each state says how often each has started.
    workflow = replace(
        workflow, tasks=tuple(replace(task, control=task.control or Control()) for task in workflow.tasks)
    )
    _refuse_alternatives(workflow)
    explorer = _Explorer(workflow, services if services is not None else _functions(workflow, folder), folder)
    before = getattr(current, "execution", None)
    current.execution = explorer
    try:
        with deep_stack():
            return _explore(explorer, inputs, signals, max_states, should_stop, into=into)
    finally:
        current.execution = before


def gated(workflow: Workflow) -> Workflow:
    """Return a workflow all of whose tasks are gates, so that each state says how often each has started."""
    return replace(workflow, tasks=tuple(replace(one, control=one.control or Control()) for one in workflow.tasks))


def _explore(
    explorer: _Explorer,
    inputs: Mapping[str, Any] | None,
    signals: Sequence[tuple[str, Any]],
    max_states: int,
    should_stop: Callable[[], bool] | None,
    *,
    into: Orders | None,
) -> Orders:
    workflow = explorer.workflow
    found = into if into is not None else Orders()
    states = _States(should_stop)
    begun = states.content(concretise(workflow, inputs, functions=_EXPLORED, folder=explorer.folder).solution)
    try:
        first = states.settled(begun)
    except Stopped:
        # What happens at once may never end; so the only state known is the one in which nothing has happened.
        found.states.append(counts_of(states.molecules(begun), workflow))
        found.came_from.append(None)
        found.is_complete = False
        return found
    added: list[Molecule] = []
    for name, value in signals:
        # The signal is on its way: a reaction of its own lets it arrive.
        listeners = [task_symbol(one.name) for one in workflow.tasks if one.control and one.control.signal == name]
        added.append((Symbol("COMING"), List(listeners), molecule_of(value)))
    if signals:
        added.append(_ARRIVING)
    if workflow.alternatives:
        added += _REPLACING
    if any(task.control is not None and task.control.timeout is not None for task in workflow.tasks):
        added.append(_ELAPSING)
    first = states.content(Solution([*states.molecules(first), *added]))
    numbers = {first: 0}
    queue = deque([first])
    found.states.append(counts_of(states.molecules(first), workflow))
    found.came_from.append(None)
    while queue:
        state = queue.popleft()
        at = numbers[state]
        if should_stop is not None and should_stop():
            found.is_complete = False
            break
        is_final = True
        try:
            for _, after in () if found.states[at].is_ended else states.after(state):
                is_final = False
                settled = states.settled(after)
                if settled not in numbers:
                    if len(numbers) >= max_states:
                        found.is_complete = False
                        continue
                    numbers[settled] = len(found.states)
                    queue.append(settled)
                    found.states.append(counts_of(states.molecules(settled), workflow))
                    found.came_from.append(at)
                found.edges.add((at, numbers[settled]))
        except Stopped:
            # What commutes with all else may never end: tokens that multiply in a loop.
            found.is_complete = False
            return found
        if is_final:
            found.states[at].is_final = True
            if not found.states[at].is_ended and not found.states[at].failed:
                found.states[at].stuck = waiting_in(states.interned.copy(state), workflow)
    return found


class _States(Successors):
    """The states of a workflow in which only true events are left to choose from."""

    def molecules(self, state: Content) -> list[Molecule]:
        """Return the molecules of a state, to be looked at."""
        return self.interned.plain(state)

    def settled(self, state: Content) -> Content:
        """Let everything happen that commutes with all else."""
        rules = [number for number in state.molecules if number in self.interned.rules]
        name_of = {number: str(self.interned.molecules[number].name) for number in rules}
        names = {*name_of.values()}
        events = [number for number in rules if _is_event(name_of[number], names)]
        # A signal that comes together with the token that it is for is not lost.
        late = [number for number in rules if name_of[number] == "loseSignal"]
        aside = {*events, *late}
        rest = self.run(self.interned.content_of([one for one in state.molecules if one not in aside]))
        if late:
            rest = self.run(self.interned.content_of([*rest.molecules, *late]))
        return self.interned.content_of([*rest.molecules, *events])


_EVENTS = frozenset(
    ("passInfo", "passInfoDated", "passInfoCancel", "passInfoCancelDated", "shutGate", "shutGateDated", "stopServ",
     "stopServDated", "discr_cancelled", "discr_cancelled_open", "mi_result", "mi_complete",
     "mi_complete_cancel", "mi_complete_none", "arriving", "elapsing", "replacing", "replacing_last")
)  # fmt: skip


def _is_event(name: str, others: set[str]) -> bool:
    """Tell whether it matters when a rule reacts: it ends something, takes what others want, or cancels."""
    if name == "invokeServ":
        # Where nobody cancels and nothing ends by a start, it does not matter how long a token has lain there.
        return any(other == "withdraw" or "_during" in other for other in others)
    return name in _EVENTS or name.startswith("start_")


def counts_of(state: Iterable[Molecule], workflow: Workflow) -> Counts:
    """Count what has happened in a state of a workflow whose tasks are all gates."""
    names = {task_symbol(task.name): task.name for task in workflow.tasks}
    started: Counter[str] = Counter()
    running: Counter[str] = Counter()
    withdrawn: Counter[str] = Counter()
    replaced: Counter[str] = Counter()
    # Tasks of several instances that each go on by themselves: they run as long as one of them does.
    apart: set[str] = set()
    found = Counts(started, running, {}, replaced)
    for molecule in state:
        if type(molecule) is not tuple:
            continue
        first = molecule[0]
        if first is _GATE:
            runs = next(part[1] for part in molecule[2] if type(part) is tuple and part[0] is _RUNS)
            started[names[molecule[1]]] += runs
        elif first is _WITHDRAWN:
            withdrawn[names[molecule[1]]] += molecule[2]
        elif first is _REPLACED and len(molecule) == 3:
            replaced[names[molecule[1]]] += 1
            started[names[molecule[2]]] += 1
        elif first is _LOST and len(molecule) == 3:
            # Its gate's task counts as withdrawn, but it was the stand-in that ran.
            withdrawn[names[molecule[1]]] -= 1
            withdrawn[names[molecule[2]]] += 1
        elif first is _END:
            found.is_ended = True
            found.is_cancelled = molecule[2] is Symbol("CANCELLED")
        elif first is _COLLECT:
            running[names[molecule[1]]] += 1
        elif type(molecule[1]) is Solution:
            words = {part[0]: part for part in molecule[1] if type(part) is tuple}
            # `ARG` names the stand-in once one has begun.
            name = names[words[_ARG][1] if _ARG in words else first]
            if _ERR in words:
                found.failed.append(name)
            if _PART not in words:
                running[name] += 1
            elif not any(part is _COLLECTED for part in molecule[1]):
                apart.add(name)
    running.update(apart)
    found.done = {name: started[name] - running[name] - withdrawn[name] - replaced[name] for name in names.values()}
    return found


def _check_signals(workflow: Workflow, signals: Sequence[tuple[str, Any]]) -> None:
    known = {task.control.signal for task in workflow.tasks if task.control is not None} - {None}
    for name, _ in signals:
        if name not in known:
            hint = f"signals: {', '.join(sorted(filter(None, known)))}" if known else "it has no signals"
            raise Misuse("H316", f"no task of `{workflow.name}` waits for the signal `{name}`", hint=hint)


def _refuse_resources(workflow: Workflow) -> None:
    for task in workflow.tasks:
        for claim in task.claims:
            message = f"cannot explore this workflow: `{task.name}` claims the resource `{claim.resource}`"
            raise WorkflowProblem(
                "W142", message, hint=_TRY.format("whose tasks pass on results instead of claiming a resource")
            )


def _refuse_alternatives(workflow: Workflow) -> None:
    """Refuse alternatives of a workflow without control flow that one with it cannot have: it is explored as such."""
    for name, why in unfit_alternatives(workflow):
        message = f"cannot explore this workflow: the alternative `{name}` {why}"
        raise WorkflowProblem(
            "W142", message, hint=_TRY.format("in which each alternative replaces one task by one other")
        )


def _functions(workflow: Workflow, folder: Path | None) -> dict[str, Callable[..., Any]]:
    """Give the functions of a workflow's services, which must be Python's."""
    found = {}
    for service in workflow.services:
        if service.kind == "delay":
            found[service.name] = _passed_on
            continue
        if service.kind != "python":
            message = f"cannot explore this workflow: the service `{service.name}` is not a Python function"
            raise WorkflowProblem(
                "W142", message, hint=_TRY.format(f"in which a Python function takes the place of `{service.name}`")
            )
        function = function_of(service, folder)
        found[service.name] = _awaited(function) if is_asynchronous(function) else function
    return found


def _passed_on(value: Any = None) -> Any:
    """Answer as a delay does: when, no order says."""
    return value


def _awaited(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function that answers at once from an asynchronous one."""
    import asyncio

    async def answer(*arguments: Any, **keywords: Any) -> Any:
        return await function(*arguments, **keywords)

    return lambda *arguments, **keywords: asyncio.run(answer(*arguments, **keywords))


def _called(name: str) -> Callable[..., Molecule]:
    return lambda *arguments: getattr(current.execution, name)(*arguments)  # noqa: PLW0108 - found when it is called


def _concerns(alternative: Molecule, kind: Molecule, _kinds: Molecule) -> bool:
    """Let a stand-in begin only after the event that says so."""
    return type(kind) is tuple and kind[0] is _SEEN and kind[1] == alternative


_EXPLORED = workflow_functions(
    **{**HOST_FUNCTIONS, "invoke": _called("invoke"), "invoke_each": _called("invoke_each")},
    concerns=_concerns,
    applies=concerns,
)
_ARRIVING = rule("(arriving = replace COMING : (t, ?l) : v by COMING : list(l) : v, SIGNAL : t : v)")
# A signal may come too late, whenever a task waits for it; of one that starts for each signal only the first counts.
_ELAPSING = rule(
    """(elapsing =
        replace GATE : tj : <ARMED : <?i>, ALONE, LIMITED : q::int : t, COPY : <OPEN, ?m>, FROM : f, RUNS : k::int, ?w>
        by GATE : tj : <IDLE, ALONE, LIMITED : q : t, COPY : <OPEN, m>, FROM : f, RUNS : (k + 1), w>,
          tj : <SRC : <>, IN : <i>, FROM : f, RUN : k, ERR : TIMEOUT : t, m>
        if q == 0 || k == 0)"""
)
# The call of a task has failed, or its result was rejected: the instance goes on with the stand-in. LOSES is what an
# instance leaves when it is withdrawn. A stand-in that ends the case has one part more.
_REPLACING = [
    rule(
        f"""({name} = replace ti : <ERR : k : m, OTHER : t : n : l : u : s : b{last}, ARG : t : a, LOSES : <?h>, ?w>
        by REPLACED : t : u,
          ti : <ERR : (SEEN : n : k) : m, OTHER : t : n : l : u : s : b{last}, ARG : t : a,
            LOSES : <LOST : t : u, h>, w>
        if applies(n, k, l))""",
        functions=_EXPLORED,
    )
    for name, last in (("replacing", ""), ("replacing_last", " : e"))
]

__all__ = ["Counts", "Orders", "counts_of", "explore_workflow", "gated"]
