"""How a function gets into a worker process.

By name wherever possible: as `pickle` does, or, where a decorator has taken the function's name in its module, by
that name and a look behind the decorator (`__wrapped__` or `function`). Functions without a name of their own
(lambdas, inner functions) need `cloudpickle`, which is used if it is installed.

A function of the main script is found by running that script again in the worker, under another `__name__`, as
`multiprocessing` does; so a script that starts worker processes needs `if __name__ == "__main__":`.
"""

from __future__ import annotations

import importlib
import pickle
import sys
from typing import TYPE_CHECKING, Any

from solvent.errors import Misuse, WorkflowProblem
from solvent.services.failure import cause_of

if TYPE_CHECKING:
    from collections.abc import Callable

_BEHIND = ("__wrapped__", "function")


class _Running:
    """Whether the main script is being run again in this worker process."""

    main_again = False


def pack_function(name: str, function: Callable[..., Any], *, is_far: bool = False) -> bytes:
    """Make the bytes from which a worker process gets a service's function.

    One that may be on another machine (`is_far`) cannot run the main script again, so functions of that go by value if
    they can.
    """
    is_of_main = getattr(function, "__module__", None) == "__main__"
    if is_far and is_of_main and (by_value := _by_value(function)) is not None:
        return pickle.dumps((None, by_value))
    main = _main_script() if is_of_main else None
    try:
        packed: Any = ("pickle", pickle.dumps(function))
    except Exception as error:
        packed = _by_name(function) or _by_value(function)
        if packed is None:
            raise WorkflowProblem(
                "W176",
                f"service `{name}`: its function cannot be sent to a worker process: {cause_of(error)}",
                hint="define it at the top of a module, install `cloudpickle`, or run without worker processes",
            ) from error
    return pickle.dumps((main, packed))


def unpack_function(data: bytes) -> Callable[..., Any]:
    """Get a function in a worker process."""
    main, (how, *what) = pickle.loads(data)  # noqa: S301 -- from our own main process
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


def refuse_workers_of_workers() -> None:
    """Refuse to start worker processes while a worker runs the main script again: that would never end."""
    if _Running.main_again:
        raise Misuse(
            "H322",
            "the main script starts worker processes whenever it is imported",
            hint='put what it does under `if __name__ == "__main__":`',
        )


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


def _by_value(function: Callable[..., Any]) -> tuple[str, bytes] | None:
    try:
        cloudpickle = importlib.import_module("cloudpickle")
        return ("pickle", cloudpickle.dumps(function))
    except Exception:  # noqa: BLE001 -- not installed, or it cannot either: the first error says more
        return None


def _main_script() -> dict[str, Any]:
    """Say how the main script was started, as `multiprocessing` would."""
    from multiprocessing.spawn import get_preparation_data

    data = get_preparation_data("solvent-worker")
    return {key: value for key, value in data.items() if key in {"init_main_from_name", "init_main_from_path"}}


def _run_main_again(main: dict[str, Any]) -> None:
    from multiprocessing.spawn import prepare

    _Running.main_again = True
    try:
        prepare(main)
    finally:
        _Running.main_again = False


__all__ = ["pack_function", "refuse_workers_of_workers", "unpack_function"]
