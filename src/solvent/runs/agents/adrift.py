"""The calls of a place while its agent cannot reach the store: they go on, and their answers wait.

What the place knew is thrown away, since nobody knows how much of it is in the journal. When the store is there again
the agent takes the place anew and is where its journal ends. If nobody else has had it meanwhile, a call that has no
answer there, and is still out or was answered while that could not be kept, is not made again: the place adopts it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.runs.recorded import Again, Deferred

if TYPE_CHECKING:
    from solvent.engine.reaction import Flight
    from solvent.runs.agents.place import Place


class Adrift:
    """What is left of a place: its calls, by their names, and what has come of them; for one thread."""

    def __init__(self, place: Place) -> None:
        self.place = place
        #: Those in which this agent has had the place, or may have: the store may not have said that it took a record.
        self._epochs = {place.epoch}
        self._calls: dict[str, tuple[Flight, Deferred]] = {}
        self._adopted = set[str]()
        self._answers: list[Any] = []
        for flight, key, deferred, answer in place.calls_unkept():
            self._calls[key] = flight, deferred
            if isinstance(answer, Again):
                # That it is tried again may not have been noted; it is noted before it is done.
                deferred.announced -= 1
            if answer is not None:
                self._answers.append(answer)

    def had_in(self, epoch: int) -> frozenset[int]:
        """Give the epochs in which the place was here; from now on this one, too."""
        before = frozenset(self._epochs)
        self._epochs.add(epoch)
        return before

    def came(self, answer: Any) -> None:
        """Take what has come of a call."""
        self._answers.append(answer)

    def adopted(self, key: str) -> tuple[Flight, Deferred] | None:
        """Give a call to who goes on with it."""
        self._adopted.add(key)
        return self._calls.get(key)

    def again(self) -> None:
        """Begin anew: who was to go on with the calls could not."""
        self._adopted.clear()

    def answers(self) -> list[Any]:
        """Give what has come, to who goes on with the calls."""
        found, self._answers = self._answers, []
        return found

    def end(self) -> None:
        """End the calls that nobody has adopted."""
        for key, (flight, deferred) in reversed(self._calls.items()):
            if key not in self._adopted:
                deferred.cancel()
                self.place.end_call(flight)
        self._calls.clear()


__all__ = ["Adrift"]
