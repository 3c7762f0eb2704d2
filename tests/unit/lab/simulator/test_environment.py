"""What surrounds simulated nodes."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from solvent.protocols.machine import NodeId
from solvent_lab.simulator.environment import Environment


class Listener(Environment):
    """Hears reports."""

    def told(self, node: NodeId, outcome: Any, at: int) -> None:
        """Hear."""


def test_an_environment_listens_if_it_has_ears() -> None:
    """Reports are handed only to environments that do something with them."""
    assert (Environment().listens, Listener().listens) == (False, True)


def test_the_plain_environment_does_nothing() -> None:
    """It never ends a run, takes note of nothing, and admits that it has no answers."""
    plain = Environment()
    plain.told(NodeId(0), "x", 0)
    plain.crashed(NodeId(0), 0)
    plain.restarted(NodeId(0), 0)
    assert not plain.is_over()
    with pytest.raises(NotImplementedError):
        plain.answer(NodeId(0), "x", Random(1))
