"""Statements about data handover are judged by what was measured: made-up cells that do not fit are told apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from solvent_lab.experiments.handover.cells import PAPER, SMALL, cells_of, counting, mobile
from solvent_lab.experiments.handover.claims import claims_of, words_of
from solvent_lab.experiments.handover.figures import FIGURES
from solvent_lab.experiments.handover.measurement import Counted, Timed, fit_of
from solvent_lab.simulator import elmp
from solvent_lab.simulator.handover import Outcome

if TYPE_CHECKING:
    from solvent_lab.experiments.handover.measurement import Measured

SCALE = SMALL
OUTCOME: dict[str, Any] = {
    "cycle": 100.0,
    "wait": 95.0,
    "blocking": 95.0,
    "messages_per_cycle": 20.0,
    "fetch": 0.5,
    "transfers_per_cycle": 1.0,
    "settled": 100.0,
    "min_cycle": 1.0,
    "max_cycle": 100.0,
    "cycles": 10,
    "uses_of_leavers": 0,
    "departures": 0,
    "seconds": 1.0,
    "kinds": {},
}


def timed(name: str, **changes: Any) -> Timed:
    """Make a cell of the benchmark."""
    setup = cells_of(SCALE)[name].setup
    assert not isinstance(setup, elmp.Setup)
    return Timed(setup=setup, seed=1, outcomes=[Outcome(**(OUTCOME | changes))])


def counted(name: str, messages: float) -> Counted:
    """Make a count."""
    setup = cells_of(SCALE)[name].setup
    assert isinstance(setup, elmp.Setup)
    kept = {"steps": 1, "kinds": {}, "height": 1, "processes": 1, "most": 1, "fewest": 1}
    outcome = elmp.Outcome(operations=1000, messages=round(1000 * messages), **kept)
    return Counted(setup=setup, seed=1, outcomes=[outcome])


def test_what_grows_with_n_is_no_logarithm() -> None:
    """Counts that lie on a line over n are told from those that lie on one over its logarithm."""
    cells: dict[str, Measured] = {name: counted(name, 5.0) for name in FIGURES["messages"].needs(SCALE)}
    for processes in SCALE.processes:
        cells[counting("request", processes)] = counted(counting("request", processes), 2.0 + processes)
        cells[counting("join", processes)] = counted(counting("join", processes), float(processes.bit_length()))
    found = {claim.paper.split(": ")[-1]: claim.difference for claim in claims_of(cells, SCALE)}
    assert found["request, nobody else about"] == "a line over n fits better"
    assert found["insertion"] == "none"
    assert words_of(fit_of(cells, SCALE, "request")).endswith("; 2.00 +1.00000 n leaves 0.00")


@pytest.mark.parametrize("more, says", [(0.0, "less"), (2.2, "none"), (9.0, "more")])
def test_table_2_is_compared_with_the_papers(more: float, says: str) -> None:
    """What departures cost is less, about the same, or more."""
    cells: dict[str, Measured] = {name: timed(name) for name in FIGURES["table-2"].needs(SCALE)}
    name = mobile(50, 0.25, "use", "site")
    cells[name] = timed(name, settled=100.0 + more)
    first, *_, last = claims_of(cells, SCALE)
    assert first.difference == says
    assert last.difference == ("it is not" if more > 2 else "none")


def test_nothing_is_judged_without_its_cells() -> None:
    """A figure that was not run has no statements."""
    assert claims_of({}, PAPER) == []
