"""The log of a group against a list that is cut and extended by hand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from solvent.protocols.machine import NodeId
from solvent.protocols.maps import Map
from solvent.protocols.token.group.log import FIRST, Log, empty, forgotten, started_at, written
from solvent.protocols.token.group.messages import Entry, Epoch, Line, Member, Said, View

MEMBERS = Map({NodeId(0): "", NodeId(1): "there"})


def _line(epoch: int, what: int) -> Line:
    entries: tuple[Entry, ...] = (
        Said(NodeId(0), 0, what, what),
        View((NodeId(0), NodeId(1))),
        Member(NodeId(what % 5), is_member=True, where=str(what)),
        Member(NodeId(what % 5), is_member=False),
    )
    return Line(Epoch(epoch, NodeId(0)), entries[what % 4])


def _members(lines: list[Line]) -> dict[int, str]:
    members = dict(MEMBERS)
    for line in lines:
        if isinstance(line.entry, Member):
            members.pop(line.entry.node, None)
            if line.entry.is_member:
                members[line.entry.node] = line.entry.where
    return members


@given(st.lists(st.tuples(st.integers(0, 6), st.lists(st.integers(0, 19), max_size=4), st.integers(0, 6)), max_size=8))
def test_a_log_is_a_list_of_which_the_end_may_change(writes: list[tuple[int, list[int], int]]) -> None:
    """Each write comes with a newer epoch, cuts what differs, and forgetting changes nothing that is still there."""
    log, lines = empty(MEMBERS), list[Line]()
    for epoch, (first, numbers, low) in enumerate(writes, 1):
        at = max(log.base, min(first, len(lines)))
        new = tuple(_line(epoch, number) for number in numbers)
        assert log.joins(at, lines[at - 1].epoch if at else FIRST)
        log, changed = written(log, at, new)
        if new:
            assert changed == at
            lines[at:] = new
        log = forgotten(log, min(low, len(lines)))
        _agrees(log, lines)
        again, changed = written(log, log.base, tuple(lines[log.base :]))
        assert (again, changed) == (log, log.length)


def _agrees(log: Log, lines: list[Line]) -> None:
    assert log.between(log.base, log.length) == tuple(lines[log.base :])
    assert dict(log.members) == _members(lines)
    assert all(dict(log.members_at(at)) == _members(lines[:at]) for at in range(log.base, len(lines) + 1))
    assert log.last == (lines[-1].epoch if lines else FIRST)
    views = [at for at in range(log.base, len(lines)) if isinstance(lines[at].entry, View)]
    assert log.view_at == (views[-1] if views else -1)


def test_a_late_line_does_not_cut_what_came_after_it() -> None:
    """A message that comes twice, or late, says what is known already."""
    lines = tuple(_line(1, number) for number in (4, 8, 12))
    log, _ = written(empty(MEMBERS), 0, lines)
    assert written(log, 0, lines[:1]) == (log, 3)


def test_lines_of_another_epoch_do_not_join() -> None:
    """Whoever wants to write after a line must know which one it is."""
    log, _ = written(empty(MEMBERS), 0, (_line(1, 4),))
    assert log.joins(1, Epoch(1, NodeId(0)))
    assert not log.joins(1, Epoch(2, NodeId(0)))
    assert not log.joins(2, Epoch(1, NodeId(0)))
    assert started_at(7, Epoch(3, NodeId(1)), MEMBERS).joins(7, Epoch(3, NodeId(1)))
