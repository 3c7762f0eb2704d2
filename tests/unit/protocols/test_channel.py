"""A channel's two ends, without a network: what is written again, and what is refused."""

from __future__ import annotations

from collections import deque
from random import Random

import pytest

from solvent.protocols import channel
from solvent.protocols.channel import Outdated, Session, WrongCount


@pytest.mark.parametrize("seed", range(50))
def test_frames_come_through_connections_that_break_anywhere(seed: int) -> None:
    """Whatever is lost with a connection, in both directions, the other end takes all frames once and in order."""
    chance = Random(seed)
    speaker, listener = Session(), Session()
    heard = list[int]()
    frames = deque(range(60))
    line = 0
    while frames or speaker.kept:
        line += 1
        under_way = deque(channel.resume(speaker, channel.accept(listener, line)))
        for _ in range(chance.randrange(20)):
            if frames and chance.random() < 0.5:
                frame = frames.popleft()
                channel.write(speaker, frame)
                under_way.append(frame)
            elif under_way:
                assert channel.receive(listener, line)
                heard.append(under_way.popleft())
            if chance.random() < 0.2:
                channel.acknowledge(speaker, listener.taken)
    assert heard == list(range(60))


def test_a_connection_that_was_given_up_is_heard_no_more() -> None:
    """What is still read from it is written again to the next one."""
    session = Session()
    channel.accept(session, "first")
    assert channel.receive(session, "first")
    assert channel.accept(session, "second") == 1
    assert not channel.receive(session, "first")
    assert session.taken == 1


@pytest.mark.parametrize("count", [-1, 0, 4])
def test_a_count_that_cannot_be_is_refused(count: int) -> None:
    """Fewer than before, or more than were written."""
    session = Session()
    for frame in "abc":
        channel.write(session, frame)
    channel.acknowledge(session, 1)
    with pytest.raises(WrongCount):
        channel.acknowledge(session, count)
    assert list(session.kept) == ["b", "c"]


def test_a_new_life_knows_nothing_of_what_was_said() -> None:
    """Both sides count from zero, and a life that is over is refused."""
    session = Session()
    session.waiting.append("word")
    channel.write(session, "frame")
    channel.accept(session, "line")
    channel.receive(session, "line")
    assert not channel.has_restarted(session, 0)
    assert channel.has_restarted(session, 2)
    channel.restart(session, 2)
    assert session == Session(life=2)
    with pytest.raises(Outdated):
        channel.has_restarted(session, 1)
