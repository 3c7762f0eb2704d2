"""Runs machines from a seed: in discrete steps, or on a clock over a network with faults.

`DiscreteRun` is the papers' model and the fast one: thousands of nodes, millions of messages. `TimedRun` has latency,
bandwidth, loss, duplication, reordering, partitions and crashes, looks at invariants after every event, and shows how
to see a failure again. `run_many` runs many seeds on all processors.

Reading order: environment, discrete, collector; then clock_events, clock, faults, network, outages, notices, world,
history, violation, timed; many. Beside them stands what one protocol needs: capture, capture_world, experiments.
Names are imported when first used, since runs in discrete steps need only a few of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from solvent_lab.simulator.discrete import DiscreteRun
    from solvent_lab.simulator.environment import Ending, Environment
    from solvent_lab.simulator.faults import Faults
    from solvent_lab.simulator.many import Gathered, run_many
    from solvent_lab.simulator.timed import TimedRun
    from solvent_lab.simulator.violation import InvariantBroken

_HOME = {
    "DiscreteRun": "discrete",
    "Ending": "environment",
    "Environment": "environment",
    "Faults": "faults",
    "Gathered": "many",
    "InvariantBroken": "violation",
    "TimedRun": "timed",
    "run_many": "many",
}


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


__all__ = [
    "DiscreteRun",
    "Ending",
    "Environment",
    "Faults",
    "Gathered",
    "InvariantBroken",
    "TimedRun",
    "run_many",
]
