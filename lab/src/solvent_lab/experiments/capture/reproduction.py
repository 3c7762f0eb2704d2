"""The reproduction of the paper on capture: its cells, its figures, its table."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from solvent_lab.experiments.capture.cells import PAPER, cells_of
from solvent_lab.experiments.capture.claims import Claim, judged
from solvent_lab.experiments.capture.claims_one_rule import statements as of_one_rule
from solvent_lab.experiments.capture.claims_one_rule import statements_of_ours
from solvent_lab.experiments.capture.claims_several_rules import statements as of_several_rules
from solvent_lab.experiments.capture.figures import FIGURES
from solvent_lab.experiments.capture.measurement import Measured, gathered, measure
from solvent_lab.experiments.capture.tables import table_as_markdown, table_as_values
from solvent_lab.experiments.reproduction import Reproduction as AnyReproduction
from solvent_lab.experiments.reproduction import Watcher

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from solvent_lab.experiments.capture.cells import Cell
    from solvent_lab.experiments.capture.measurement import Curves
    from solvent_lab.experiments.reproduction import Plan


class Reproduction(AnyReproduction[Measured, Claim]):
    """One reproduction into one folder."""

    @property
    def plans(self) -> Mapping[Any, Plan]:
        """The paper's fourteen figures."""
        return FIGURES

    def known(self) -> dict[str, Cell]:
        """Give all cells, by name."""
        return cells_of(self.scale)

    def job(self, cell: Cell) -> Callable[[int], Curves]:
        """Give what one run of a cell does with its seed."""
        return partial(measure, cell.setup, cell.counts_messages)

    def gathered(self, cell: Cell, results: Sequence[Curves]) -> Measured:
        """Average the curves of a cell's runs."""
        return gathered(cell, self.seed, results)

    def recalled(self, data: bytes) -> Measured:
        """Read what was kept of a cell."""
        return msgspec.json.decode(data, type=Measured)

    def table(self) -> tuple[list[Claim], str, list[dict[str, Any]]]:
        """Judge those statements of the paper whose cells are there."""
        statements = (*of_one_rule(self.scale), *of_several_rules(self.scale), *statements_of_ours())
        claims = judged(statements, self.cells, explains=self.scale.name == PAPER.name)
        return claims, table_as_markdown(claims), table_as_values(claims)


__all__ = ["Reproduction", "Watcher"]
