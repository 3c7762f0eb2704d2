"""The reproduction of the paper on token passing: its cells, its figures, its table."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from solvent_lab.experiments.reproduction import Reproduction as AnyReproduction
from solvent_lab.experiments.token.cells import PAPER, cells_of
from solvent_lab.experiments.token.claims import Claim, judged
from solvent_lab.experiments.token.figures import FIGURES
from solvent_lab.experiments.token.measurement import Measured
from solvent_lab.experiments.token.statements import statements
from solvent_lab.experiments.token.tables import table_as_markdown
from solvent_lab.simulator.token import simulate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from solvent_lab.experiments.reproduction import Plan
    from solvent_lab.experiments.token.cells import Cell
    from solvent_lab.simulator.token import Outcome


class Reproduction(AnyReproduction[Measured, Claim]):
    """One reproduction into one folder."""

    @property
    def plans(self) -> Mapping[Any, Plan]:
        """Figures 9 and 10, the variants, and full load."""
        return FIGURES

    def known(self) -> dict[str, Cell]:
        """Give all cells, by name."""
        return cells_of(self.scale)

    def job(self, cell: Cell) -> Callable[[int], Outcome]:
        """Give what one run of a cell does with its seed."""
        return partial(simulate, cell.setup)

    def gathered(self, cell: Cell, results: Sequence[Outcome]) -> Measured:
        """Keep what came of each run."""
        return Measured(setup=cell.setup, seed=self.seed, outcomes=list(results))

    def recalled(self, data: bytes) -> Measured:
        """Read what was kept of a cell."""
        return msgspec.json.decode(data, type=Measured)

    def table(self) -> tuple[list[Claim], str, list[dict[str, Any]]]:
        """Judge those statements whose cells are there."""
        claims = judged(statements(self.scale), self.cells, explains=self.scale.name == PAPER.name)
        return claims, table_as_markdown(claims, self.cells, self.scale), [claim._asdict() for claim in claims]


__all__ = ["Reproduction"]
