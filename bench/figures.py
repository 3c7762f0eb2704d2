"""Figures drawn from the cells: times, ratios and growth exponents."""

import math
from dataclasses import dataclass, field

from bench.cell import Cell, Ending


@dataclass
class Figures:
    """All cells of a run, found by system, problem and size."""

    max_seconds: float
    cells: dict[tuple[str, str, int], Cell] = field(default_factory=dict)

    def add(self, cell: Cell) -> None:
        """Keep a cell."""
        self.cells[cell.system, cell.problem, cell.size] = cell

    def cell(self, system: str, problem: str, size: int) -> Cell | None:
        """Find a cell."""
        return self.cells.get((system, problem, size))

    def seconds(self, system: str, problem: str, size: int) -> float | None:
        """Give the time of a cell that was measured."""
        cell = self.cell(system, problem, size)
        return cell.seconds if cell else None

    def seconds_least(self, system: str, problem: str, size: int) -> float | None:
        """Give the time of a cell, or the limit if it ran out of it, at this size or a smaller one.

        A system that failed, or was skipped because it had failed, has no time: it proves nothing.
        """
        seconds = self.seconds(system, problem, size)
        if seconds is not None:
            return seconds
        cells = (self.cell(system, problem, tried) for tried in self.sizes(problem) if tried <= size)
        is_late = any(cell is not None and cell.ending is Ending.OUT_OF_TIME for cell in cells)
        return self.max_seconds if is_late else None

    def has_ended(self, system: str, problem: str, size: int) -> bool:
        """Tell whether the cell was measured."""
        return self.seconds(system, problem, size) is not None

    def sizes(self, problem: str) -> list[int]:
        """Give the sizes that were tried, in order."""
        return sorted({size for _, name, size in self.cells if name == problem})

    def growth(self, system: str, problem: str, *, beside: str | None = None) -> float | None:
        """Give the growth exponent over the larger sizes, with `beside` only over those that both ended."""
        points = [
            (size, seconds)
            for size in self.sizes(problem)
            if (seconds := self.seconds(system, problem, size)) is not None
            and (beside is None or self.has_ended(beside, problem, size))
        ]
        return growth_exponent(points)


def growth_exponent(points: list[tuple[int, float]]) -> float | None:
    """Fit log time over log n by least squares to the larger half of the sizes, two of them at least."""
    larger = sorted(points)[len(points) // 2 if len(points) > 3 else max(0, len(points) - 2) :]
    if len(larger) < 2:
        return None
    abscissae = [math.log(size) for size, _ in larger]
    ordinates = [math.log(seconds) for _, seconds in larger]
    middle = sum(abscissae) / len(larger)
    height = sum(ordinates) / len(larger)
    rise = sum((x - middle) * (y - height) for x, y in zip(abscissae, ordinates, strict=True))
    return rise / sum((x - middle) ** 2 for x in abscissae)
