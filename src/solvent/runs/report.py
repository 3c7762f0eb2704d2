"""What a run of a workflow tells: while it goes on, as events, and in the end, as a report."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from solvent.errors import LimitReached, WorkflowFailed, is_internal
from solvent.lang.printer import print_solution
from solvent.workflows.durations import duration_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from solvent.errors import SolventError
    from solvent.lang.molecule import Molecule
    from solvent.workflows.forms import Forms
    from solvent.workflows.model import Workflow

MAX_TEXT = 2_000
REJECTED = "its result was rejected"
_MAX_SAID = 10


@dataclass(frozen=True, slots=True)
class TaskEvent:
    """Something that happened to a task; `run(..., watch=...)` is called with it.

    `kind` is `"started"`, `"done"`, `"failed"`, `"adapted"`, or `"healed"` for an item that failed and is tried
    elsewhere, left out, or gets a default; `seconds` count from the start of the run.

    >>> from solvent import run, service, workflow
    >>> @workflow
    ... def shout(text: str) -> str:
    ...     return service(str.upper)(text)
    >>> events = []
    >>> _ = run(shout, {"text": "hi"}, watch=events.append)
    >>> [(event.kind, event.task) for event in events]
    [('started', 'upper'), ('done', 'upper')]
    """

    kind: str
    task: str
    seconds: float
    text: str = ""
    within: str = ""
    """The path of the sub-workflow in which it happened; `task` begins with it."""
    items: tuple[int, int] | None = None
    """Of a task that is called for each item: how many are over, and of how many."""


@dataclass(slots=True)
class Failed:
    """A task that failed: why, after how many attempts, what the service had written, and the molecules the task holds.

    >>> from solvent import run, service, workflow
    >>> @workflow
    ... def broken(text: str) -> int:
    ...     return service(int)(text)
    >>> failed = run(broken, {"text": "seven"}, check=False).failures[0]
    >>> failed.task, failed.kind, failed.attempts
    ('int', 'FAILED', 1)
    """

    task: str
    kind: str
    cause: str
    attempts: int = 1
    output: str = ""
    molecules: str = ""


class Item(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True, gc=False):
    """An item of a task that is called for each: one whose call failed, or whose result was rejected."""

    number: int
    #: Its arguments, as people read them.
    argument: str
    #: What follows: another service is `tried`, it is `skipped`, or gets the `default`; nothing, if it has failed.
    follows: str = ""
    service: str = ""


@dataclass(slots=True)
class Timing:
    """When the last call of a task began and ended, in seconds from the run's start, and how many attempts it took.

    >>> from solvent import run, service, workflow
    >>> @workflow
    ... def shout(text: str) -> str:
    ...     return service(str.upper)(text)
    >>> run(shout, {"text": "hi"}).timings["upper"].attempts
    1
    """

    started: float
    ended: float
    attempts: int = 1


@dataclass(slots=True)
class Report:
    """How a run ended: what `solvent.run` returns.

    >>> from solvent import run, service, workflow
    >>> @workflow
    ... def shout(text: str) -> str:
    ...     return service(str.upper)(text)
    >>> report = run(shout, {"text": "hi"})
    >>> report.succeeded, report.results, report.states, report.calls
    (True, {'upper': 'HI'}, {'upper': 'done'}, {'upper': 1})
    """

    workflow: str
    results: dict[str, Any] = field(default_factory=dict)
    """The results by the name of their task, also where another task replaced it."""
    states: dict[str, str] = field(default_factory=dict)
    """The state of each task: `done`, `failed`, `replaced`, `cancelled`, `interrupted`, `unused` or `waiting`."""
    calls: dict[str, int] = field(default_factory=dict)
    """How often each task was called."""
    called_again: dict[str, int] = field(default_factory=dict)
    """How many further calls of each task were repetitions, since the process that had made them was gone."""
    adaptations: list[dict[str, Any]] = field(default_factory=list)
    """Which alternatives were taken, in order: `alternative`, `because` (a task), `cause`, `replaced`, `seconds`; of
    one inside a sub-workflow also its path, `within`."""
    reused: dict[str, int] = field(default_factory=dict)
    """How many calls of each task had their results from the cache."""
    routes: list[dict[str, Any]] = field(default_factory=list)
    """The items whose calls failed or were rejected, of tasks that are called for each: `task`, `item` (its index),
    `argument`, `causes`, and the `route` by which its result came: a service, `skipped`, `default` or `failed`."""
    failures: list[Failed] = field(default_factory=list)
    """The tasks that failed for good."""
    timings: dict[str, Timing] = field(default_factory=dict)
    """When the last call of each task began and ended."""
    resources: dict[str, Any] = field(default_factory=dict)
    """What each resource holds in the end: an array, or the bytes."""
    reactions: int = 0
    """How many reactions the run took."""
    seconds: float = 0.0
    """How long the run took."""
    value: Any = None
    """What the workflow returns: the result of a step, or a list, tuple or dictionary of them; `None` if it failed."""
    results_of: tuple[str, ...] = ()
    """The tasks whose results became the results of the workflow."""
    trace: list[TaskEvent] | None = None
    """What happened, in order, where tasks may run several times: `started`, `done`, `failed`, `cancelled`, ..."""
    stuck: list[str] = field(default_factory=list)
    """The tasks that still wait although nothing more can happen, and what they wait for."""
    ended_by: str = ""
    """The task that ended the workflow (`ends`), if one did."""
    is_cancelled: bool = False
    """Whether a task has cancelled the whole workflow."""
    task: str = ""
    """Of a sub-workflow: the task that called it."""
    inner: dict[str, Report] = field(default_factory=dict)
    """How each sub-workflow went that was called, at any depth, by its path: its call, such as `T`, `T[2]`, `T/U`."""
    error: SolventError | None = None
    """What stopped the run early: a limit, Ctrl-C, a product that cannot be computed."""

    @property
    def succeeded(self) -> bool:
        """Whether every result of the workflow is there and no task failed without being replaced."""
        if self.error is not None or "failed" in self.states.values() or self.stuck or self.is_cancelled:
            return False
        if self.trace is not None:
            # Where tasks join and split by patterns, not every task must have run.
            return True
        return all(self.states.get(task) == "done" for task in self.results_of)

    def _repr_html_(self) -> str:
        """Show it in a notebook."""
        from solvent.runs.report_display import report_html

        return report_html(self)


def concluded(  # noqa: PLR0917 - how all tasks are
    report: Report,
    workflow: Workflow,
    forms: Forms,
    values: Mapping[str, Any],
    replaced: Iterable[str],
    faults: Mapping[str, Failed],
) -> Report:
    """Put into a report what follows from how all tasks are: the workflow's results, what was not used, what failed."""
    applied = _applied(forms, report.adaptations)
    report.results_of = results_of(workflow, forms, report.adaptations)
    used = zip(workflow.outcomes, report.results_of, strict=True)
    report.results |= {name: values[one] for name, one in used if one in values}
    for name in replaced:
        report.states[name] = "replaced"
    for name, alternatives in workflow.wakers.items():
        if applied.isdisjoint(alternatives) and forms.swapped.isdisjoint(alternatives):
            report.states[name] = "unused"
    if workflow.is_controlled:
        # Where tasks join and split by patterns, not every task must have run.
        report.states = {name: "unused" if state == "waiting" else state for name, state in report.states.items()}
        faults = {name: faults[name] for name in workflow.by_name if name in faults}
    report.failures = [failed for name, failed in faults.items() if report.states.get(name) == "failed"]
    if report.failures:
        # What waits may wait for those.
        report.stuck = []
    return report


def add_route(routes: list[dict[str, Any]], task: str, item: Item, service: str, cause: str) -> None:
    """Add to the routes of items that the call of one has failed; `service` is empty for the task's own."""
    known = next((one for one in reversed(routes) if (one["task"], one["item"]) == (task, item.number)), None)
    if known is None or not service or known["route"] != service:
        known = {"task": task, "item": item.number, "argument": item.argument, "causes": [], "route": ""}
        routes.append(known)
    known["causes"].append(cause)
    known["route"] = item.service or item.follows or "failed"


def by_item(route: dict[str, Any]) -> tuple[str, int]:
    """Return the place of a row among the routes of items."""
    return route["task"], route["item"]


def named_item(item: Item, text: str) -> str:
    """Return why the call of an item failed, with the item."""
    return f"[{item.number}] {item.argument}: {text}"


def said_follows(item: Item) -> str:
    """Return what follows for an item."""
    words = {"tried": f"`{item.service}` is tried", "skipped": "it is left out", "default": "it gets the default"}
    return words[item.follows]


class DeadlinePassed(WorkflowFailed):
    """A run had not ended when its deadline passed."""

    def __init__(self, text: str) -> None:
        super().__init__("W211", text, hint="allow more time: --deadline, or the `deadline` of the workflow")


def deadline_text(seconds: float, tasks: Collection[str]) -> str:
    """Return the words for a deadline that has passed while some tasks were open."""
    named = ", ".join(f"`{one}`" for one in [*tasks][:_MAX_SAID])
    more = f" and {len(tasks) - _MAX_SAID:,} more" if len(tasks) > _MAX_SAID else ""
    were = f"while {named}{more} {'was' if len(tasks) == 1 else 'were'} open" if tasks else "before the run was done"
    return f"the deadline of {duration_text(seconds)} has passed {were}"


def cancelled_states(report: Report) -> dict[str, str]:
    """Return the states of the tasks of a run that is ended from outside: what was called and is open is cancelled."""
    is_open = {"waiting", "interrupted"}
    return {
        name: "cancelled" if state in is_open and report.calls.get(name) else state
        for name, state in report.states.items()
    }


def stopped_states(states: Mapping[str, str], was_out: Collection[str]) -> dict[str, str]:
    """Return the states of the tasks of a run that is not over: those with calls out, and those that may yet begin."""
    return {
        name: "interrupted" if name in was_out else "waiting" if state == "unused" else state
        for name, state in states.items()
    }


def value_of(report: Report, workflow: Workflow) -> Any:
    """Return what a workflow returns, as far as it is there."""
    if workflow.returns == "nothing":
        return None
    if workflow.returns == "tuple":
        return tuple(report.results.get(name) for name in workflow.outcomes)
    if workflow.returns == "list":
        return [report.results[name] for name in workflow.outcomes if name in report.results]
    return plain_value_of(report, workflow)


def plain_value_of(report: Report, workflow: Workflow) -> Any:
    """Return what a workflow passes on as a step of another one: its result, or the list or dictionary of them."""
    found = report.results
    if workflow.labels:
        pairs = zip(workflow.labels, workflow.outcomes, strict=True)
        return {label: found[name] for label, name in pairs if name in found}
    # Where it goes by choice, not every end is reached.
    values = [found[name] for name in workflow.outcomes if name in found]
    return values[0] if len(values) == 1 else values or None


def results_of(workflow: Workflow, forms: Forms, adaptations: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the tasks whose results are those of the workflow in the end."""
    applied = _applied(forms, adaptations)
    return tuple(standing_for(workflow, name, applied) for name in workflow.outcomes)


def _applied(forms: Forms, adaptations: Iterable[Mapping[str, Any]]) -> set[str]:
    # Those that called another service have the result where it would have been.
    return {one["alternative"] for one in adaptations if not one.get("within")} - forms.swapped


def standing_for(workflow: Workflow, name: str, applied: set[str]) -> str:
    """Give the task that in the end stands for another, where some alternatives have applied."""
    seen = {name}
    while True:
        for alternative in workflow.alternatives:
            new = alternative.exits.get(name)
            if new is not None and alternative.name in applied and new not in seen:
                name = new
                seen.add(name)
                break
        else:
            return name


def state_of(report: Report) -> str:
    """Say in a word how a run ended."""
    if report.error is not None:
        return "stopped" if isinstance(report.error, LimitReached) else "failed"
    if report.is_cancelled:
        return "cancelled"
    return "done" if report.succeeded else "failed"


def problem_of(report: Report) -> str:
    """Say why a run is not done; nothing, if it is. Of many tasks only the first are named."""
    if report.succeeded:
        return ""
    if report.error is not None:
        return report.error.message
    failed = [one for one in report.failures if report.states.get(one.task) == "failed"] or report.failures
    said = [f"{one.task}: {one.cause}" for one in failed] or report.stuck
    more = [f"and {len(said) - _MAX_SAID:,} more"] if len(said) > _MAX_SAID else []
    return "; ".join([*said[:_MAX_SAID], *more]) or state_of(report)


class RunFailed(WorkflowFailed):
    r"""A run did not succeed: a task failed for good, it was cancelled or stopped, or tasks wait for ever (W210).

    - `report`: the `Report` of the run, with all that was done.

    It is raised from (`__cause__`) the exception of the task that failed first, where that was raised in this process,
    or from what stopped the run. Where a task failed in another process, a note has the text with its source lines.

    >>> from solvent import RunFailed, run, service, workflow
    >>> @workflow
    ... def broken(text: str) -> int:
    ...     return service(int)(text)
    >>> try:
    ...     run(broken, {"text": "seven"})
    ... except RunFailed as error:
    ...     print(error.message, error.report.states, repr(error.__cause__), sep="\n")
    `broken` failed: int: ValueError: invalid literal for int() with base 10: 'seven'
    {'int': 'failed'}
    ValueError("invalid literal for int() with base 10: 'seven'")
    """

    def __init__(self, report: Report) -> None:
        state = "is stuck" if report.stuck and report.error is None else f"was {state_of(report)}"
        how = "failed" if state == "was failed" else state
        super().__init__("W210", f"`{report.workflow}` {how}: {problem_of(report)}")
        self.report = report
        if report.error is not None:
            self.exit_code = report.error.exit_code

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.report,)


def succeeded(report: Report, errors: Mapping[str, BaseException] | None = None) -> Report:
    """Return the report of a run that has succeeded; else raise `RunFailed` from the error of its task, if it is here.

    `errors` are the exceptions of tasks.
    """
    if report.succeeded:
        return report
    problem = RunFailed(report)
    cause: BaseException | None = report.error
    for failed in report.failures[:1] if cause is None else ():
        cause = (errors or {}).get(failed.task)
        if cause is not None:
            # What the user's code did begins below the frames of those that called it.
            trace = cause.__traceback__
            while trace is not None and trace.tb_next is not None and is_internal(trace.tb_frame.f_code.co_filename):
                trace = trace.tb_next
            cause.__traceback__ = trace
        elif failed.output:
            problem.add_note(f"task `{failed.task}`, in another process:\n{failed.output}")
    raise problem from cause


def held_text(molecules: Iterable[Molecule]) -> str:
    """Return what a failed task holds, cut short; nothing where there is no memory to write it."""
    try:
        return print_solution(molecules)[:MAX_TEXT]
    except MemoryError:
        return ""


def said_counts(kept: int, again: int, new: int, gone: int, waiting: int) -> str:
    """Return what becomes of the calls of a run that is continued by another version of it."""
    said = f"{kept:,} kept, {again:,} run again, {new:,} new, {gone:,} gone"
    return f"{said}; {waiting:,} kept if the arguments stay the same" if waiting else said


__all__ = [
    "MAX_TEXT", "REJECTED", "DeadlinePassed", "Failed", "Item", "Report", "RunFailed", "TaskEvent", "Timing",
    "add_route", "by_item", "cancelled_states", "concluded", "deadline_text", "held_text", "named_item",
    "plain_value_of", "problem_of", "results_of", "said_follows", "standing_for", "state_of", "succeeded", "value_of",
]  # fmt: skip
