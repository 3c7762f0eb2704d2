"""The first messages of a run, as they are written."""

from __future__ import annotations

from immutables import Map

from solvent.protocols.machine import NodeId, Value
from solvent_lab.diagram.text import Arrow, wrapped
from solvent_lab.simulator.conversation import Conversation


class _Served(Value, frozen=True):
    served: Map[int, int]


def test_maps_are_written_as_they_are_meant() -> None:
    """Of a map only what is in it is written."""
    heard = Conversation()
    heard(NodeId(0), NodeId(1), _Served(Map({3: 1})), 0)
    assert [one.text for one in heard.drawing(2)[1] if isinstance(one, Arrow)] == ["_Served(served={3: 1})"]


def test_lines_end_after_commas_and_spaces() -> None:
    """No number is broken, and no line begins with a comma."""
    assert wrapped("Given(number=14265,to=3, at=7)", 20) == ["Given(number=14265,", "to=3, at=7)"]


def test_what_is_too_long_is_broken_where_it_must_be() -> None:
    """A word that is longer than a line goes on in the next one."""
    assert wrapped("a bcdefghij, k", 5) == ["a", "bcdef", "ghij,", "k"]
