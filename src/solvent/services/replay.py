"""Recorded durations as services: a call waits `options["seconds"]` and answers with nothing.

Thousands may wait at once, since they all wait on the one clock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.errors import WorkflowProblem

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.services.call import Attempt
    from solvent.services.caller import Caller
    from solvent.workflow.model import Service


def make_replay(service: Service, caller: Caller) -> Callable[[Attempt], None]:
    """Make the launch of a recorded call."""
    seconds = service.options.get("seconds", 0.0)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds >= 0:
        raise WorkflowProblem("W181", f"service `{service.name}`: `seconds` must be a number, not {seconds!r}")
    clock = caller.clock

    def launch(attempt: Attempt) -> None:
        attempt.begin()
        timer = clock.after(seconds, lambda: attempt.settle(None, None))
        attempt.on_stop(timer.cancel)

    return launch


__all__ = ["make_replay"]
