"""The clock: one thread for all that wait."""

from __future__ import annotations

import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING

from solvent.services.clock import Clock
from tests.unit.services.outcomes import LONG

if TYPE_CHECKING:
    import pytest


def test_cancelled_timers_are_swept_out() -> None:
    """Cancelled timers with times far away do not stay."""
    clock = Clock()
    for _ in range(10_000):
        clock.after(3600.0, lambda: None).cancel()
    assert len(clock._heap) < 200
    clock.close()


def test_a_faulty_timer_does_not_stop_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception in one timer is reported and the next one rings."""
    reported = list[object]()
    monkeypatch.setattr(threading, "excepthook", lambda seen: reported.append(seen.exc_type))
    clock, rung = Clock(), SimpleQueue[str]()
    clock.after(0.0, [].pop)
    clock.after(0.01, lambda: rung.put("next"))
    assert rung.get(timeout=LONG) == "next"
    assert reported == [IndexError]
    clock.close()


def test_a_closed_clock_is_silent() -> None:
    """After closing nothing rings, and the thread is gone."""
    clock, rung = Clock(), SimpleQueue[str]()
    clock.after(0.01, lambda: None)
    clock.after(LONG, lambda: rung.put("too late"))
    clock.close()
    assert clock._thread is not None
    assert not clock._thread.is_alive()
    assert rung.empty()
