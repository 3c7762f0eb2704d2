"""Encodes functions for worker processes.

By name wherever possible: as `pickle` does, or, where a decorator has replaced the function in its module, by that name
and the decorator's `__wrapped__` or `function`. Functions without a name of their own (lambdas, inner functions) need
`cloudpickle`, which is used if it is installed.

A function of the main script is found by running that script again in the worker, under another `__name__`, as
`multiprocessing` does; so a script that starts worker processes needs `if __name__ == "__main__":`.
"""

from __future__ import annotations

import importlib
import pickle
import sys
from typing import TYPE_CHECKING, Any

from solvent.errors import WorkflowProblem
from solvent.services.failure import cause_of
from solvent.workflows.formats.python.import_guard import importing

if TYPE_CHECKING:
    from collections.abc import Callable

_BEHIND = ("__wrapped__", "function")
_MAIN = {"__main__", "__mp_main__"}
"""The names of the main script's module: where it was started, and in worker processes, which run it again."""


def pack_function(name: str, function: Callable[..., Any], *, is_far: bool = False) -> bytes:
    """Encode a service's function for a worker process.

    A process that may be on another machine (`is_far`) cannot run the main script again, so functions of the script are
    sent by value if possible.
    """
    module = getattr(function, "__module__", None)
    if is_far and module == "__main__" and not isinstance(by_value := _by_value(function), Exception):
        return pickle.dumps((None, by_value))
    main = _main_script() if module in _MAIN else None
    try:
        packed: Any = ("pickle", pickle.dumps(function))
    except Exception as error:
        packed = _by_name(function) or _by_value(function)
        if isinstance(packed, Exception):
            is_missing = isinstance(packed, ImportError) and packed.name == "cloudpickle"
            cause = cause_of(error if is_missing else packed)
            raise WorkflowProblem(
                "W176",
                f"service `{name}`: its function cannot be sent to a worker process: {cause}",
                hint=f"define it at the top of a module,{' install `cloudpickle`,' if is_missing else ''}"
                " or run without worker processes",
            ) from error
    return pickle.dumps((main, packed))


def unpack_function(data: bytes | bytearray) -> Callable[..., Any]:
    """Decode a function in a worker process."""
    main, (how, *what) = pickle.loads(data)  # noqa: S301 -- from our own main process
    with importing():
        if main is not None:
            _run_main_again(main)
        if how == "pickle":
            function: Callable[..., Any] = pickle.loads(what[0])  # noqa: S301 -- the same
            return function
        module, path, behind = what
        found: Any = importlib.import_module(module)
    for part in (*path.split("."), behind):
        found = getattr(found, part)
    named: Callable[..., Any] = found
    return named


def _by_name(function: Callable[..., Any]) -> tuple[str, str, str, str] | None:
    module = getattr(function, "__module__", None)
    path = getattr(function, "__qualname__", None)
    if module not in sys.modules or not path:
        return None
    found: Any = sys.modules[module]
    for part in path.split("."):
        found = getattr(found, part, None)
    for behind in _BEHIND:
        if getattr(found, behind, None) is function:
            return ("name", module, path, behind)
    return None


def _by_value(function: Callable[..., Any]) -> tuple[str, bytes] | Exception:
    """Return the pickled function, or the error: `cloudpickle` is missing, or cannot pickle it either."""
    try:
        cloudpickle = importlib.import_module("cloudpickle")
        return ("pickle", cloudpickle.dumps(function))
    except Exception as error:  # noqa: BLE001 -- pickle raises whatever the object's own methods raise
        return error


def _main_script() -> dict[str, Any]:
    """Return how the main script was started, as `multiprocessing` would."""
    from multiprocessing.spawn import get_preparation_data

    data = get_preparation_data("solvent-worker")
    return {key: value for key, value in data.items() if key in {"init_main_from_name", "init_main_from_path"}}


def _run_main_again(main: dict[str, Any]) -> None:
    from multiprocessing.spawn import prepare

    prepare(main)


__all__ = ["pack_function", "unpack_function"]
