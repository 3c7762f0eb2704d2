"""Setups of data handover."""

from __future__ import annotations

from typing import Any

import pytest

from solvent.errors import Misuse
from solvent_lab.simulator.handover import Setup


@pytest.mark.parametrize("changes, said", [
    ({"mode": "cloud"}, "there is no mode `cloud`"),
    ({"platform": "moon"}, "there is no platform `moon`"),
    ({"leavers": "run"}, "there is no leavers `run`"),
    ({"peers": 0}, "`peers` is 0, and must be 1 at least"),
    ({"bytes": 0}, "`bytes` is 0"),
    ({"cycles": -1}, "`cycles` is -1"),
    ({"order": 1}, "`order` is 1, and must be 2 at least"),
    ({"locked": -1.0}, "`locked` is -1.0"),
    ({"wblocked": float("inf")}, "`wblocked` is inf"),
    ({"idle": float("nan")}, "`idle` is nan"),
    ({"leaving": 1.5}, "`leaving` is 1.5"),
    ({"leaving": 0.9, "peers": 2}, "all peers come and go"),
    ({"leaving": 0.5, "pause": 0.0}, "`pause` is 0"),
    ({"fetch": "acquire", "mode": "server"}, "a server sends the data with the lock"),
])  # fmt: skip
def test_what_cannot_be_is_refused(changes: dict[str, Any], said: str) -> None:
    """Each wrong value has its own words."""
    with pytest.raises(Misuse) as caught:
        Setup(**changes)
    assert said in caught.value.message
    assert caught.value.code == "P316"
