"""The value that says what a simulated system suffers."""

from __future__ import annotations

from typing import Any

import pytest

from solvent.errors import Misuse
from solvent_lab.simulator.faults import FOREVER, Faults


def test_by_default_nothing_goes_wrong() -> None:
    """Without a word there is no fault, and a message takes a millisecond."""
    faults = Faults()
    assert (faults.loss, faults.duplication, faults.may_reorder) == (0.0, 0.0, False)
    assert (faults.crashes_every_ms, faults.partitions_every_ms) == (FOREVER, FOREVER)
    assert (faults.latency_ms_min, faults.latency_ms_max) == (1.0, 1.0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"loss": 1.1},
        {"loss": float("nan")},
        {"duplication": -0.1},
        {"latency_ms_min": 5.0},
        {"latency_ms_max": FOREVER},
        {"latency_ms_min": -1.0},
        {"answer_ms_min": 1.0},
        {"downtime_ms_max": 0.5},
        {"bandwidth_bytes_per_ms": 0.0},
        {"crashes_every_ms": 0.0},
        {"crashes_max": -1},
        {"partitions_every_ms": -1.0},
        {"partition_ms_max": FOREVER},
    ],
    ids=str,
)
def test_impossible_faults_are_refused(wrong: dict[str, Any]) -> None:
    """What cannot be is said to be so, by its name."""
    with pytest.raises(Misuse) as caught:
        Faults(**wrong)
    assert caught.value.code == "P301"
    assert next(iter(wrong)).removesuffix("_min").removesuffix("_max") in caught.value.message
