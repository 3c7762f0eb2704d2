"""What must hold of links together; each function takes a world, of the checker or of the simulator.

Those of `TALK_INVARIANTS` look at the talkers inside (`talker`).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from solvent.protocols.link.messages import PeerLife
from solvent.protocols.machine import NodeId, Received
from solvent_lab.models.talker import Heard

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solvent.protocols.link.line import Line
    from solvent.protocols.link.state import LinkState


def _lines(world: Any) -> Iterator[tuple[int, LinkState, int, Line]]:
    for number, state in enumerate(world.states):
        if state is not None:
            for peer, line in state.lines.items():
                yield number, state, peer, line


def each_side_counts_as_the_other(world: Any) -> str | None:
    """In a session that both sides know, acknowledged <= taken <= said."""
    for number, state, peer, line in _lines(world):
        other: LinkState | None = world.states[peer]
        if other is None or other.life != line.life:
            continue
        back = other.lines.get(NodeId(number))
        if back is None or back.life != state.life:
            continue
        if not line.acked <= back.taken <= line.next:
            return f"node {number} said {line.next}, {line.acked} acknowledged; node {peer} took {back.taken}"
    return None


def no_link_knows_a_life_to_come(world: Any) -> str | None:
    """The life of a peer that a link knows has begun."""
    for number, _, peer, line in _lines(world):
        if line.life > world.nodes[peer].life:
            return f"node {number} knows life {line.life} of node {peer}, which is in life {world.nodes[peer].life}"
    return None


def lives_heard_of_are_saved(world: Any) -> str | None:
    """A peer's new life is saved before anything of it is taken, so that a restart does not take it for news."""
    for number, _, peer, line in _lines(world):
        records = (one for one in world.nodes[number].saved if isinstance(one, PeerLife))
        if line.taken and line.life and not any(one.peer == peer and one.life == line.life for one in records):
            return f"node {number} has taken messages of life {line.life} of node {peer} and saved nothing of it"
    return None


def what_is_under_way_is_counted(world: Any) -> str | None:
    """The number of unacknowledged messages is that of all lines, and of messages to oneself."""
    for number, state in enumerate(world.states):
        if state is None:
            continue
        own = sum(isinstance(what, Received) and what.sender == number for what in state.todo)
        count = own + sum(line.waiting for line in state.lines.values())
        if count != state.unacknowledged:
            return f"node {number} counts {state.unacknowledged} unacknowledged messages, and has {count}"
    return None


def what_was_acknowledged_is_saved(world: Any) -> str | None:
    """Whoever hears that a word was taken can rely on what the listener saved for it, whatever happens to it."""
    for number, state, peer, line in _lines(world):
        saved = sum(
            isinstance(one, Heard) and one.speaker == number and (one.word.life, one.life) == (state.life, line.life)
            for one in world.nodes[peer].saved
        )
        if saved < line.acked:
            return f"node {number} believes that node {peer} took {line.acked} words, and it saved {saved}"
    return None


def who_believes_that_all_was_taken_is_right(world: Any) -> str | None:
    """A talker that was told that all was taken, and has said nothing since, has nothing under way."""
    for number, state in enumerate(world.states):
        if state is not None and state.inner.is_all_taken and state.unacknowledged:
            return f"node {number} has {state.unacknowledged} words under way"
    return None


def no_word_is_heard_twice(world: Any) -> str | None:
    """A word is heard at most once, in all lives of the listener."""
    for number, node in enumerate(world.nodes):
        heard = Counter((one.speaker, one.word) for one in node.saved if isinstance(one, Heard))
        for (speaker, word), times in heard.items():
            if times > 1:
                return f"node {number} heard {word} of node {speaker} {times} times"
    return None


def everything_is_heard(world: Any) -> bool:
    """Nothing is under way, nobody is down, and whatever was said in a session was heard (a goal, no invariant)."""
    states = world.states
    if any(state is None or state.unacknowledged or not state.inner.is_all_taken for state in states):
        return False
    for number, state in enumerate(states):
        for peer, speaking in state.inner.speaking.items():
            listening = states[peer].inner.listening.get(NodeId(number))
            if speaking.said and (listening is None or listening.heard != speaking.said):
                return False
        if any(not line.is_met or line.life != states[peer].life for peer, line in state.lines.items()):
            return False
    return True


LINK_INVARIANTS = (
    each_side_counts_as_the_other,
    no_link_knows_a_life_to_come,
    lives_heard_of_are_saved,
    what_is_under_way_is_counted,
)
TALK_INVARIANTS = (
    *LINK_INVARIANTS,
    what_was_acknowledged_is_saved,
    who_believes_that_all_was_taken_is_right,
    no_word_is_heard_twice,
)

__all__ = [
    "LINK_INVARIANTS",
    "TALK_INVARIANTS",
    "each_side_counts_as_the_other",
    "everything_is_heard",
    "lives_heard_of_are_saved",
    "no_link_knows_a_life_to_come",
    "no_word_is_heard_twice",
    "what_is_under_way_is_counted",
    "what_was_acknowledged_is_saved",
    "who_believes_that_all_was_taken_is_right",
]
