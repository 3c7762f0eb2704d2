"""Times at which something is due, and the timers of the system behind them."""

from __future__ import annotations

import select

from solvent.net.direct.bell import Timer
from solvent.net.direct.clock import Clock


def _due(clock: Clock, now: float) -> list[str]:
    found = list[str]()
    for name, call in clock.due(now):
        call(name)
        found.append(name)
    return found


def test_what_is_set_for_now_by_what_is_due_comes_the_next_time() -> None:
    """Something that sets itself for now again and again does not keep its thread for ever."""
    clock = Clock()

    def again(name: str) -> None:
        clock.set(name, 0.0, again)

    clock.set("a", 1.0, again)
    assert _due(clock, 2.0) == ["a"]
    assert _due(clock, 2.0) == ["a"]
    clock.clear()
    assert _due(clock, 2.0) == []


def test_a_timer_that_is_gone_sets_no_other_one() -> None:
    """The system gives its number to the next that is made."""
    gone = Timer(1_000_000)
    number = gone.fileno()
    gone.close()
    timer, poll = Timer(1_000_000), select.epoll()
    assert timer.fileno() == number
    poll.register(timer, select.EPOLLIN)
    gone.start()
    assert poll.poll(0.01) == []
    timer.start()
    gone.stop()
    assert len(poll.poll(10)) == 1
