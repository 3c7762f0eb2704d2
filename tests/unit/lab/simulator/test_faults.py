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
    assert (faults.min_latency_ms, faults.max_latency_ms) == (1.0, 1.0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"loss": 1.1},
        {"loss": float("nan")},
        {"duplication": -0.1},
        {"min_latency_ms": 5.0},
        {"max_latency_ms": FOREVER},
        {"min_latency_ms": -1.0},
        {"min_answer_ms": 1.0},
        {"max_downtime_ms": 0.5},
        {"bandwidth_bytes_per_ms": 0.0},
        {"crashes_every_ms": 0.0},
        {"max_crashes": -1},
        {"partitions_every_ms": -1.0},
        {"max_partition_ms": FOREVER},
    ],
    ids=str,
)
def test_impossible_faults_are_refused(wrong: dict[str, Any]) -> None:
    """What cannot be is said to be so, by its name."""
    with pytest.raises(Misuse) as caught:
        Faults(**wrong)
    assert caught.value.code == "P301"
    assert next(iter(wrong)).removeprefix("min_").removeprefix("max_") in caught.value.message
