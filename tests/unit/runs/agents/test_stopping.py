"""Agents are ended by a word in the store."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from solvent.runs.agents.stopping import STOPS, Stopper, ask_to_stop
from tests.unit.runs.agents.flows import store_at

if TYPE_CHECKING:
    from pathlib import Path


def test_who_is_asked_ends(tmp_path: Path) -> None:
    """An agent that is asked to end does; the word is taken away, so that it is for this one only."""
    stopped = threading.Event()
    with store_at(tmp_path) as store:
        with Stopper(store, "a1", stopped.set):
            ask_to_stop(store, "a2")
            assert not stopped.wait(0.1)
            ask_to_stop(store, "a1")
            assert stopped.wait(200)
        assert list(store.keys(STOPS)) == [f"{STOPS}a2"]
