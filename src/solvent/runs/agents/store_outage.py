"""What keeps agents from their work: a store that does not answer, has no room, or is of no use any more.

An agent says so once, waits, longer each time, and says when it is over. What waiting does not mend ends the agent with
that error: whoever supervises it starts it again, and it opens the store anew. Who only watches a run finds out as well
(`Doubts`): by what agents say in the store, if there is room for that, or by having none itself.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from solvent.errors import StoreError
from solvent.runs.agents.membership import Lacking, agent_from, lacking, takes_runs
from solvent.store.leases import Heartbeats

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from solvent.runs.agents.log import Teller
    from solvent.store import Store

TROUBLES = "troubles/"
NO_ROOM = "E403"
PAUSE_FIRST, MAX_PAUSE = 0.5, 5.0
LOOK_SECONDS = 2.0
REMEMBERED_SECONDS = 3 * MAX_PAUSE
_WATCHER = f"{TROUBLES}watcher"
_MAX_TTLS = 2
"""For how many times its lease an agent waits though waiting does not seem to help."""


class Troubles:
    """What an agent has had trouble with; for one thread."""

    def __init__(self, store: Store, agent: str, ttl: float, tell: Teller) -> None:
        self._store = store
        self._key = TROUBLES + agent
        self._ttl = ttl
        self._tell = tell
        #: The code of what was told last, since when it is so, and until when it was waited for.
        self._code = ""
        self._since = self._last = 0.0
        self._pause = PAUSE_FIRST

    def came(self, error: StoreError) -> float:
        """Give for how long to wait; raise the error where that has not helped for long."""
        now = time.monotonic()
        if error.code != self._code:
            self._code, self._since, self._pause = error.code, now, PAUSE_FIRST
            if error.code == NO_ROOM:
                self._tell.full(error.message)
            else:
                self._tell.away(error.message)
        if error.is_lasting and now - self._since >= _MAX_TTLS * self._ttl:
            raise error
        if error.code == NO_ROOM:
            with suppress(StoreError):
                self._store.put(self._key, error.message.encode())
        pause, self._pause = self._pause, min(MAX_PAUSE, 2 * self._pause)
        self._last = time.monotonic() + pause
        return pause

    def find(self) -> None:
        """Find out why nobody hears of this agent, which has nothing else to write: is there room?"""
        if time.monotonic() < self._last:
            return
        try:
            self._store.put(self._key, b"")
        except StoreError as error:
            self.came(error)

    def passed(self) -> None:
        """Hear that nothing was wrong; it is over when that is so for a while."""
        if not self._code or time.monotonic() - self._last < max(self._ttl, PAUSE_FIRST):
            return
        if self._code == NO_ROOM:
            try:
                # Little may have been written since; and what was said is not so any more.
                self._store.delete(self._key)
            except StoreError as error:
                self.came(error)
                return
        self._code, self._pause = "", PAUSE_FIRST
        self._tell.back()


def room_problem(store: Store, agents: Collection[str] = (), *, is_tried: bool = True) -> str:
    """Say that there is no room: these agents say so, or it is found by writing; nothing, where there is."""
    said = store.keys(TROUBLES)
    for agent in agents:
        if (entry := said.get(TROUBLES + agent)) is not None and entry.value:
            return entry.value.decode(errors="replace")
    try:
        if is_tried:
            store.put(_WATCHER, b"")
    except StoreError as error:
        return error.message if error.code == NO_ROOM else ""
    return ""


class Doubts:
    """Looks, for who only watches a run, who is there and whether there is room; by a thread: it may have to wait."""

    def __init__(
        self, store: Store, needs: Sequence[Mapping[str, str]] = (), *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`needs`: the services of each shard of the run."""
        self._store = store
        self._needs = needs
        #: What those who are there do not offer of it.
        self.lacking = Lacking()
        self._heartbeats = Heartbeats(store, ttl=2 * LOOK_SECONDS, clock=clock)
        #: Whether no agent's heartbeat moves.
        self.is_nobody_there = False
        self._revisions: dict[str, int] | None = None
        self._problem = ""
        self._problem_at = self._looked_at = 0.0
        self._thread: threading.Thread | None = None

    def look(self) -> str:
        """Give what is known to be wrong."""
        now = time.monotonic()
        is_looking = self._thread is not None and self._thread.is_alive()
        if not is_looking and now - self._looked_at >= LOOK_SECONDS:
            self._looked_at = now
            self._thread = threading.Thread(target=self._look, name="doubts", daemon=True)
            self._thread.start()
        return self._problem

    def _look(self) -> None:
        try:
            self._heartbeats.look()
            alive = {name: one for name, one in self._heartbeats.alive().items() if takes_runs(one.value)}
            self.is_nobody_there = not alive
            self.lacking = lacking(
                self._needs, [agent_from(name, entry.value, is_alive=True) for name, entry in alive.items()]
            )
            before = self._revisions
            self._revisions = {key: entry.revision for key, entry in self._store.keys(TROUBLES).items()}
            # Who says so again and again is alive.
            agents = (
                key.removeprefix(TROUBLES)
                for key, revision in self._revisions.items()
                if before is not None and key != _WATCHER and before.get(key) != revision
            )
            found = room_problem(self._store, [*agents])
        except StoreError:
            # It is found out by who watches the run, too.
            return
        now = time.monotonic()
        if found:
            self._problem, self._problem_at = found, now
        elif now - self._problem_at > REMEMBERED_SECONDS or not self._revisions.keys() - {_WATCHER}:
            self._problem = ""


__all__ = ["TROUBLES", "Doubts", "Troubles", "room_problem"]
