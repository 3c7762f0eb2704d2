"""Settings of the interpreter: as before when the last run that asked for others has ended."""

from __future__ import annotations

import gc
import sys
import threading

from solvent.hocl.process_settings import deep_stack, few_collections


def test_settings_are_as_before_whoever_ends_first() -> None:
    """A run that began while another was under way, and ends after it, leaves nothing behind."""
    before = (sys.getrecursionlimit(), gc.get_threshold())
    has_begun, may_end = threading.Event(), threading.Event()

    def later() -> None:
        with few_collections():
            has_begun.set()
            may_end.wait(200)

    thread = threading.Thread(target=later)
    with deep_stack():
        assert (sys.getrecursionlimit(), gc.get_threshold()) > before
        thread.start()
        assert has_begun.wait(200)
    assert gc.get_threshold() > before[1], "the other one is still under way"
    may_end.set()
    thread.join()
    assert (sys.getrecursionlimit(), gc.get_threshold()) == before


def test_a_collector_that_is_off_stays_off() -> None:
    """Whoever has turned it off knows why."""
    before = gc.get_threshold()
    gc.set_threshold(0)
    try:
        with few_collections():
            assert gc.get_threshold()[0] == 0
        assert gc.get_threshold()[0] == 0
    finally:
        gc.set_threshold(*before)
