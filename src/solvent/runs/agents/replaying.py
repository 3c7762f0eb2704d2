"""Does a run of agents again, from the journals of its places and the letters between them, calling nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from solvent.errors import RecordProblem
from solvent.hocl.process_settings import deep_stack
from solvent.runs.agents.case import Case
from solvent.runs.agents.parts import merged
from solvent.runs.agents.plans import workflow_of

if TYPE_CHECKING:
    from solvent.runs.agents.offers import Offers
    from solvent.runs.agents.plans import Plan
    from solvent.runs.report import Report
    from solvent.store import Store
    from solvent.workflows.model import Workflow


class NoCaller:
    """Stands where calls would be made: none is."""

    def start(self, *_: Any, **__: Any) -> NoReturn:
        """Never come to this: a replay makes no calls."""
        raise AssertionError("a replay calls nobody")

    def prepare_close(self) -> None:
        """Do nothing: there are no threads."""


def refuse_code(run: str, workflow: Workflow, offers: Offers, *, command: str = "replay") -> None:
    """Raise `RecordProblem` R406 where functions would be called that are not offered: a record may be anybody's."""
    if what := offers.unknown_code(workflow):
        said = f"the run `{run}` goes by {what}, and only its own files say what that is"
        raise RecordProblem("R406", said, hint=f"`solvent {command} {run} --file WORKFLOW`")


def replayed(store: Store, run: str, plan: Plan, offers: Offers) -> Report:
    """Give the report that follows from what was written down; of `offers` only conditions are asked."""
    refuse_code(run, workflow_of(store, plan), offers)
    case = Case(store, "replay", run, plan, offers, jobs=None)
    with deep_stack():
        return merged(case.workflow, [case.again(number, NoCaller()).part() for number in range(plan.places)])


__all__ = ["NoCaller", "refuse_code", "replayed"]
