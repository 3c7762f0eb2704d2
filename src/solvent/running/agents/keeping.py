"""Keeps what places have noted and said, several of them at once.

A place's journal first, and its letters only when the space has taken that: so nothing is said by a place that another
agent has taken over. Where the space does all or nothing, all places' appends are one; if one is refused, one place
after the other tells whose it is. Elsewhere each append waits for an answer over the network; places do not wait for
each other, and nobody waits for letters before the same place has something else to note.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from solvent.errors import SpaceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from solvent.live.space import Append, Space
    from solvent.running.agents.place import Place

AT_ONCE_MAX = 8


class Keeper:
    """Appends for places; for one thread."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._pool = None if space.is_atomic else ThreadPoolExecutor(AT_ONCE_MAX, thread_name_prefix="keeper")
        self._letters = ThreadPoolExecutor(AT_ONCE_MAX, thread_name_prefix="letters")
        #: Letters of places that nobody has waited for yet.
        self._under_way: dict[Place, Future[list[int]]] = {}

    def keep(self, places: Iterable[Place], is_away: Callable[[SpaceError], bool]) -> dict[Place, SpaceError]:
        """Append what places have noted and said; give those whose appends were refused, and why.

        An error that is about the space itself, as `is_away` tells, is raised.
        """
        found = [(place, appends) for place in places if (appends := place.appends())]
        if self._pool is None and len(found) > 1:
            try:
                positions = self._space.append_all([one for _, appends in found for one in appends])
            except SpaceError as error:
                if is_away(error):
                    raise
            else:
                for place, appends in found:
                    _note(place, appends, positions[: len(appends)])
                    positions = positions[len(appends) :]
                return {}
        if self._pool is None or len(found) == 1:
            problems = [self._keep_one(*one) for one in found]
        else:
            problems = list(self._pool.map(lambda one: self._keep_one(*one), found))
        refused = {place: problem for (place, _), problem in zip(found, problems, strict=True) if problem is not None}
        for problem in refused.values():
            if is_away(problem):
                raise problem
        return refused

    def refused(self) -> dict[Place, SpaceError]:
        """Give the places whose letters, which nobody waited for, were not taken, and why; each is told once."""
        found = {}
        for place, letters in [one for one in self._under_way.items() if one[1].done()]:
            del self._under_way[place]
            try:
                letters.result()
            except SpaceError as error:
                found[place] = error
        return found

    def _keep_one(self, place: Place, appends: list[Append]) -> SpaceError | None:
        try:
            self._append(place, appends)
        except SpaceError as error:
            return error
        return None

    def _append(self, place: Place, appends: list[Append]) -> None:
        space = self._space
        at = next((number for number, one in enumerate(appends) if one.expected is not None), None)
        if self._pool is None or at is None:
            _note(place, appends, space.append_all(appends))
            return
        under_way = self._under_way.pop(place, None)
        if under_way is not None:
            # What the last record led to is said before the next one is written: who takes the place over counts on it.
            under_way.result()
        # Letters only when it is sure that the place is still this agent's, but for those that do not rest on it.
        if at:
            space.append_all(appends[:at])
        journal = appends[at]
        place.journal.kept(space.append(journal.log, journal.data, expected=journal.expected))
        if appends[at + 1 :]:
            self._under_way[place] = self._letters.submit(space.append_all, appends[at + 1 :])

    def close(self) -> None:
        """End its threads."""
        if self._pool is not None:
            self._pool.shutdown(wait=False)
        self._letters.shutdown(wait=False)


def _note(place: Place, appends: list[Append], positions: list[int]) -> None:
    for one, position in zip(appends, positions, strict=True):
        if one.expected is not None:
            place.journal.kept(position)


__all__ = ["Keeper"]
