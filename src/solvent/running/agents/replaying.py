"""Does a run of agents again, from the journals of its places and the letters between them, calling nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from solvent.errors import RecordProblem
from solvent.running.agents.case import Case
from solvent.running.agents.parts import merged
from solvent.running.agents.plans import workflow_of
from solvent.running.interpreter import deep_stack

if TYPE_CHECKING:
    from solvent.live.space import Space
    from solvent.running.agents.offers import Offers
    from solvent.running.agents.plans import Plan
    from solvent.running.report import Report
    from solvent.workflow.model import Workflow


class NoCaller:
    """Stands where calls would be made: none is."""

    def start(self, *_: Any, **__: Any) -> NoReturn:
        """Never come to this: a replay makes no calls."""
        raise AssertionError("a replay calls nobody")


def refuse_code(run: str, workflow: Workflow, offers: Offers, *, command: str = "replay") -> None:
    """Raise `RecordProblem` R406 where functions would be called that are not offered: a record may be anybody's."""
    if what := offers.unknown_code(workflow):
        said = f"the run `{run}` goes by {what}, and only its own files say what that is"
        raise RecordProblem("R406", said, hint=f"`solvent {command} {run} --file WORKFLOW`")


def replayed(space: Space, run: str, plan: Plan, offers: Offers) -> Report:
    """Give the report that follows from what was written down; of `offers` only conditions are asked."""
    refuse_code(run, workflow_of(space, plan), offers)
    case = Case(space, "replay", run, plan, offers, jobs=None)
    with deep_stack():
        return merged(case.workflow, [case.again(number, NoCaller()).part() for number in range(plan.places)])


__all__ = ["NoCaller", "refuse_code", "replayed"]
