"""The same peers on SimGrid, where it is installed, and what is said where it is not."""

from __future__ import annotations

from typing import Any

import pytest

from solvent.errors import Misuse
from solvent_lab.simulator import handover_simgrid
from solvent_lab.simulator.handover import simulate
from solvent_lab.simulator.handover_setup import Setup
from solvent_lab.simulator.handover_simgrid import can_simulate

needs_simgrid = pytest.mark.skipif(
    not can_simulate(), reason="SimGrid is not installed: pip install 'solvent-lab[simgrid]'"
)


@needs_simgrid
@pytest.mark.parametrize("changes", [
    {},
    {"mode": "server"},
    {"platform": "grid5000"},
    {"leaving": 0.3, "pause": 0.5},
    {"wblocked": 1.0, "locked": 0.0, "fetch": "acquire"},
])  # fmt: skip
def test_both_simulators_give_the_same(changes: dict[str, Any]) -> None:
    """Cycle, wait and blocking differ by less than one per cent."""
    usual: dict[str, Any] = {"peers": 10, "bytes": 10 << 20, "locked": 1.0, "cycles": 4, "platform": "site"}
    ours, theirs = (simulate(Setup(on=on, **(usual | changes)), 1) for on in ("solvent", "simgrid"))
    for name in ("cycle", "wait", "blocking", "settled"):
        assert getattr(theirs, name) == pytest.approx(getattr(ours, name), rel=0.01)
    assert theirs.cycles == ours.cycles
    assert theirs.messages_per_cycle == pytest.approx(ours.messages_per_cycle, rel=0.1)


def test_without_simgrid_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the package; nothing is run."""
    monkeypatch.setattr(handover_simgrid, "find_spec", lambda _: None)
    with pytest.raises(Misuse) as caught:
        simulate(Setup(on="simgrid"), 1)
    assert caught.value.code == "P332"
    assert "solvent-lab[simgrid]" in caught.value.hint
