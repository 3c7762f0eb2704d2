"""The clock of a simulation."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from solvent_lab.simulator.clock import Clock

FAR = 1e9


def taken(clock: Clock, max_time: float = FAR) -> list[tuple[float, Any]]:
    """Take all that comes until a time."""
    found = []
    while (one := clock.take(max_time)) is not None:
        found.append((clock.now, one[1]))
    return found


@given(times=st.lists(st.floats(0, 100, width=16)))
def test_things_happen_in_order(times: list[float]) -> None:
    """Things happen in order of time; at the same time, in the order in which they were put there."""
    clock = Clock()
    for number, time in enumerate(times):
        clock.put(time, number)
    assert taken(clock) == sorted((time, number) for number, time in enumerate(times))


def test_time_never_goes_back() -> None:
    """What is put into the past happens now."""
    clock = Clock()
    clock.put(5.0, "first")
    clock.take(FAR)
    clock.put(1.0, "late")
    assert taken(clock) == [(5.0, "late")]


def test_what_is_put_back_keeps_its_place() -> None:
    """Something put back comes before what was put there after it, for the same time."""
    clock = Clock()
    clock.put(1.0, "first")
    clock.put(9.0, "second")
    ticket, item = clock.take(FAR) or (0, "")
    clock.put_back(9.0, ticket, item)
    assert taken(clock) == [(9.0, "first"), (9.0, "second")]
