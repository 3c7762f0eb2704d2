"""The calls of a place: those that are ready and wait, those that are out, and those that it goes on with."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from solvent.runs.recorded import Deferred, RecordedRun

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solvent.engine.reaction import Flight
    from solvent.runs.agents.adrift import Adrift
    from solvent.runs.agents.calls import Calls
    from solvent.runs.invoking import Call


class CallingRun(RecordedRun):
    """A run that makes calls when it is told to."""

    def __init__(self, *arguments: Any, calls: Calls | None = None, epoch: int = 0, **options: Any) -> None:
        """Without `calls` none is made: it is only seen how the place is."""
        super().__init__(*arguments, **options)
        self._made_by = calls
        #: Calls that are ready, of which nothing is noted yet.
        self._held: dict[str, tuple[Flight, Call, Deferred]] = {}
        self.epoch = epoch
        #: Who goes on with its calls.
        self.successor: Any = None
        self._adrift: Adrift | None = None
        #: The calls that were adopted, by what their answers call them.
        self.aliases: dict[Flight, tuple[Flight, Call]] = {}
        #: Answers that may not be in the journal yet.
        self._landed: list[tuple[Flight, str, Deferred, tuple[Any, ...]]] = []
        #: Whether it is to be left to another agent as soon as nothing is out.
        self.is_leaving = False

    def admit(self, key: str) -> Flight | None:
        """Note a call that has waited, and make it next; not one that was cancelled, or lost too often."""
        waiting = self._held.pop(key, None)
        if waiting is None:
            return None
        deferred = self._fresh(key, waiting)
        if deferred is None:
            return None
        flight = waiting[0]
        self.report.timings[self._out[flight][0]].started = time.perf_counter() - self._began
        self._ready.append(deferred)
        return flight

    @property
    def ready(self) -> int:
        """How many calls are ready and wait."""
        return len(self._held)

    @property
    def is_free(self) -> bool:
        """Whether nothing is out, so that another agent can have the place, and loses nothing."""
        return len(self._out) == len(self._held)

    def calls_unkept(self) -> Iterator[tuple[Flight, str, Deferred, tuple[Any, ...] | None]]:
        """Give the calls that were made and whose answers may not be in the journal, with what has come of them."""
        landed = {one[0] for one in self._landed}
        for flight, (_, handle) in self._out.items():
            if flight in self._keys and isinstance(handle, Deferred) and handle.is_begun and flight not in landed:
                yield flight, self._keys[flight], handle, None
        yield from self._landed

    def forget_unmade(self) -> None:
        """Have only calls that were made: the others never will be, and would keep their room for ever."""
        self._held.clear()
        for flight, (_, handle) in self._out.items():
            if not (isinstance(handle, Deferred) and handle.is_begun):
                self.end_call(flight)

    def go_on_with(self, adrift: Adrift) -> None:
        """Adopt calls that are out, when it is started."""
        self._adrift = adrift

    def end_call(self, flight: Flight, *, is_done: bool = False) -> None:
        """Make room for other calls."""
        if self._made_by is not None:
            self._made_by.end(flight, is_done=is_done)

    def _adopt(self, key: str, waiting: tuple[Flight, Call, Deferred]) -> bool:
        """Go on with a call that is out, if it is."""
        assert self._adrift is not None
        found = self._adrift.adopted(key)
        if found is None:
            return False
        (before, handle), (flight, call, deferred) = found, waiting
        self._out[flight] = self._out[flight][0], handle
        # Its attempts are counted by itself.
        self.journal.attempts[key] -= handle.announced
        old = self._adrift.place
        self.aliases[before] = flight, call
        self.aliases |= {name: (flight, call) for name, (known, _) in old.aliases.items() if known is before}
        if deferred.is_cancelled:
            handle.cancel()
        return True


__all__ = ["CallingRun"]
