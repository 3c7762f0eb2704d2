"""The reproduction of the paper on data handover: its cells, its figures, its table."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from solvent_lab.experiments.handover.cells import cells_of
from solvent_lab.experiments.handover.claims import claims_of
from solvent_lab.experiments.handover.figures import FIGURES
from solvent_lab.experiments.handover.measurement import Counted, Measured, Timed
from solvent_lab.experiments.handover.tables import table_as_markdown
from solvent_lab.experiments.reproduction import Reproduction as AnyReproduction
from solvent_lab.experiments.token.claims import Claim
from solvent_lab.simulator import elmp, handover

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from solvent_lab.experiments.handover.cells import Cell
    from solvent_lab.experiments.reproduction import Plan


class Reproduction(AnyReproduction[Measured, Claim]):
    """One reproduction into one folder."""

    @property
    def plans(self) -> Mapping[Any, Plan]:
        """Figures 7 and 8, table 2, and message counts."""
        return FIGURES

    def known(self) -> dict[str, Cell]:
        """Give all cells, by name."""
        return cells_of(self.scale)

    def job(self, cell: Cell) -> Callable[[int], Any]:
        """Give what one run of a cell does with its seed."""
        if isinstance(cell.setup, elmp.Setup):
            return partial(elmp.simulate, cell.setup)
        return partial(handover.simulate, cell.setup)

    def gathered(self, cell: Cell, results: Sequence[Any]) -> Measured:
        """Keep what came of each run."""
        if isinstance(cell.setup, elmp.Setup):
            return Counted(setup=cell.setup, seed=self.seed, outcomes=list(results))
        return Timed(setup=cell.setup, seed=self.seed, outcomes=list(results))

    def recalled(self, data: bytes) -> Measured:
        """Read what was kept of a cell."""
        found: Measured = msgspec.json.decode(data, type=Measured)
        return found

    def table(self) -> tuple[list[Claim], str, list[dict[str, Any]]]:
        """Judge those statements whose cells are there."""
        claims = claims_of(self.cells, self.scale)
        return claims, table_as_markdown(claims, self.cells, self.scale), [claim._asdict() for claim in claims]


__all__ = ["Reproduction"]
