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
from solvent.runs.agents.replaying import NoCaller, refuse_code
from solvent.runs.journal import Journal
from solvent.runs.recorded import RecordedControlledRun, RecordedRun
from solvent.runs.registry import existing, inputs_of, journal_of, signals_of, workflow_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from solvent.engine.reaction import Flight
    from solvent.lang.solution import Solution
    from solvent.runs.events import AnyEvent
    from solvent.runs.registry import RunRecord
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

    def _repeat(self, event: AnyEvent) -> None:
        self._film.at = getattr(event, "at", self._film.at)
        super()._repeat(event)


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


def film_run(store: Store, record: RunRecord, film: Film) -> str:
    """Do a run of one process again; return where that ends, if it is not the end of the run."""
    if record.hindrance:
        raise RecordProblem("R406", f"the run `{record.run}` cannot be replayed: {record.hindrance}")
    if not record.document:
        said = f"the workflow of the run `{record.run}` cannot be said in a file, and the page runs no code to find it"
        raise RecordProblem("R404", said, hint=f"solvent replay {record.run} --trace")
    workflow = workflow_of(store, record)
    refuse_code(record.run, workflow, Offers({}))
    journal = Journal(store, journal_of(record.run), "film", is_read_only=True)
    journal.open()
    film.at = record.created
    kind: Any = _FilmedControlledRun if workflow.is_controlled else _FilmedRun
    signals = signals_of(record)
    more = {"signals": signals} if signals else {}
    run = kind(workflow, inputs_of(store, record), journal=journal, film=film, **more)
    run.begin()
    error = run.run().error
    return "" if error is None or record.has_ended else error.message


def film_shard(store: Store, run: str, shard: int, film: Film) -> str:
    """Do one shard of a run of agents again."""
    record = existing(store, run)
    if not 0 <= shard < record.shards:
        raise RecordProblem("R401", f"the run `{run}` has no shard {shard}", hint=f"it has {record.shards}, from 0 on")
    refuse_code(run, workflow_of(store, record), Offers({}))
    case = _FilmedCase(store, "film", record, Offers({}), jobs=None)
    case.film = film
    film.at = record.created
    case.again(shard, NoCaller())
    return ""


__all__ = ["film_run", "film_shard"]
