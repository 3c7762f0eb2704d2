"""What an adapter promises: starting the system apart from running graphs in it."""

import importlib.metadata
import importlib.util
from pathlib import Path
from typing import Protocol

from bench.workflow.graphs import Graph


class Running(Protocol):
    """A system that has been started."""

    def run(self, graph: Graph) -> list[int]:
        """Submit every task, wait, and give the results of the sinks; all of it is measured."""

    def recover(self, mark: str, answer: int) -> tuple[int, float]:
        """Call `fail(mark)`, and when it has failed `fall_back(answer)`; give the result and when it was there."""

    def close(self) -> None:
        """End it, as far as that does not go without saying."""


class System(Protocol):
    """A system that can run graphs."""

    title: str
    family: str
    """The system whose time the others are divided by in the table: of our two the one that works alike."""

    def absence(self) -> str | None:
        """Say why the system cannot be measured here, or nothing if it can."""

    def version(self) -> str:
        """Give the version that is measured."""

    def start(self, workers: int, folder: Path) -> Running:
        """Start with so many threads or processes; files may be left in the folder."""


class Packaged:
    """What the adapters of installed packages share."""

    package = ""

    def absence(self) -> str | None:
        """Say so where the package is not installed."""
        return None if importlib.util.find_spec(self.package) else f"{self.package} is not installed"

    def version(self) -> str:
        """Give the version of the package."""
        return importlib.metadata.version(self.package)
