"""Keeps what places have noted and said, several of them at once.

A place's journal first, and its letters only when the store has taken that: so nothing is said by a place that another
agent has taken over. Where the store does all or nothing, all places' appends are one; if one is refused, one place
after the other tells whose it is. Elsewhere the journals of all places go out together, then the letters of those that
were taken; nobody waits for letters before there is something else to note.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.errors import StoreError
from solvent.runs.agents.words import packed
from solvent.store import Append

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from solvent.runs.agents.place import Place
    from solvent.store import Store
    from solvent.store.interface import Promise


class Keeper:
    """Appends for places; for one thread. An error that is about the store itself, as `is_away` tells, is raised."""

    def __init__(self, store: Store, is_away: Callable[[StoreError], bool]) -> None:
        self._store = store
        self._is_away = is_away
        #: Letters of places that nobody has waited for yet.
        self._said: list[tuple[Place, list[Append]]] = []
        self._under_way: Promise | None = None

    def keep(self, places: Iterable[Place]) -> dict[Place, Exception]:
        """Append what places have noted and said; give those whose appends were refused, or cannot be, and why."""
        refused: dict[Place, Exception] = {}
        found: list[tuple[Place, list[Append]]] = []
        for place in places:
            try:
                appends = place.appends()
            except Exception as error:  # noqa: BLE001 - it is no other place's business
                refused[place] = error
            else:
                if appends:
                    found.append((place, appends))
        return {**refused, **self._keep(found)} if found else refused

    def _keep(self, found: list[tuple[Place, list[Append]]]) -> dict[Place, StoreError]:
        if not self._store.is_atomic:
            return self._keep_apart(found)
        if len(found) > 1:
            try:
                self._keep_together(found)
            except StoreError as error:
                self._check(error)
            else:
                return {}
        refused: dict[Place, StoreError] = {}
        for one in found:
            try:
                self._keep_together([one])
            except StoreError as error:
                refused[one[0]] = self._check(error)
        return refused

    def refused(self, *, is_patient: bool = False) -> dict[Place, StoreError]:
        """Give the places whose letters were not taken, and why, if that is known by now; each is told once."""
        under_way, said = self._under_way, self._said
        if under_way is None or not (is_patient or under_way.done()):
            return {}
        self._under_way, self._said = None, []
        try:
            under_way.result()
        except StoreError as error:
            self._check(error)
        else:
            return {}
        # Letters are numbered: one that is there already is taken once.
        refused: dict[Place, StoreError] = {}
        for place, letters in said:
            try:
                self._store.append_all(letters)
            except StoreError as error:
                refused[place] = self._check(error)
        return refused

    def _keep_together(self, found: list[tuple[Place, list[Append]]]) -> None:
        journals = [(place, one) for place, appends in found for one in appends if one.expected is not None]
        letters = [one for _, appends in found for one in appends if one.expected is None]
        positions = self._store.append_all([*(journal for _, journal in journals), *self._packed(letters)])
        for (place, _), position in zip(journals, positions, strict=False):
            place.journal.kept(position)

    def _keep_apart(self, found: list[tuple[Place, list[Append]]]) -> dict[Place, StoreError]:
        # What the last records led to is said before the next are written: who takes a place over counts on it.
        refused = self.refused(is_patient=True)
        journals: list[tuple[Place, Append, list[Append]]] = []
        for place, appends in found:
            if place in refused:
                continue
            at = next((number for number, one in enumerate(appends) if one.expected is not None), None)
            if at is None:
                self._said.append((place, appends))
                continue
            try:
                # Letters only when it is sure that the place is still here, but for those that do not rest on that.
                if at:
                    self._store.append_all(appends[:at])
            except StoreError as error:
                refused[place] = self._check(error)
            else:
                journals.append((place, appends[at], appends[at + 1 :]))
        for (place, _, letters), position in zip(
            journals, self._store.append_each([journal for _, journal, _ in journals]), strict=True
        ):
            if isinstance(position, StoreError):
                refused[place] = self._check(position)
                continue
            place.journal.kept(position)
            if letters:
                self._said.append((place, letters))
        if self._said:
            said = [one for _, letters in self._said for one in letters]
            self._under_way = self._store.append_soon(self._packed(said))
        return refused

    def _check(self, error: StoreError) -> StoreError:
        if self._is_away(error):
            raise error
        return error

    def _packed(self, letters: list[Append]) -> list[Append]:
        """Make one record of letters that are for the same log, or few."""
        logs: dict[str, list[bytes]] = {}
        for one in letters:
            logs.setdefault(one.log, []).append(one.data)
        max_bytes = self._store.max_record_bytes // 2
        return [Append(log, data) for log, envelopes in logs.items() for data in packed(envelopes, max_bytes)]


__all__ = ["Keeper"]
