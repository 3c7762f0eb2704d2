"""The one place of a workflow whose tasks join and split by patterns."""

from __future__ import annotations

from solvent.runs.agents.parts import Part
from solvent.runs.agents.place import Place
from solvent.runs.records.recorded import RecordedControlledRun


class ControlledPlace(Place, RecordedControlledRun):
    """A whole workflow whose tasks join and split by patterns, at one agent."""

    def part(self) -> Part:
        """Say how far everything is."""
        report = self.report
        report.failures, report.stuck = [], []
        report = self._finish()
        return Part(
            states=report.states,
            values=report.results,
            calls=report.calls,
            adaptations=report.adaptations,
            faults=report.failures,
            timings=report.timings,
            reactions=report.reactions,
            stuck=report.stuck,
            ended_by=report.ended_by,
            is_cancelled=report.is_cancelled,
            is_whole=True,
        )

    @property
    def is_idle(self) -> bool:
        """Whether nothing more can happen here."""
        return bool(self.report.ended_by) or super().is_idle


__all__ = ["ControlledPlace"]
