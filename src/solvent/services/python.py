"""Python functions as services: how they are found, and the event loop of the asynchronous ones.

A service's `target` is `module:function`, where `function` may be dotted; or its `function` is the function. Modules
beside the workflow's file are found too. Ordinary functions run in worker threads, in worker processes, or in an
executor of the user; `async def` functions run in one event loop, in a background thread.

Calls reach the loop through a list that it empties when it is woken, so a burst of calls wakes it once. The thread is
started by the first call.
"""

from __future__ import annotations

import asyncio
import functools
import importlib
import inspect
import os
import sys
import threading
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

from solvent.errors import SolventError, WorkflowProblem, user_frames
from solvent.services.current_call import CURRENT, end_if_forked
from solvent.services.failure import cause_of, failure_of
from solvent.services.threads import report_fault
from solvent.workflows.formats.python.import_guard import importing

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable
    from types import ModuleType

    from solvent.services.call import Attempt
    from solvent.workflows.model import Service

    Work = Callable[[Attempt], Awaitable[Any]]


def function_of(service: Service, folder: Path | None = None) -> Callable[..., Any]:
    """Return the function of a service."""
    found: Any = service.function
    if found is None:
        module_name, colon, path = service.target.partition(":")
        if not (module_name and colon and path):
            raise WorkflowProblem(
                "W170",
                f"service `{service.name}` names no function",
                hint=f"write `module:function`, not `{service.target}`" if service.target else "give it a `target`",
            )
        found = _import_module(service, module_name, folder)
        for part in path.split("."):
            try:
                found = getattr(found, part)
            except AttributeError:
                raise WorkflowProblem(
                    "W172", f"service `{service.name}`: module `{module_name}` has no `{path}`"
                ) from None
            except Exception as error:
                message = f"service `{service.name}`: `{path}` of module `{module_name}` raises {cause_of(error)}"
                raise WorkflowProblem("W172", message) from error
    if not callable(found):
        raise WorkflowProblem(
            "W173",
            f"service `{service.name}`: `{service.target or repr(found)}` is a {type(found).__name__}, not a function",
        )
    function: Callable[..., Any] = found
    return function


def _import_module(service: Service, name: str, folder: Path | None) -> ModuleType:
    if folder is not None and str(folder.resolve()) not in sys.path:
        # For good, not for this import only: the function may import its neighbours when it runs.
        sys.path.insert(0, str(folder.resolve()))
        importlib.invalidate_caches()
    module = _imported(service, name, importlib.import_module)
    _refuse_namesake(service, module, name, folder)
    return module


def _imported(service: Service, name: str, load: Callable[[str], ModuleType]) -> ModuleType:
    try:
        with importing():
            return load(name)
    except (SolventError, KeyboardInterrupt):
        raise
    except BaseException as error:
        problem = WorkflowProblem(
            "W171",
            f"service `{service.name}`: module `{name}` cannot be imported: {cause_of(error)}",
            hint="install it, or put it beside the workflow's file",
        )
        problem.frames = user_frames(error)
        raise problem from error


def import_changed(services: Iterable[Service], since: float) -> bool:
    """Import the modules of services again whose files were changed after a time; return whether there were any.

    Calls that run go on with the old code. Raise `WorkflowProblem` W171 for a module that cannot be imported.
    """
    changed: dict[str, Service] = {}
    for one in services:
        name = one.target.partition(":")[0]
        file = getattr(sys.modules.get(name), "__file__", None)
        is_named = one.kind == "python" and one.function is None
        if is_named and file and Path(file).is_file() and Path(file).stat().st_mtime >= since:
            changed[name] = one
    for name, service in changed.items():
        _imported(service, name, lambda known: importlib.reload(sys.modules[known]))
    return bool(changed)


def _refuse_namesake(service: Service, module: ModuleType, name: str, folder: Path | None) -> None:
    """Refuse a module that was imported from elsewhere, if one of the same name is beside the workflow."""
    if folder is None:
        return
    beside = folder.resolve() / f"{name.replace('.', '/')}.py"
    found = getattr(module, "__file__", None)
    if beside.exists() and found is not None and Path(found).resolve() != beside:
        raise WorkflowProblem(
            "W174",
            f"service `{service.name}`: another module `{name}` is already imported, from {found}",
            hint=f"rename {beside.name}",
        )


def is_asynchronous(function: Callable[..., Any]) -> bool:
    """Return whether a function must be awaited."""
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004 -- an object may have an asynchronous `__call__`


def awaiting(function: Callable[..., Any]) -> Callable[[Attempt], Any]:
    """Return the work of an attempt for an asynchronous function."""

    def work(attempt: Attempt) -> Any:
        return function(*attempt.arguments, **attempt.keywords)

    return work


MAX_CLOSE_SECONDS = 2.0


class Loop:
    """An event loop and its thread."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._inbox: deque[tuple[Attempt, Work]] = deque()
        self._woken = False
        self._tasks: set[asyncio.Task[None]] = set()

    def run(self, attempt: Attempt, work: Work) -> None:
        """Run an attempt in the loop; cancelling it cancels the task."""
        loop = self._loop or self._start()
        self._inbox.append((attempt, work))
        if not self._woken:
            self._woken = True
            loop.call_soon_threadsafe(self._take_all)

    def close(self) -> None:
        """Cancel running attempts and end the thread, unless one blocks it for too long."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        loop.call_soon_threadsafe(self._end)
        if thread is not threading.current_thread():
            thread.join(MAX_CLOSE_SECONDS)

    def _start(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._serve, args=(loop,), name="solvent-loop", daemon=True)
                self._thread.start()
                self._loop = loop
            return self._loop

    @staticmethod
    def _serve(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
        finally:
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()

    def _take_all(self) -> None:
        """Start the attempts that have come in."""
        # First the mark, then the list: attempts added meanwhile are either seen here or wake the loop again.
        self._woken = False
        while self._inbox:
            attempt, work = self._inbox.popleft()
            if not attempt.over:
                task = asyncio.ensure_future(_carry_out(attempt, work))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
                attempt.on_stop(lambda task=task: self._cancel(task))  # type: ignore[misc]  # the default binds it

    def _cancel(self, task: asyncio.Task[None]) -> None:
        assert self._loop is not None
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(task.cancel)

    def _end(self) -> None:
        self._ending = asyncio.ensure_future(self._cancel_all())

    async def _cancel_all(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=MAX_CLOSE_SECONDS / 2)
        asyncio.get_running_loop().stop()


async def _carry_out(attempt: Attempt, work: Work) -> None:
    """Run the work of an attempt and report its outcome."""
    CURRENT.set(attempt)
    value, failure, home = None, None, os.getpid()
    try:
        attempt.begin()
        value = await work(attempt)
    except asyncio.CancelledError as error:
        # An attempt that was stopped knows why; a function that cancels itself has failed.
        failure = None if attempt.over else failure_of(error)
    except BaseException as error:  # noqa: BLE001 -- `sys.exit` in a service fails the call, not the loop
        failure = failure_of(error)
    end_if_forked(home)
    try:
        attempt.settle(value, failure)
    except Exception:  # noqa: BLE001 -- a fault of the callback; reported, and the loop goes on
        report_fault()


__all__ = ["Loop", "awaiting", "function_of", "import_changed", "is_asynchronous"]
