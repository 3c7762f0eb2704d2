"""What launches the nodes of a run."""

from __future__ import annotations

import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from solvent.runs.nodes.launcher import Launcher
from solvent.source import Source
from tests.unheard import interrupt_unheard

if TYPE_CHECKING:
    from pathlib import Path


def test_an_interrupt_that_wakes_nobody_ends_the_wait_for_silent_nodes(tmp_path: Path) -> None:
    """Nodes that react for long say nothing."""
    launcher = Launcher(tmp_path, [], b"", processes=None, source=Source(""))

    def wait() -> None:
        with interrupt_unheard():
            while True:
                launcher._wait()

    with subprocess.Popen(["sleep", "30"], stdout=subprocess.PIPE) as silent:
        assert silent.stdout is not None
        launcher._lines[0] = silent.stdout  # type: ignore[assignment]  # only what to wait for is wanted of it
        launcher._phases[0] = "empty"
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            wait()
        assert time.monotonic() - began < 20
        silent.kill()
