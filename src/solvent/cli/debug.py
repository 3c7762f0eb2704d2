"""`solvent resume RUN --debug TASK`: call a task that failed once more, in this process, under the debugger.

Its arguments are those of the recorded call. They are found by doing the run again up to there, without any call; the
call of this one changes nothing in the record.
"""

from __future__ import annotations

import asyncio
import functools
import pdb  # noqa: T100 - that is what the command is for
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from solvent.cli.render import write
from solvent.errors import RecordProblem, is_internal
from solvent.runs.replay import Replay
from solvent.services.python import function_of, is_asynchronous
from solvent.values.classes import restore
from solvent.values.text import shortened_form
from solvent.workflows.rule_functions import value_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import TracebackType

    from solvent.runs.calls import OpenCall
    from solvent.runs.events import CallFailed
    from solvent.runs.registry import RunRecord
    from solvent.store import Store
    from solvent.workflows.model import Workflow


class FailedCall(NamedTuple):
    """A call of a Python function that has failed."""

    name: str
    function: Callable[..., Any]
    arguments: list[Any]
    keywords: dict[str, Any]
    text: str


def debug(store: Store, record: RunRecord, workflow: Workflow, folder: Path | None, task: str) -> int:
    """Call a task once more that failed in a run, under the debugger; return an exit code."""
    failed = failed_call(store, record, workflow, folder, task)
    shown = [*map(shortened_form, failed.arguments), *(f"{k}={shortened_form(v)}" for k, v in failed.keywords.items())]
    write((f"{failed.name}({', '.join(shown)})", "bold"), f" failed: {failed.text}", to=sys.stderr)
    call: Callable[[], Any] = functools.partial(failed.function, *failed.arguments, **failed.keywords)
    if is_asynchronous(failed.function):
        call = functools.partial(_run, call)
    debugger = pdb.Pdb()
    try:
        value = debugger.runcall(call)
    except Exception as error:  # noqa: BLE001 - it is the user's, and what is looked at
        write((f"{type(error).__name__}: {error}", "bold red"), to=sys.stderr)
        trace = _users(error.__traceback__)
        if trace is not None:
            debugger = pdb.Pdb()
            debugger.reset()
            debugger.interaction(None, trace)
        return 1
    write("it returned ", (shortened_form(value), "bold"), "; the record of the run is as it was", to=sys.stderr)
    return 0


def failed_call(store: Store, record: RunRecord, workflow: Workflow, folder: Path | None, task: str) -> FailedCall:
    """Return the last call of a task that failed; raise `RecordProblem` (R410, R413) where there is none."""
    found: list[tuple[OpenCall, CallFailed]] = []

    def look(call: OpenCall, event: CallFailed) -> None:
        if task in {call.label, call.key}:
            found.append((call, event))

    Replay(store, record, workflow, folder=folder).run(on_failure=look)
    if not found:
        said = f"no call of `{task}` has failed in the run `{record.run}`"
        raise RecordProblem("R413", said, hint=f"`solvent logs {record.run}` lists its calls")
    call, event = found[-1]
    service, instance = call.service, call.instance
    if service is None or service.kind != "python":
        kind = "it" if service is None else f"`{service.name}` is a {service.kind} service and"
        raise RecordProblem("R413", f"`{task}` cannot be called under the debugger: {kind} is no Python function")
    values = restore([value_of(one) for one in call.request.arguments], unpickles=workflow.unpickles)
    model = instance.workflow.by_name[call.task]
    many = len(model.arguments)
    keywords = dict(zip(model.keywords, values[many:], strict=True))
    function = function_of(service, instance.folder)
    return FailedCall(call.key, getattr(function, "function", function), values[:many], keywords, event.text)


def _run(call: Callable[[], Any]) -> Any:
    return asyncio.run(call())


def _users(trace: TracebackType | None) -> TracebackType | None:
    """Return the traceback from the first frame on that is the user's."""
    while trace is not None and trace.tb_next is not None and _is_foreign(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    return trace


def _is_foreign(file: str) -> bool:
    return is_internal(file) or file.endswith(("/bdb.py", "/pdb.py")) or "/asyncio/" in file


__all__ = ["FailedCall", "debug", "failed_call"]
