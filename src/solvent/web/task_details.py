"""One task of a run: where its arguments come from, its calls with their results or failures, its molecules."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from solvent.errors import Misuse, SolventError, nearest
from solvent.hocl.process_settings import deep_stack
from solvent.lang.printer import print_molecule
from solvent.runs.closed_shards import closed_shards
from solvent.runs.events import CallAnswered, CallFailed
from solvent.runs.projection import CallChanged, JournalReader, RunView
from solvent.runs.registry import existing, inputs_of
from solvent.values import codec
from solvent.web.shown_values import cut, shown
from solvent.workflows.forms import molecules_of
from solvent.workflows.model import Claim, Input, Result, Value
from solvent.workflows.translate import Concretiser, task_symbol

if TYPE_CHECKING:
    from solvent.runs.projection import InnerView
    from solvent.runs.report import Failed
    from solvent.store import Store
    from solvent.web.run_lookup import FoundRun
    from solvent.workflows.model import Argument, Task, Workflow

MAX_CALLS = 200
"""The number of calls shown, the last ones."""
_MAX_VALUE_CHARACTERS = 1_000
_MAX_BLOB_BYTES = 4_000_000
_MAX_CONTROLLED_TASKS = 500
"""The largest workflow with control structures of which molecules are shown: they are all made together."""


def details_of(store: Store, found: FoundRun, name: str) -> dict[str, Any]:
    """Return all that is known of a task."""
    view, calls = _calls(store, found, name)
    if name not in view.states:
        hint = nearest(name, list(found.tasks[:10_000])) or "the list of tasks shows which there are"
        raise Misuse("H318", f"the run `{found.run}` has no task `{name[:100]}`", hint=hint)
    told: dict[str, Any] = {"task": name, "calls": calls[-MAX_CALLS:], "left_out": max(0, len(calls) - MAX_CALLS)}
    workflow = found.workflow
    if name not in found.tasks:
        return told | _failure_in([one for inner in view.inner.values() for one in _named(inner)], name)
    if workflow is not None:
        task = workflow.task(name)
        given = _inputs(store, found)
        results = _results(store, found, task)
        told |= {
            "service": _service(workflow, task.service),
            "arguments": [
                {"name": key, **_argument(slot, given, results)}
                for key, slot in (*((str(at), one) for at, one in enumerate(task.arguments)), *task.keywords.items())
            ],
            "after": list(task.after),
            "goes_to": workflow.destinations[name],
            "alternatives": [
                {"name": one.name, "exits": one.exits, "on": list(one.on)}
                for one in workflow.alternatives
                if name in one.replaced or name in one.watched or one.name in workflow.wakers.get(name, ())
            ],
            "molecules": _molecules(workflow, task, given),
        }
    return told | _failure(store, found, name)


def _service(workflow: Workflow, name: str) -> dict[str, Any]:
    service = workflow.service(name)
    if service is None:
        return {"name": name}
    policy = {key: value for key, value in msgspec.to_builtins(service.policy).items() if value is not None}
    return {"name": name, "kind": service.kind, "target": cut(service.target, 500), "policy": policy}


def _inputs(store: Store, found: FoundRun) -> dict[str, Any]:
    defaults = {} if found.workflow is None else dict(found.workflow.inputs)
    try:
        return defaults | inputs_of(store, found.record)
    except SolventError:
        return defaults


def _argument(slot: Argument, given: dict[str, Any], results: dict[str, Any]) -> dict[str, Any]:
    """Return where an argument comes from, and its value if that is known."""
    if isinstance(slot, Value):
        return {"from": "value", "value": shown(slot.value, _MAX_VALUE_CHARACTERS)}
    if isinstance(slot, Input):
        known = {"value": shown(given[slot.name], _MAX_VALUE_CHARACTERS)} if slot.name in given else {}
        return {"from": "input", "what": slot.name, **known}
    if isinstance(slot, Result):
        item = {} if slot.item is None else {"item": slot.item}
        known = {}
        if slot.task in results:
            value = results[slot.task]
            if slot.item is not None:
                value = value[slot.item - 1] if isinstance(value, list | tuple) and slot.item <= len(value) else None
            known = {"value": shown(value, _MAX_VALUE_CHARACTERS)}
        return {"from": "result", "what": slot.task, **item, **known}
    if isinstance(slot, Claim):
        return {"from": "resource", "what": slot.resource, "value": slot.mode}
    return {"from": type(slot).__name__.lower()}


def _results(store: Store, found: FoundRun, task: Task) -> dict[str, Any]:
    """Return the results of the tasks whose results a task takes, if each was called once and has answered."""
    wanted = {slot.task for slot in task.slots if isinstance(slot, Result)}
    if not wanted:
        return {}
    known: dict[str, Any] = {}
    for _, event in JournalReader(store, found.record.prefix).news():
        if isinstance(event, CallAnswered) and event.call in wanted:
            is_known, value = _value(store, event)
            if is_known:
                known[event.call] = value
    return known


def _calls(store: Store, found: FoundRun, name: str) -> tuple[RunView, list[dict[str, Any]]]:
    """Return how the run stands, and the calls of a task, in the order in which they began."""
    view = RunView(found.tasks, found.record.created)
    ends: dict[int, CallAnswered | CallFailed] = {}
    for shard, event in JournalReader(store, found.record.prefix).news():
        for change in view.take(shard, event):
            if isinstance(change, CallChanged) and isinstance(event, CallAnswered | CallFailed):
                ends[change.call.number] = event
    told = []
    for call in view.calls:
        if call.task != name:
            continue
        about = {"key": call.call, "began": call.began, "state": call.state, "tries": call.retried, "shard": call.shard}
        if call.ended is not None:
            about["ended"] = call.ended
        if call.number in ends and call.ended is not None:
            about |= {"attempts": call.attempts, **_end(store, ends[call.number])}
        told.append(about)
    return view, told


def _end(store: Store, event: CallAnswered | CallFailed) -> dict[str, Any]:
    """Return how a call ended."""
    if isinstance(event, CallFailed):
        return {"kind": event.kind, "text": cut(event.text), "output": cut(event.output)}
    printed = {"output": cut(event.output)} if event.output else {}
    is_known, value = _value(store, event)
    return ({"result": shown(value)} if is_known else {"note": str(value)}) | printed


def _value(store: Store, event: CallAnswered) -> tuple[bool, Any]:
    """Return whether the value of an answer can be shown, and the value or the reason."""
    try:
        data = event.value.read(store)
        if len(data) > _MAX_BLOB_BYTES:
            return False, f"its answer has {len(data):,} bytes, and is not shown"
        return True, codec.decode(data)
    except (SolventError, ValueError, ImportError) as error:
        return False, f"its answer does not read: {error}"


def _failure(store: Store, found: FoundRun, name: str) -> dict[str, Any]:
    """Return why a task failed in the end, with the output of its service and the molecules that it holds."""
    record = existing(store, found.run)
    closed = closed_shards(store, record) if record.has_ended else None
    return _failure_in([failed for shard in closed or () for failed in shard.failures], name)


def _named(inner: InnerView) -> list[Failed]:
    """Return the failures inside a sub-workflow, with the tasks as the view calls them."""
    return [replace(one, task=inner.tasks.get(one.task, one.task)) for one in inner.failures]


def _failure_in(failures: list[Failed], name: str) -> dict[str, Any]:
    for one in failures:
        if one.task == name:
            said = {"kind": one.kind, "cause": cut(one.cause), "attempts": one.attempts, "output": cut(one.output)}
            return {"failure": said | {"molecules": cut(one.molecules)}}
    return {}


def _molecules(workflow: Workflow, task: Task, given: dict[str, Any]) -> list[str]:
    """Return the molecules with which a task begins."""
    if workflow.is_controlled and len(workflow.tasks) > _MAX_CONTROLLED_TASKS:
        return []
    try:
        with deep_stack():
            solution = Concretiser(workflow, given).concrete(frozenset({task.name})).solution
            found = molecules_of(task_symbol(task.name), solution)
            return sorted(cut(print_molecule(one), _MAX_VALUE_CHARACTERS) for one in found)
    except (SolventError, OSError):
        # A rule library of the user may be gone.
        return []


__all__ = ["details_of"]
