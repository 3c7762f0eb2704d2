"""What a thread can wait for beside connections."""

from __future__ import annotations

import select

from solvent.net.direct.bell import Timer


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
