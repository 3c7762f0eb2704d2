"""Keeping the garbage collector out of the way."""

from __future__ import annotations

import gc

from solvent_lab.simulator.environment import collecting_rarely


def test_the_collector_is_as_before_afterwards() -> None:
    """Thresholds are raised and everything alive is set aside for the time of a run, and runs may nest."""
    before = gc.get_threshold()
    frozen = gc.get_freeze_count()
    with collecting_rarely():
        assert gc.get_threshold() > before
        with collecting_rarely():
            assert gc.get_freeze_count() > frozen
        assert gc.get_freeze_count() > frozen
        assert gc.get_threshold() > before
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)
