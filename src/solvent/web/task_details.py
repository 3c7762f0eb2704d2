"""One task of a run: where its arguments come from, its calls with their results or failures, its molecules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from solvent.errors import Misuse, SolventError, nearest
from solvent.hocl.process_settings import deep_stack
from solvent.lang.printer import print_molecule
from solvent.lang.solution import Solution
from solvent.runs.records.cards import summary_of
from solvent.runs.records.entries import Answered, Called, Retried, Withdrawn
from solvent.runs.records.history import task_of
from solvent.values import codec
from solvent.web.run_lookup import card_of, read_journals
from solvent.web.shown_values import cut, shown
from solvent.workflows.model import Claim, Input, Result, Value
from solvent.workflows.translate import Concretiser, task_symbol

if TYPE_CHECKING:
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
    if name not in found.tasks:
        hint = nearest(name, list(found.tasks[:10_000])) or "the list of tasks shows which there are"
        raise Misuse("H318", f"the run `{found.run}` has no task `{name[:100]}`", hint=hint)
    calls = _calls(store, found, name)
    told: dict[str, Any] = {"task": name, "calls": calls[-MAX_CALLS:], "left_out": max(0, len(calls) - MAX_CALLS)}
    workflow = found.workflow
    if workflow is not None:
        task = workflow.task(name)
        given = _inputs(found)
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


def _inputs(found: FoundRun) -> dict[str, Any]:
    try:
        given = codec.decode(found.inputs) if found.inputs else {}
    except ValueError:
        return {}
    defaults = {} if found.workflow is None else found.workflow.inputs
    return {**defaults, **given} if isinstance(given, dict) else dict(defaults)


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
    for entry in (entry for read in read_journals(store, found) for entry in read.entries):
        if isinstance(entry, Answered) and entry.key in wanted and entry.failure is None:
            is_known, value = _value(store, entry)
            if is_known:
                known[entry.key] = value
    return known


def _calls(store: Store, found: FoundRun, name: str) -> list[dict[str, Any]]:
    """Return the calls of a task, in the order in which they began."""
    names = frozenset(found.tasks)
    told: list[dict[str, Any]] = []
    out: dict[str, dict[str, Any]] = {}
    for place, entry in ((read.place, entry) for read in read_journals(store, found) for entry in read.entries):
        if not isinstance(entry, Called | Retried | Answered | Withdrawn):
            continue
        if entry.key != name and (not entry.key.startswith(name) or task_of(entry.key, names) != name):
            continue
        at = max(0.0, entry.at - found.created)
        if isinstance(entry, Called) or entry.key not in out:
            if isinstance(entry, Called) and entry.key in out:
                out[entry.key] |= {"state": "interrupted", "ended": at}
            out[entry.key] = {"key": entry.key, "began": at, "state": "running", "tries": [], "place": place}
            told.append(out[entry.key])
        call = out[entry.key]
        if isinstance(entry, Retried):
            call["tries"].append(at)
        elif isinstance(entry, Withdrawn):
            call |= {"state": "withdrawn", "ended": at}
            del out[entry.key]
        elif isinstance(entry, Answered):
            call |= {"ended": at, "attempts": entry.attempts, **_answer(store, entry)}
            del out[entry.key]
    return told


def _answer(store: Store, entry: Answered) -> dict[str, Any]:
    failure = entry.failure
    if failure is not None:
        state = "cancelled" if failure.kind == "CANCELLED" else "failed"
        return {"state": state, "kind": failure.kind, "text": cut(failure.text), "output": cut(failure.output)}
    if entry.is_unkept:
        return {"state": "done", "note": "its answer is no data, and was not kept"}
    is_known, value = _value(store, entry)
    return {"state": "done", "result": shown(value)} if is_known else {"state": "done", "note": str(value)}


def _value(store: Store, entry: Answered) -> tuple[bool, Any]:
    """Return whether the value of an answer can be shown, and the value or the reason."""
    try:
        data = store.get_blob(entry.blob) if entry.blob else entry.value
        if len(data) > _MAX_BLOB_BYTES:
            return False, f"its answer has {len(data):,} bytes, and is not shown"
        return True, codec.decode(data)
    except (SolventError, ValueError, ImportError) as error:
        return False, f"its answer does not read: {error}"


def _failure(store: Store, found: FoundRun, name: str) -> dict[str, Any]:
    """Return why a task failed in the end, with the output of its service and the molecules that it holds."""
    card = None if found.is_of_agents else card_of(store, found.run)
    summary = None if card is None else summary_of(store, card)
    for task, kind, cause, attempts, output, held in [] if summary is None else summary.failures:
        if task == name:
            said = {"kind": kind, "cause": cut(cause), "attempts": attempts, "output": cut(output)}
            return {"failure": said | {"molecules": cut(held)}}
    return {}


def _molecules(workflow: Workflow, task: Task, given: dict[str, Any]) -> list[str]:
    """Return the molecules with which a task begins."""
    if workflow.is_controlled and len(workflow.tasks) > _MAX_CONTROLLED_TASKS:
        return []
    symbol = task_symbol(task.name)
    try:
        with deep_stack():
            solution = Concretiser(workflow, given).concrete(frozenset({task.name})).solution
            for one in solution:
                if type(one) is tuple and one[0] == symbol and type(one[-1]) is Solution:
                    return sorted(cut(print_molecule(part), _MAX_VALUE_CHARACTERS) for part in one[-1])
    except (SolventError, OSError):
        # A rule library of the user may be gone.
        return []
    return []


__all__ = ["details_of"]
