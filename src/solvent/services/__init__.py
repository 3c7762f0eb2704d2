"""What a task can call: Python functions, shell commands, HTTP, HOCL programs, other workflows.

`Caller` starts calls and reports their outcomes; `heartbeat` and `cancelled` are for the called functions.

Reading order: `failure`, `current_call`, `prints` and `observer` (what a call returns, knows, prints and reports);
`threads`, `clock`, `admission` and `call` (attempts under a policy); `caller`; then the kinds: `python` with
`parameters`, `executors`, `processes` with `worker` and `function_codec`, `shell` with `guard`, `http` with
`http_client`; `substitution` fills in arguments.
`code_hash` says whether a service still does the same.

Names are imported when first used, since worker processes need only a few of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.services.current_call import cancelled, heartbeat

if TYPE_CHECKING:
    from solvent.services.caller import Caller, Handle
    from solvent.services.failure import Failure
    from solvent.services.processes import Processes

_HOME = {"Caller": "caller", "Failure": "failure", "Handle": "caller", "Processes": "processes"}


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


__all__ = ["Caller", "Failure", "Handle", "Processes", "cancelled", "heartbeat"]
