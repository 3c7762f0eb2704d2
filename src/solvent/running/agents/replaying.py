"""Does a run of agents again, from the journals of its places and the letters between them, calling nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from solvent.running.agents.case import Case
from solvent.running.agents.parts import merged
from solvent.running.interpreter import deep_stack

if TYPE_CHECKING:
    from solvent.live.space import Space
    from solvent.running.agents.offers import Offers
    from solvent.running.agents.plans import Plan
    from solvent.running.report import Report


class NoCaller:
    """Stands where calls would be made: none is."""

    def start(self, *_: Any, **__: Any) -> NoReturn:
        """Never come to this: a replay makes no calls."""
        raise AssertionError("a replay calls nobody")


def replayed(space: Space, run: str, plan: Plan, offers: Offers) -> Report:
    """Give the report that follows from what was written down; of `offers` only conditions are asked."""
    case = Case(space, "replay", run, plan, offers, jobs=None)
    with deep_stack():
        return merged(case.workflow, [case.again(number, NoCaller()).part() for number in range(plan.places)])


__all__ = ["replayed"]
