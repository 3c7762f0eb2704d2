"""The log of an agent or a run: a line of text, or a JSON object, for each event.

    {"time": "2026-11-16T21:40:03.127Z", "level": "info", "event": "taken", "agent": "a-7f", "run": "r", "says": "..."}

Every object has `time`, `level`, `event` and `says`; `agent`, `run`, `shard`, `task`, `service`, `attempt` and `state`
where they apply. Secrets in addresses are not shown.
"""

from __future__ import annotations

import os
import time
from typing import IO, TYPE_CHECKING, Any

from solvent.cli.arguments import LEVELS
from solvent.cli.secrecy import shown
from solvent.services.observer import CallSeen

if TYPE_CHECKING:
    from solvent.runs.agents.log import Told
    from solvent.services.current_call import CallIdentity
    from solvent.services.failure import Failure
    from solvent.services.observer import CallObserver


class Log:
    """Writes lines, from any thread. `always` are fields that every object has."""

    def __init__(self, out: IO[str], *, is_json: bool, level: str | None = None, **always: str) -> None:
        self._out = out
        self._is_json = is_json
        self._from = LEVELS.index(level or "info")
        self._always = always

    def tells(self, level: str) -> bool:
        """Return whether a level is logged."""
        return LEVELS.index(level) >= self._from

    def tell(self, event: str, text: str, *, level: str = "info", **fields: Any) -> None:
        """Write a line; a closed output does not end the process."""
        if not self.tells(level):
            return
        now, text = time.time(), shown(text)
        if self._is_json:
            import json

            said = {key: shown(value) if isinstance(value, str) else value for key, value in fields.items()}
            when = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now))}.{int(now * 1000) % 1000:03d}Z"
            found = {"time": when, "level": level, "event": event, **self._always, **said, "says": text}
            line = json.dumps({key: value for key, value in found.items() if value not in ("", None)})
        else:
            who = f"{self._always['agent']}: " if "agent" in self._always else ""
            line = f"{time.strftime('%H:%M:%S', time.localtime(now))} {who}{text}"
        try:
            self._out.write(f"{line}\n")
            self._out.flush()
        except (OSError, ValueError):
            self._out = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - open to the end

    def hear(self, told: Told) -> None:
        """Write what an agent reports."""
        more = {"taken_from": told.taken_from, "shard": told.shard}
        self.tell(told.event, told, level=told.level, run=told.run, **more)

    def observer(self, run: str) -> _LoggedCalls:
        """Return an observer that logs the calls of a run."""
        return _LoggedCalls(self, run)


class _LoggedCalls:
    """Logs every attempt of every call of a run."""

    def __init__(self, log: Log, run: str) -> None:
        self.log = log
        self.run = run

    def call(self, service: str, task: str, _identity: CallIdentity | None) -> CallSeen:
        """Return the observer of one call."""
        return _LoggedCall(self, service, task)


class _LoggedCall(CallSeen):
    def __init__(self, calls: _LoggedCalls, service: str, task: str) -> None:
        self._calls = calls
        self._log = calls.log
        self._said: dict[str, Any] = {"run": calls.run, "task": task, "service": service}
        self._number = 0

    def attempt(self, number: int) -> str:
        self._number = number
        again = "" if number == 1 else f", attempt {number}"
        said = f"{self._said['task']} of {self._said['run']} calls {self._said['service']}{again}"
        self._log.tell("called", said, level="debug", **self._said, attempt=number)
        return ""

    def attempted(self, failure: Failure | None) -> None:
        state = "done" if failure is None else failure.kind.lower()
        why = "" if failure is None else f": {failure.text}"
        said = f"{self._said['task']} of {self._said['run']}: {self._said['service']} {state}{why}"
        self._log.tell("answered", said, level="debug", **self._said, attempt=self._number, state=state)

    def inner(self, workflow: str) -> CallObserver | None:  # noqa: ARG002 - the run is the same
        return self._calls
