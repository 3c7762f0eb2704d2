"""What agents cannot do though they have the services: open a shard, or read a run at all.

It may be a fault of one agent (another version, no memory) or of what is in the store, which nobody can read. No agent
can tell which by itself. So each says that it cannot, and why (`runs/RUN/refusal/AGENT`), and leaves the shard to
others. When nobody who is alive and has the services is left to try, the run has failed. `solvent status` tells what
is hindered, and by what.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from solvent.errors import AgentProblem, StoreError, problem_of
from solvent.runs.agents.offers import mark_of
from solvent.runs.agents.shards import MOVED, is_away
from solvent.runs.registry import FORMAT, MAX_TEXT, key_of
from solvent.services.failure import legible
from solvent.store.leases import heartbeat_from_value
from solvent.values.encoding import encode_msgpack
from solvent.values.limits import UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from solvent.runs.agents.hosted_run import HostedRun
    from solvent.runs.agents.log import Teller
    from solvent.store import Entry, Store
    from solvent.workflows.model import Service

ALL = -1
"""Stands for all shards of a run."""


class Refusals:
    """What one agent cannot do; for one thread."""

    def __init__(self, store: Store, agent: str, tell: Teller) -> None:
        self._store = store
        self._agent = agent
        self._tell = tell
        self._own: dict[str, dict[int, str]] = {}

    @contextmanager
    def of(self, run: str, shard: int = ALL, *, refuse: Callable[[int], None] = lambda _: None) -> Iterator[None]:
        """Let something be tried that is one run's business: what goes wrong is said, and ends neither it nor others.

        `refuse` hears of a shard that cannot be opened here, unless it is another agent's.
        """
        try:
            yield
        except AgentProblem as error:
            self.say(run, ALL, error)
        except Exception as error:  # noqa: BLE001 - whatever one run leads to, there are others
            if problem_of(error).code != MOVED:
                self.say(run, shard, error)
                refuse(shard)

    def say(self, run: str, shard: int, error: Exception) -> None:
        """Say that a shard of a run cannot be opened here, and why, once; what is about the store is raised again."""
        problem = problem_of(error)
        if is_away(problem):
            raise error
        own = self._own.setdefault(run, {})
        if shard in own:
            return
        own[shard] = legible(problem.message[:MAX_TEXT])
        what = run if shard == ALL else f"shard {shard} of {run}"
        self._tell.refused(run, f"{what} cannot be run here: {problem.message}")
        self._store.put(_key(run) + self._agent, encode_msgpack(own))

    def hopeless(self, hosted: HostedRun, alive: Mapping[str, Entry]) -> str:
        """Say why a run cannot go on: nobody who is alive is left to try what this agent could not; else nothing."""
        own = self._own.get(hosted.run)
        if own is None or own.keys() <= {ALL}:
            return ""
        said = refused(self._store, hosted.run)
        able = {name: _about(entry) for name, entry in alive.items() if name != self._agent}
        for shard, why in own.items():
            others = (one for name, one in able.items() if said.get(name, {}).keys().isdisjoint({shard, ALL}))
            if shard != ALL and not any(_offers(one, hosted.services_of(shard)) for one in others):
                return why
        return ""

    def forget(self, run: str | None = None) -> None:
        """Know nothing of a run, or of all of them: it is over, or this agent begins anew."""
        if run is None:
            self._own.clear()
        else:
            self._own.pop(run, None)


def refused(store: Store, run: str) -> dict[str, dict[int, str]]:
    """Give what agents say they cannot do, and why, by shard."""
    below = _key(run)
    return {key.removeprefix(below): dict(_read(entry)) for key, entry in store.keys(below).items()}


def _key(run: str) -> str:
    return key_of(run, "refusal") + "/"


def _read(entry: Entry) -> Iterator[tuple[int, str]]:
    try:
        yield from msgspec.msgpack.decode(entry.value, type=dict[int, str]).items()
    except UNREADABLE:
        # What does not read was not said by an agent.
        return


def _about(entry: Entry) -> dict[str, Any]:
    try:
        return heartbeat_from_value(entry.value)
    except StoreError:
        return {}


def _offers(about: Mapping[str, Any], services: Iterable[Service]) -> bool:
    """Whether an agent, by what it says of itself, has services, and can have a part in runs of this format."""
    own = about.get("services")
    return about.get("format") == FORMAT and (
        about.get("trusts_all") is True
        or (isinstance(own, dict) and all(own.get(one.name) == mark_of(one) for one in services))
    )


__all__ = ["ALL", "Refusals", "refused"]
