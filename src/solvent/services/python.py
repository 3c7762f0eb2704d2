"""Python functions as services.

`target` is `module:function`, where `function` may be dotted; or `function` holds the function. Modules beside the
workflow's file are found too. Ordinary functions run in worker threads, in worker processes, or in an executor that
the user brought along; `async def` functions run in one event loop.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from solvent.errors import SolventError, WorkflowProblem, user_frames
from solvent.services.failure import cause_of
from solvent.workflows.formats.python.import_guard import importing

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from solvent.services.call import Attempt
    from solvent.workflows.model import Service


def function_of(service: Service, folder: Path | None = None) -> Callable[..., Any]:
    """Find the function of a service."""
    found: Any = service.function
    if found is None:
        module_name, colon, path = service.target.partition(":")
        if not (module_name and colon and path):
            raise WorkflowProblem(
                "W170",
                f"service `{service.name}` does not say which function to call",
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
            f"service `{service.name}`: `{service.target or repr(found)}` is a {type(found).__name__}, no function",
        )
    function: Callable[..., Any] = found
    return function


def _import_module(service: Service, name: str, folder: Path | None) -> ModuleType:
    if folder is not None and str(folder.resolve()) not in sys.path:
        # For good, not for this import only: the function may import its neighbours when it runs.
        sys.path.insert(0, str(folder.resolve()))
        importlib.invalidate_caches()
    try:
        with importing():
            module = importlib.import_module(name)
    except (SolventError, KeyboardInterrupt):
        raise
    except BaseException as error:
        problem = WorkflowProblem(
            "W171",
            f"service `{service.name}`: module `{name}` cannot be imported: {cause_of(error)}",
            hint="it must be installed, or lie beside the workflow's file",
        )
        problem.frames = user_frames(error)
        raise problem from error
    _refuse_namesake(service, module, name, folder)
    return module


def _refuse_namesake(service: Service, module: ModuleType, name: str, folder: Path | None) -> None:
    """Refuse a module that was imported from elsewhere although there is one of that name beside the workflow."""
    if folder is None:
        return
    beside = folder.resolve() / f"{name.replace('.', '/')}.py"
    found = getattr(module, "__file__", None)
    if beside.exists() and found is not None and Path(found).resolve() != beside:
        raise WorkflowProblem(
            "W174",
            f"service `{service.name}`: another module `{name}` is in use already, from {found}",
            hint=f"give {beside.name} a name of its own",
        )


def is_asynchronous(function: Callable[..., Any]) -> bool:
    """Return whether a function must be awaited."""
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004 -- an object may have an asynchronous `__call__`


def awaiting(function: Callable[..., Any]) -> Callable[[Attempt], Any]:
    """Make the work of an attempt from an asynchronous function."""

    def work(attempt: Attempt) -> Any:
        return function(*attempt.arguments, **attempt.keywords)

    return work


__all__ = ["awaiting", "function_of", "is_asynchronous"]
