"""Encodes functions and values for other processes of this user: worker processes, executors, agents started here.

What can be imported goes by its name. Anything else goes by value, with what it uses: functions and classes of the main
script or of a notebook, lambdas, inner functions. So no process runs the main script again. Lines of source that are in
no file go along, for tracebacks and for the hash of the code.
"""

from __future__ import annotations

import linecache
import os
import pickle
import sys
from typing import TYPE_CHECKING, Any

from solvent.errors import WorkflowProblem
from solvent.services.failure import cause_of
from solvent.workflows.formats.python.callables import LOCAL_MODULES
from solvent.workflows.formats.python.import_guard import importing

if TYPE_CHECKING:
    from collections.abc import Callable

_MAIN = "__main__"


def pack_function(name: str, function: Callable[..., Any]) -> bytes:
    """Encode a service's function; raise `WorkflowProblem` W176 if it uses what no process can pass on."""
    try:
        return encode((_sources(function), function))
    except Exception as error:
        raise WorkflowProblem(
            "W176",
            f"service `{name}`: its function cannot be sent to another process: {cause_of(error)}",
            hint="put it in a module with what it uses, or run without other processes",
        ) from error


def unpack_function(data: bytes | bytearray) -> Callable[..., Any]:
    """Decode a function in another process."""
    with importing():
        sources, function = pickle.loads(data)  # noqa: S301 -- from the process that started this one
    for file, text in sources.items():
        # Without a time of change it is kept, as that of a module that was not loaded from a file.
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    found: Callable[..., Any] = function
    return found


def encode(value: Any) -> bytes:
    """Encode a value: by the names of its functions and classes where any process finds these, else by value."""
    try:
        data = pickle.dumps(value, 5)
    except Exception:  # noqa: BLE001 -- pickle raises whatever the object's own methods raise
        return _by_value(value)
    for name in LOCAL_MODULES:
        if name.encode() in data:
            return _by_value(value)
    return data


def _by_value(value: Any) -> bytes:
    import cloudpickle  # type: ignore[import-untyped]  # it has no types

    for name in LOCAL_MODULES:
        # It knows by itself that the main module is another one elsewhere.
        if name != _MAIN and name in sys.modules:
            cloudpickle.register_pickle_by_value(sys.modules[name])
    data: bytes = cloudpickle.dumps(value, 5)
    return data


def _sources(function: Callable[..., Any]) -> dict[str, str]:
    """Return the texts of a notebook's cells, or whatever else is in no file, by the names that Python has for them."""
    parts = (
        (function, *vars(sys.modules[_MAIN]).values()) if getattr(function, "__module__", "") == _MAIN else (function,)
    )
    codes = (getattr(getattr(one, "function", None) or one, "__code__", None) for one in parts)
    files = {code.co_filename for code in codes if code is not None}
    return {file: "".join(linecache.getlines(file)) for file in sorted(files) if not os.path.exists(file)}  # noqa: PTH110 -- any text may be one


__all__ = ["encode", "pack_function", "unpack_function"]
