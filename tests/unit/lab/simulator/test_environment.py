"""Keeping the garbage collector out of the way."""

from __future__ import annotations

import gc

import pytest

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


def test_a_run_that_fails_gives_the_collector_back() -> None:
    """An error changes nothing about that."""
    before = gc.get_threshold()
    with pytest.raises(ZeroDivisionError), collecting_rarely():
        raise ZeroDivisionError
    assert gc.get_threshold() == before
