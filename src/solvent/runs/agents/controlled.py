"""The one place of a workflow whose tasks join and split by patterns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.runs.agents.place import Place
from solvent.runs.closing import closed_whole
from solvent.runs.recorded import RecordedControlledRun

if TYPE_CHECKING:
    from solvent.runs.events import ShardClosed
    from solvent.runs.kept import Blobs


class ControlledPlace(Place, RecordedControlledRun):
    """A whole workflow whose tasks join and split by patterns, at one agent."""

    def closed(self, blobs: Blobs) -> ShardClosed:
        """Return how everything is."""
        self.report.failures, self.report.stuck = [], []
        return closed_whole(blobs, self._finish(), self.journal.adaptations)

    @property
    def is_idle(self) -> bool:
        """Whether nothing more can happen here."""
        return bool(self.report.ended_by) or super().is_idle


__all__ = ["ControlledPlace"]
