"""Recorded runs that are done again in front of a film: nobody is called, and everything is written down."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from solvent.errors import RecordProblem
from solvent.runs.agents.case import Case
from solvent.runs.agents.controlled import ControlledPlace
from solvent.runs.agents.offers import Offers
from solvent.runs.agents.place import Place
from solvent.runs.agents.plans import plan_of, workflow_of
from solvent.runs.agents.replaying import NoCaller, refuse_code
from solvent.runs.records import Journal
from solvent.runs.records.recorded import RecordedControlledRun, RecordedRun
from solvent.runs.records.runs import log_of
from solvent.values import codec
from solvent.workflows.formats.files import load_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from solvent.engine.reaction import Flight
    from solvent.lang.solution import Solution
    from solvent.runs.records import entries
    from solvent.runs.records.cards import RunCard
    from solvent.runs.replay_index.film import Film
    from solvent.services import Caller
    from solvent.store import Record, Store


class _Filmed(RecordedRun):
    """A run that a film watches."""

    def __init__(self, *given: Any, film: Film, **options: Any) -> None:
        super().__init__(*given, observe=film, **options)
        self._film = film
        self._caller = _nobody  # type: ignore[assignment]
        self._go_on_there: Callable[[Solution], None] = self.reactor.go_on
        self.reactor.go_on = self._seen  # type: ignore[method-assign]

    def begin(self) -> None:
        """Show the solution as it is before anything has happened."""
        asleep = self._lean.asleep() if self._lean is not None else ()
        self._film.begin(self.solution, self._names, asleep)

    def _seen(self, solution: Solution) -> None:
        # Signals and letters are put in without a reaction, just before it goes on.
        self._film.outside(self.solution)
        self._go_on_there(solution)

    def _take_off(self, caller: Caller, flight: Flight) -> None:
        self._film.called(flight)
        super()._take_off(caller, flight)

    def _repeat(self, entry: entries.Any) -> None:
        self._film.at = getattr(entry, "at", self._film.at)
        super()._repeat(entry)


class _FilmedRun(_Filmed, RecordedRun):
    """A run of one process."""


class _FilmedControlledRun(_Filmed, RecordedControlledRun):
    """One whose tasks join and split by patterns."""


class _FilmedPlace(_Filmed, Place):
    """A place of a run of agents."""

    def start(self, letters: list[Record]) -> None:
        """Be where the journal ends."""
        self.begin()
        super().start(letters)


class _FilmedControlledPlace(_FilmedPlace, ControlledPlace):
    """A whole run at one agent."""


class _FilmedCase(Case):
    """A run of agents, to be done again."""

    film: Film

    def _kind(self, *, is_controlled: bool) -> Any:
        return partial(_FilmedControlledPlace if is_controlled else _FilmedPlace, film=self.film)


@contextmanager
def _nobody() -> Iterator[Any]:
    yield NoCaller()


def film_run(store: Store, card: RunCard, film: Film) -> str:
    """Do a run of one process again; say where that ends, if it is not the end of the run."""
    if card.hindrance:
        raise RecordProblem("R406", f"the run `{card.run}` cannot be replayed: {card.hindrance}")
    if not card.document:
        said = f"the workflow of the run `{card.run}` cannot be said in a file, and the page runs no code to find it"
        raise RecordProblem("R404", said, hint=f"solvent replay {card.run} --trace")
    text = store.get_blob(card.document).decode()
    workflow = load_text(text, name=f"{card.workflow}.json").workflow
    refuse_code(card.run, workflow, Offers({}))
    journal = Journal(store, log_of(card.run), "film", is_read_only=True)
    journal.open()
    film.at = card.created
    kind: Any = _FilmedControlledRun if workflow.is_controlled else _FilmedRun
    signals = [tuple(one) for one in codec.decode(card.options.signals)] if card.options.signals else []
    more = {"signals": signals} if signals else {}
    run = kind(workflow, codec.decode(card.inputs), journal=journal, film=film, **more)
    run.begin()
    error = run.run().error
    return "" if error is None or card.has_ended else error.message


def film_place(store: Store, run: str, place: int, film: Film) -> str:
    """Do one place of a run of agents again."""
    plan = plan_of(store, run)
    if plan is None:
        raise RecordProblem("R401", f"there is no run `{run}` in {store.url}")
    if not 0 <= place < plan.places:
        raise RecordProblem("R401", f"the run `{run}` has no place {place}", hint=f"it has {plan.places}, from 0 on")
    refuse_code(run, workflow_of(store, plan), Offers({}))
    case = _FilmedCase(store, "film", run, plan, Offers({}), jobs=None)
    case.film = film
    film.at = plan.created
    case.again(place, NoCaller())
    return ""


__all__ = ["film_place", "film_run"]
