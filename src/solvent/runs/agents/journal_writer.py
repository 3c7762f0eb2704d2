"""Keeps what shards have noted and said, several of them at once.

A shard's journal first, and its messages only when the store has taken that: so nothing is said by a shard that another
agent has taken over. Where the store does all or nothing, all shards' appends are one; if one is refused, one shard
after the other tells whose it is. Elsewhere the journals of all shards go out together, then the messages of those that
were taken; nobody waits for messages before there is something else to note.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.errors import StoreError
from solvent.runs.messages import packed
from solvent.store import Append

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from solvent.runs.execution import Execution
    from solvent.store import Store
    from solvent.store.interface import Promise


class JournalWriter:
    """Appends for shards; for one thread. An error that is about the store itself, as `is_away` tells, is raised."""

    def __init__(self, store: Store, is_away: Callable[[StoreError], bool]) -> None:
        self._store = store
        self._is_away = is_away
        #: Messages of shards that nobody has waited for yet.
        self._said: list[tuple[Execution, list[Append]]] = []
        self._under_way: Promise | None = None

    def keep(self, shards: Iterable[Execution]) -> dict[Execution, Exception]:
        """Append what shards have noted and said; give those whose appends were refused, or cannot be, and why."""
        refused: dict[Execution, Exception] = {}
        found: list[tuple[Execution, list[Append]]] = []
        for shard in shards:
            try:
                appends = shard.appends()
            except Exception as error:  # noqa: BLE001 - it is no other shard's business
                refused[shard] = error
            else:
                if appends:
                    found.append((shard, appends))
        return {**refused, **self._keep(found)} if found else refused

    def _keep(self, found: list[tuple[Execution, list[Append]]]) -> dict[Execution, StoreError]:
        if not self._store.is_atomic:
            return self._keep_apart(found)
        if len(found) > 1:
            try:
                self._keep_together(found)
            except StoreError as error:
                self._check(error)
            else:
                return {}
        refused: dict[Execution, StoreError] = {}
        for one in found:
            try:
                self._keep_together([one])
            except StoreError as error:
                refused[one[0]] = self._check(error)
        return refused

    def refused(self, *, is_patient: bool = False) -> dict[Execution, StoreError]:
        """Give the shards whose messages were not taken, and why, if that is known by now; each is told once."""
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
        # Messages are numbered: one that is there already is taken once.
        refused: dict[Execution, StoreError] = {}
        for shard, messages in said:
            try:
                self._store.append_all(self._packed(messages))
            except StoreError as error:
                refused[shard] = self._check(error)
        return refused

    def _keep_together(self, found: list[tuple[Execution, list[Append]]]) -> None:
        journals = [(shard, one) for shard, appends in found for one in appends if one.expected is not None]
        messages = [one for _, appends in found for one in appends if one.expected is None]
        positions = self._store.append_all([*(journal for _, journal in journals), *self._packed(messages)])
        for (shard, _), position in zip(journals, positions, strict=False):
            shard.journal.kept(position)

    def _keep_apart(self, found: list[tuple[Execution, list[Append]]]) -> dict[Execution, StoreError]:
        # What the last records led to is said before the next are written: who takes a shard over counts on it.
        refused = self.refused(is_patient=True)
        journals: list[tuple[Execution, Append, list[Append]]] = []
        for shard, appends in found:
            if shard in refused:
                continue
            at = next((number for number, one in enumerate(appends) if one.expected is not None), None)
            if at is None:
                self._said.append((shard, appends))
                continue
            try:
                # Messages only when it is sure that the shard is still here, but for those that do not rest on that.
                if at:
                    self._store.append_all(self._packed(appends[:at]))
            except StoreError as error:
                refused[shard] = self._check(error)
            else:
                journals.append((shard, appends[at], appends[at + 1 :]))
        for (shard, _, messages), position in zip(
            journals, self._store.append_each([journal for _, journal, _ in journals]), strict=True
        ):
            if isinstance(position, StoreError):
                refused[shard] = self._check(position)
                continue
            shard.journal.kept(position)
            if messages:
                self._said.append((shard, messages))
        if self._said:
            said = [one for _, messages in self._said for one in messages]
            self._under_way = self._store.append_soon(self._packed(said))
        return refused

    def _check(self, error: StoreError) -> StoreError:
        if self._is_away(error):
            raise error
        return error

    def _packed(self, messages: list[Append]) -> list[Append]:
        """Make one record of messages that are for the same log, or few."""
        logs: dict[str, list[bytes]] = {}
        for one in messages:
            logs.setdefault(one.log, []).append(one.data)
        max_bytes = self._store.max_record_bytes // 2
        return [Append(log, data) for log, envelopes in logs.items() for data in packed(envelopes, max_bytes)]


__all__ = ["JournalWriter"]
