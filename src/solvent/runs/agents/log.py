"""What an agent tells: a sentence for people, and fields for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Self, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from solvent.runs.registry import RunRecord
    from solvent.services.observer import CallObserver

    Observe: TypeAlias = Callable[[RunRecord], CallObserver | None]
    """Gives who hears of the calls of a run."""

Level: TypeAlias = Literal["debug", "info", "warning", "error"]


class Told(str):
    """A sentence that says what has happened, and of what kind that is.

    Events: `begun`, `ended` (the agent); `taken`, `lost` (a shard); `missing`, `refused` (a run that it cannot run);
    `damaged` (a shard that nobody can take);
    `over`, `done`, `failed` (a run; the last two by the agent that has ended it); `away` (the store does not answer),
    `full` (it has no room), `back` (it is well again).
    """

    __slots__ = ("event", "level", "run", "shard", "taken_from")
    event: str
    level: Level
    run: str
    shard: int | None
    #: The agent, presumed dead, that had the shard.
    taken_from: str

    def __new__(
        cls,
        text: str,
        event: str,
        *,
        run: str = "",
        shard: int | None = None,
        level: Level = "info",
        taken_from: str = "",
    ) -> Self:
        """Put a sentence and its fields together."""
        one = super().__new__(cls, text)
        one.event, one.run, one.shard, one.level = event, run, shard, level
        one.taken_from = taken_from
        return one


class Teller:
    """Puts what happens to shards and runs into words."""

    def __init__(self, tell: Callable[[Told], None]) -> None:
        self._tell = tell

    def taken(self, run: str, shard: int, taken_from: str) -> None:
        """Tell that a shard was taken, perhaps from an agent that is presumed dead."""
        self._tell(Told(f"took shard {shard} of {run}", "taken", run=run, shard=shard, taken_from=taken_from))

    def lost(self, run: str, shard: int) -> None:
        """Tell that another agent has taken a shard."""
        self._tell(
            Told(f"shard {shard} of {run} is another agent's now", "lost", run=run, shard=shard, level="warning")
        )

    def missing(self, run: str, services: Iterable[str]) -> None:
        """Tell that a run needs what is not here."""
        said = f"{run} needs services that this agent was not started with: {', '.join(sorted(services))}"
        self._tell(Told(said, "missing", run=run, level="warning"))

    def refused(self, run: str, said: str) -> None:
        """Tell that a run cannot be run here."""
        self._tell(Told(said, "refused", run=run, level="error"))

    def damaged(self, run: str, shard: int, said: str) -> None:
        """Tell that nobody can take a shard, since what the store says of it does not read."""
        self._tell(Told(said, "damaged", run=run, shard=shard, level="error"))

    def over(self, run: str) -> None:
        """Tell that a run is over."""
        self._tell(Told(f"{run} is over", "over", run=run))

    def done(self, run: str) -> None:
        """Tell that this agent has ended a run, which is done."""
        self._tell(Told(f"{run} is done", "done", run=run))

    def failed(self, run: str, why: str = "") -> None:
        """Tell that this agent has ended a run, which failed."""
        self._tell(Told(f"{run} failed: {why}" if why else f"{run} failed", "failed", run=run, level="error"))

    def full(self, why: str) -> None:
        """Tell that the store takes nothing more."""
        self._tell(Told(f"{why}; it goes on when there is room", "full", level="warning"))

    def back(self) -> None:
        """Tell that the store is as it should be again."""
        self._tell(Told("the store is well again", "back"))

    def away(self, why: str) -> None:
        """Tell that the store does not answer."""
        self._tell(Told(f"the store does not answer: {why}", "away", level="warning"))


__all__ = ["Level", "Teller", "Told"]
