"""What a thread can wait for beside connections."""

from __future__ import annotations

import select

from solvent.net.direct.bell import Bell, Timer


def test_a_bell_rings_until_somebody_has_heard_it() -> None:
    """Rung twice it is heard once."""
    bell, poll = Bell(), select.epoll()
    poll.register(bell, select.EPOLLIN)
    assert poll.poll(0) == []
    bell.ring()
    bell.ring()
    assert len(poll.poll(0)) == 1
    bell.on_event(select.EPOLLIN)
    bell.on_event(select.EPOLLIN)
    assert poll.poll(0) == []


def test_a_timer_rings_after_its_time() -> None:
    """And not before it was started."""
    timer, poll = Timer(1_000_000), select.epoll()
    poll.register(timer, select.EPOLLIN)
    assert poll.poll(0.01) == []
    timer.start()
    assert len(poll.poll(10)) == 1


def test_a_timer_that_was_stopped_is_silent() -> None:
    """Whether it had rung or not."""
    timer, poll = Timer(1_000_000), select.epoll()
    poll.register(timer, select.EPOLLIN)
    timer.start()
    assert poll.poll(10)
    timer.stop()
    assert poll.poll(0.01) == []
    timer.start()
    timer.stop()
    assert poll.poll(0.01) == []


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
