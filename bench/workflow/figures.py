"""Figures drawn from the cells: times, ratios, growth exponents and memory."""

import math
from dataclasses import dataclass, field

from bench.cell import Ending
from bench.workflow.cell import Cell, Mode, Question

GROWTH_FROM = 100
GROWTH_TO = 10_000


@dataclass
class Figures:
    """All cells of a run."""

    max_seconds: float
    cells: dict[Question, Cell] = field(default_factory=dict)

    def add(self, cell: Cell) -> None:
        """Keep a cell."""
        self.cells[cell.question] = cell

    def cell(self, system: str, mode: Mode, shape: str, size: int) -> Cell | None:
        """Find a cell."""
        return self.cells.get(Question(system, mode, shape, size))

    def of_mode(self, mode: Mode) -> list[Cell]:
        """Give all cells of a mode."""
        return [cell for cell in self.cells.values() if cell.question.mode is mode]

    def sizes(self, shape: str) -> list[int]:
        """Give the sizes that were timed, in order."""
        return sorted({cell.question.size for cell in self.of_mode(Mode.TIME) if cell.question.shape == shape})

    def seconds(self, system: str, shape: str, size: int) -> float | None:
        """Give the best time of a cell that was measured."""
        cell = self.cell(system, Mode.TIME, shape, size)
        return cell.best if cell else None

    def seconds_least(self, system: str, shape: str, size: int) -> float | None:
        """Give the best time of a cell, or the limit if it ran out of it, at this size or a smaller one.

        A system that failed, or was skipped because it had failed, has no time: it proves nothing.
        """
        seconds = self.seconds(system, shape, size)
        if seconds is not None:
            return seconds
        cells = (self.cell(system, Mode.TIME, shape, tried) for tried in self.sizes(shape) if tried <= size)
        is_late = any(cell is not None and cell.ending is Ending.OUT_OF_TIME for cell in cells)
        return self.max_seconds if is_late else None

    def growth(self, system: str, shape: str) -> float | None:
        """Give the exponent of the growth between 100 and 10,000 tasks, as far as both ends were measured."""
        points = [
            (size, seconds)
            for size in self.sizes(shape)
            if GROWTH_FROM <= size <= GROWTH_TO and (seconds := self.seconds(system, shape, size)) is not None
        ]
        return growth_exponent(points)

    def peak_bytes(self, system: str, shape: str, size: int) -> int | None:
        """Give the most memory that a system held with a graph."""
        cell = self.cell(system, Mode.MEMORY, shape, size)
        return cell.peak_bytes if cell else None

    def recovery(self, system: str) -> Cell | None:
        """Find the cell of the way from a failure to the other result."""
        return next((cell for cell in self.of_mode(Mode.FAILURE) if cell.question.system == system), None)


def growth_exponent(points: list[tuple[int, float]]) -> float | None:
    """Fit log time over log n by least squares."""
    if len(points) < 2:
        return None
    abscissae = [math.log(size) for size, _ in points]
    ordinates = [math.log(seconds) for _, seconds in points]
    middle = sum(abscissae) / len(points)
    height = sum(ordinates) / len(points)
    rise = sum((x - middle) * (y - height) for x, y in zip(abscissae, ordinates, strict=True))
    return rise / sum((x - middle) ** 2 for x in abscissae)
