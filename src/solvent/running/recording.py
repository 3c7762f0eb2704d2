"""Running a solution with every reaction recorded, so that it can be explained."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.engine.trace import Recorder
from solvent.running.embedded import run

if TYPE_CHECKING:
    from solvent.chemistry.solution import Solution


def record(solution: Solution, **options: Any) -> Recorder:
    """Run a solution until it is inert and give the records of its reactions; see `Run` for the options."""
    recorder = Recorder(solution)
    run(solution, observe=recorder, **options)
    return recorder
