"""Services for tests of agents: each call that is really made leaves a line in a file, so that calls can be counted."""

from __future__ import annotations

import ctypes
import os
import random
import time
from typing import Any, NamedTuple

import solvent
from solvent.services.current_call import cancelled as is_cancelled
from solvent.workflows.model import Alternative, Each, Input, Policy, Result, Service, Task, Value, Workflow

CALLS = "SOLVENT_TEST_CALLS"
"""The variable that names the file; nothing is written where it is not set, as in the embedded run."""
AGENT = "SOLVENT_TEST_AGENT"
PAUSE = "SOLVENT_TEST_PAUSE"
"""How long a call takes at most, in seconds."""
LONG = "SOLVENT_TEST_LONG"
"""The call that does not end."""
MODULUS = 1_000_003


class Line(NamedTuple):
    """One call that was made, and when it began: by a clock that all processes of a machine share."""

    agent: str
    key: str
    is_repeated: bool
    began: float


def note() -> None:
    """Write that a call is made, and take a while."""
    path = os.environ.get(CALLS)
    if not path:
        return
    began, one = time.monotonic(), solvent.call()
    assert one is not None
    text = f"{os.environ[AGENT]}\t{one.key}\t{int(one.repeated)}\t{began!r}\n"
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, text.encode())
    os.close(file)
    if one.key.partition("/")[2] == os.environ.get(LONG):
        time.sleep(1_000)
    pause = float(os.environ.get(PAUSE, "0"))
    if pause:
        time.sleep(random.uniform(0.2, 1) * pause)


def lines_of(path: str) -> list[Line]:
    """Read what calls have written."""
    try:
        with open(path) as file:  # noqa: PTH123
            found = [one.split("\t") for one in file if one.endswith("\n")]
    except FileNotFoundError:
        return []
    return [Line(agent, key, repeated == "1", float(began)) for agent, key, repeated, began in found]


def work(*values: Any) -> int:
    """Compute something that shows which values came."""
    note()
    total = 7
    for one in values:
        total = (total * 31 + (one if isinstance(one, int) else 1)) % MODULUS
    return total


def refuse(*_: Any) -> int:
    """Fail."""
    note()
    raise ValueError("refused")


def stumble(*_: Any) -> int:
    """Fail at the first attempt, and never answer at others."""
    one = solvent.call()
    note()
    if one is not None and not one.repeated:
        raise ValueError("refused at first")
    time.sleep(60)
    return 0


def fill(size: int, *values: Any) -> bytes:
    """Give a large value."""
    note()
    return bytes([sum(one if isinstance(one, int) else 1 for one in values) % 256]) * size


def keep(seconds: float) -> float:
    """Keep the lock of the interpreter, in one call into C, so that no other thread runs."""
    note()
    ctypes.PyDLL(None).usleep(int(seconds * 1e6))
    return seconds


def doze(*_: Any) -> int:
    """Take long, unless it is cancelled; no time where nothing is counted."""
    note()
    while os.environ.get(CALLS) and not is_cancelled():
        time.sleep(0.01)
    return 0


def after(count: int) -> int:
    """Wait until so many calls were made."""
    path = os.environ.get(CALLS)
    while path and len(lines_of(path)) < count:
        time.sleep(0.01)
    return count


def meet(agents: int) -> int:
    """Wait until calls were made at so many agents."""
    note()
    path = os.environ.get(CALLS)
    while path and len({line.agent for line in lines_of(path)}) < agents:
        time.sleep(0.01)
    return agents


def timed(*_: Any) -> tuple[float, float]:
    """Say when it began and ended, by a clock that all processes of a machine share."""
    began = time.monotonic()
    note()
    time.sleep(0.02)
    return began, time.monotonic()


def tally(table: Any, number: int) -> int:
    """Add a number to the one in a resource; in the middle it holds something else."""
    before = int.from_bytes(table, "big")
    table[:] = b"\xff" * len(table)
    note()
    table[:] = (before + number).to_bytes(len(table), "big")
    return number


def is_odd(value: Any) -> bool:
    """Reject odd results."""
    return isinstance(value, int) and value % 2 == 1


PART = Workflow(
    "part",
    (Task("A", "work", (Input("n"),)), Task("B", "work", (Result("A"),)), Task("C", "work", (Result("B"),))),
    (Service("work", function=work),),
    inputs={"n": 1},
)
WHOLE = Workflow(
    "whole",
    (Task("X", "refuse", (Input("n"),)), Task("Y", "work", (Input("n"),)), Task("P", "part", (Result("X"),))),
    (Service("refuse", function=refuse), Service("work", function=work), Service("part", "workflow", function=PART)),
    (Alternative("y", {"X": "Y"}),),
    inputs={"n": 1},
)
"""Three levels deep, and its alternative takes over."""
_NARROW = Service("narrow", function=timed, policy=Policy(concurrency=2))
GATHER = Workflow(
    "gather",
    (Task("each", "work", (Input("items"),), each=Each("dot", (0,))), Task("sum", "work", (Result("each"),))),
    (Service("work", function=work),),
    inputs={"items": []},
)
DEEP = Workflow(
    "deep", (Task("G", "gather", (Input("items"),)),), (Service("gather", "workflow", function=GATHER),),
    inputs={"items": []},
)  # fmt: skip
"""Calls of `GATHER`, two levels deep."""
NARROWS = Workflow("narrows", tuple(Task(f"N{one}", "narrow", (Value(one),)) for one in range(6)), (_NARROW,))
SERVICES = (
    Service("work", function=work),
    Service("once", function=work, policy=Policy(max_lost=1)),
    Service("refuse", function=refuse),
    Service("refuse4", function=refuse, policy=Policy(retries=3, backoff=1.0)),
    Service("refuse2", function=refuse, policy=Policy(retries=1, backoff=0.0)),
    Service("stumble", function=stumble, policy=Policy(retries=1, backoff=0.0, max_lost=1)),
    Service("fill", function=fill),
    Service("keep", function=keep),
    Service("part", "workflow", function=PART),
    Service("whole", "workflow", function=WHOLE),
    Service("doze", function=doze),
    Service("after", function=after),
    Service("meet", function=meet),
    _NARROW,
    Service("deep", "workflow", function=DEEP),
    Service("narrows", "workflow", function=NARROWS),
    Service("paced", function=timed, policy=Policy(rate=20.0)),
    Service("tally", function=tally, policy=Policy(max_lost=100)),
    Service("late", function=doze, policy=Policy(timeout=0.3, retries=1, backoff=0.0)),
)
