"""An agent as a process of its own, for tests: `python -m tests.live.agents_member URL NAME TTL [VARIANT]`.

With `submit` as its name it is a launcher instead: it submits the workflow of a file, says so, and watches the run.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from solvent.errors import Conflict, RecordProblem, SolventError
from solvent.runs.agents import Agent, submit, termination
from solvent.runs.agents.offers import Offers
from solvent.runs.events import ResourceChanged
from solvent.runs.execution import Execution
from solvent.runs.journal import StoredJournal
from solvent.runs.registry import FINISHED, existing
from solvent.store import open_store
from solvent.store.heartbeat import split_off
from solvent.workflows.formats.files import load_text
from tests.live.agents_services import SERVICES

if TYPE_CHECKING:
    from collections.abc import Callable

JOBS = 4
DEATHS = 0.06


class Dying(Agent):
    """As it should be, but dies at the worst of moments: when a record is in a journal, and its letters are not sent.

    For this the store is taken for one that does not do all or nothing, as servers are.
    """

    def __init__(self, store: Any, *arguments: Any, **options: Any) -> None:
        append = store.append

        def dying(log: str, data: bytes, *, expected: int | None = None) -> int:
            position: int = append(log, data, expected=expected)
            if expected is not None and random.random() < DEATHS:
                signal.raise_signal(signal.SIGKILL)
            return position

        store.append, store.is_atomic = dying, False
        super().__init__(store, *arguments, **options)


class Halfway(Agent):
    """As it should be, but dies at the worst of moments: a call has changed a resource, and no journal has that."""

    def keep(self, touched: Any) -> None:
        """Die instead, every second time."""
        noted = (one for shard in touched for one in shard.journal._pending)
        if any(isinstance(one, ResourceChanged) for one in noted) and random.random() < 0.5:
            signal.raise_signal(signal.SIGKILL)
        super().keep(touched)


class Forgetful(Dying):
    """Broken: who takes a place over says nothing of what the last record led to, which may not have been said."""

    def _take(self, case: Any, number: int, touched: Any) -> bool:
        is_taken = super()._take(case, number, touched)
        place = case.here.get(number)
        if is_taken and place.report.calls:
            place._again = []
        return is_taken


class Deaf(Agent):
    """Broken: ignores that another agent has its place, and goes on."""

    def _look_after_lapse(self) -> None:
        self._lapses = self._heartbeat.lapses

    def keep(self, touched: Any) -> None:
        """Append also where the store refuses it."""
        for place in touched:
            for one in place.appends():
                try:
                    position = self._store.append(one.log, one.data, expected=one.expected)
                except Conflict:
                    position = self._store.append(one.log, one.data)
                if one.expected is not None:
                    place.journal.kept(position)


class Hasty(Agent):
    """Broken: makes calls before the journal says so."""

    def keep(self, touched: Any) -> None:
        """Make the calls first."""
        for shard in touched:
            shard.begin_calls()
        time.sleep(0.1)
        super().keep(touched)


class Heedless(Agent):
    """Broken: begins calls though it may have been presumed dead."""

    def _may_act(self) -> bool:
        return True


class Unopened(Agent):
    """As it should be, but is stopped once at the worst of moments: it has a lease, and has not opened the journal."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        _halt_before(StoredJournal, "open", lambda journal: not journal.is_read_only)


class Unbegun(Agent):
    """As it should be, but is stopped once when calls are in the journal, and not begun."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        _halt_before(Execution, "begin_calls", lambda shard: bool(shard.calls.ready))


class Unable(Agent):
    """Cannot read journals, as one of another version; that is no reason to end runs of others."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)

        def unable(journal: StoredJournal, *_: Any, **__: Any) -> None:
            raise RecordProblem("R403", f"record 1 of `{journal.log}` does not read")

        setattr(StoredJournal, "open", unable)  # noqa: B010 - a method is replaced


class Undone(Agent):
    """As it should be, but dies when it is about to write how a run ended, which it has noted."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        setattr(termination, "end", lambda *_: signal.raise_signal(signal.SIGKILL))  # noqa: B010 - a function is replaced


class Unsaid(Agent):
    """As it should be, but dies when it has written how a run ended, and not said so."""

    def __init__(self, store: Any, *arguments: Any, **options: Any) -> None:
        append = store.append

        def dying(log: str, data: bytes, *, expected: int | None = None) -> int:
            if log == FINISHED:
                signal.raise_signal(signal.SIGKILL)
            position: int = append(log, data, expected=expected)
            return position

        store.append = dying
        super().__init__(store, *arguments, **options)


def _halt_before(kind: type, method: str, is_time: Callable[[Any], bool]) -> None:
    """Stop this process before a method is called for the first time when it matters; others let it go on."""
    do = getattr(kind, method)

    def halted(self: Any, *arguments: Any, **options: Any) -> Any:
        if is_time(self):
            setattr(kind, method, do)
            os.kill(os.getpid(), signal.SIGSTOP)
        return do(self, *arguments, **options)

    setattr(kind, method, halted)


VARIANTS = {
    "": Agent, "poor": Agent, "lacking": Agent, "heedless": Heedless, "deaf": Deaf, "hasty": Hasty, "dying": Dying,
    "forgetful": Forgetful, "unopened": Unopened, "unbegun": Unbegun, "unable": Unable, "undone": Undone,
    "unsaid": Unsaid, "halfway": Halfway,
}  # fmt: skip


def agent(url: str, name: str, ttl: float, variant: str = "") -> None:
    """Be an agent until told to stop; `poor:X` has the service X only, `lacking:X` all but that."""
    heartbeat = split_off(url, **_options(url))
    variant, _, known = variant.partition(":")
    is_whole, is_poor = variant not in {"poor", "lacking"}, variant == "poor"
    services = [one for one in SERVICES if is_whole or (one.name == known) == is_poor]
    offers = Offers({one.name: one for one in services}, predicates=["tests.live.agents_services:is_odd"])
    store = _opened(url)
    tell = lambda text: print(f"{time.monotonic():.3f} {text}", flush=True)  # noqa: E731
    one = VARIANTS[variant](store, name, offers, ttl=ttl, jobs=JOBS, tell=tell, heartbeat=heartbeat)
    signal.signal(signal.SIGTERM, lambda *_: one.stop())
    try:
        one.run()
    finally:
        for thread in threading.enumerate():
            if not thread.daemon and thread is not threading.main_thread():
                print("left over:", thread.name, flush=True)
        store.close()


def launcher(url: str, run: str, path: str) -> None:
    """Submit a workflow, and watch it."""
    with _opened(url) as store:
        submit(store, run, load_text(Path(path).read_text(), name="workflow.json").workflow, None)
        print("submitted", flush=True)
        while not existing(store, run).has_ended:
            time.sleep(0.05)


def _options(url: str) -> dict[str, Any]:
    return {"patience": 3.0} if url.startswith("nats") else {}


def _opened(url: str) -> Any:
    until = time.monotonic() + 200
    while True:
        try:
            return open_store(url, **_options(url))
        except SolventError as error:
            # Somebody starts it again, as whoever keeps services running does.
            print(error.message, flush=True)
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


if __name__ == "__main__":
    if sys.argv[2] == "submit":
        launcher(sys.argv[1], sys.argv[3], sys.argv[4])
    else:
        agent(sys.argv[1], sys.argv[2], float(sys.argv[3]), *sys.argv[4:])
