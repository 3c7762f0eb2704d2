"""An agent: takes shards of runs, lets them react, makes their calls, and keeps what they do in the store.

All agents are alike. Each looks which runs there are and which shards nobody has, or somebody who is presumed dead, and
takes its share of them. One thread does all of it; calls are made by others, and a second one waits for the store. A
turn: take what has come (answers, messages), let the shards react that it concerns, append what they noted and said, in
this order, and only then make their calls. An append that the store refuses means that another agent has the shard.
"""

from __future__ import annotations

import math
import secrets
import threading
import time
from contextlib import suppress
from functools import partial
from queue import Empty
from typing import TYPE_CHECKING, Any, Self

from solvent.errors import AgentProblem, Conflict, RecordProblem, StoreError
from solvent.hocl.process_settings import deep_stack, few_collections
from solvent.runs.agents.hosted_run import HostedRun, number_of
from solvent.runs.agents.journal_writer import JournalWriter
from solvent.runs.agents.log import Teller
from solvent.runs.agents.offers import Offers
from solvent.runs.agents.placement import Shares, about_this
from solvent.runs.agents.refusals import Refusals
from solvent.runs.agents.remote_calls import GuestEnded
from solvent.runs.agents.shards import is_away, refuse_format
from solvent.runs.agents.store_outage import Troubles
from solvent.runs.agents.termination import IDLE_SECONDS, Endings
from solvent.runs.call_queue import UNKNOWN_SECONDS
from solvent.runs.holders import damaged_lease
from solvent.runs.messages import dealt
from solvent.runs.registry import (
    FINISHED,
    MESSAGES,
    OVER,
    SUBMITTED,
    announced,
    announced_record,
    calls_of,
    end_update,
    messages_of,
    prefix_from,
    run_at,
)
from solvent.runs.turns import Turns
from solvent.services.admission import CallLimits
from solvent.services.prints import noting_prints
from solvent.store.leases import HEARTBEATS_PER_TTL, Heartbeat

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.runs.agents.log import Observe, Told
    from solvent.runs.calls import Again, Answer
    from solvent.runs.execution import Execution
    from solvent.runs.turns import Touched
    from solvent.services.admission import Limit
    from solvent.store import Record, Store, Watch
    from solvent.store.heartbeat import HeartbeatProcess

TTL = 5.0
PATIENCE_SECONDS = 0.5
"""How long a turn waits for something to come."""
WATCH_SECONDS = 0.5
MAX_READ = 1000
_CHANGED = object()
_OF_AGENTS = frozenset((SUBMITTED, OVER, FINISHED))


class Agent:
    """One agent; `run` is its whole life."""

    def __init__(
        self,
        store: Store,
        name: str,
        offers: Offers,
        *,
        ttl: float = TTL,
        jobs: int | None = None,
        tell: Callable[[Told], None] = lambda _: None,
        observe: Observe = lambda *_: None,
        heartbeat: HeartbeatProcess | None = None,
    ) -> None:
        """`tell` hears what happens to shards and runs; `observe` gives who hears of the calls of a run.

        `heartbeat` beats for the agent, whatever its services do; without one a thread does.
        """
        self.name = name
        self.runs: dict[str, HostedRun] = {}
        self._store = store
        self._offers = offers
        self._ttl = ttl
        #: So that limits of services hold for all runs together.
        self._limits = CallLimits()
        #: Of this process: an agent that is started again by the same name is another one to whom asked it for calls.
        self._token = secrets.token_hex(8)
        self._tell = Teller(tell)
        self._endings = Endings(store, self._tell)
        self._refusals = Refusals(store, name, self._tell)
        self._troubles = Troubles(store, name, ttl, self._tell)
        self._observe = observe
        self.turns = 0
        self._heartbeat = Heartbeat(store, name, ttl=ttl, about=about_this(offers, self._token), process=heartbeat)
        self._shares = Shares(store, name, ttl)
        self._writer = JournalWriter(store, is_away)
        self._turns = Turns(self)
        self._host_run = partial(
            HostedRun, store, name, jobs=jobs, may_begin=self._may_act, limits=self._limits,
            token=self._token, heartbeats=self._shares.heartbeats, put=self._turns.came.put,
        )  # fmt: skip
        self._came = self._turns.came
        #: How much has come that is not taken yet, roughly; for any thread.
        self.waiting = self._came.qsize
        #: Whether the store may have changed since it was read.
        self._is_changed = False
        #: Not an event of `threading`: a signal that comes while one is being set would wait for itself for ever.
        self._is_over = False
        #: Where the logs of submitted and of finished runs, and of messages, were read up to.
        self._read_up_to = 0
        self._looks_at = 0.0
        #: Leases that do not read, of which was told.
        self._damaged: dict[str, dict[int, StoreError]] = {}
        #: How often this agent may have been presumed dead when it last saw which shards it still has.
        self._lapses = 0

    def stop(self) -> None:
        """Let it be over soon; from any thread, and from the handler of a signal, amid another one too."""
        self._is_over = True
        self._came.put(_CHANGED)

    def run(self, *, until_idle: bool = False) -> None:
        """Work until it is stopped; or until every run that was submitted is over."""
        # For as long as it lives: to change it back and forth makes Python look for garbage every time.
        with deep_stack(), few_collections(), noting_prints(), self._heartbeat, self._store.watch([MESSAGES]) as watch:
            tell = partial(self._came.put, _CHANGED)
            with Watcher(self.name, watch, tell) as self._watcher:
                try:
                    while not self._is_over and not (until_idle and self._is_idle()):
                        self._turn()
                    for hosted in list(self.runs.values()):
                        self._leave(hosted)
                finally:
                    # After an error nobody knows how much of what a shard has done is in its journal: what would be
                    # written next may rest on what is not. So nothing is, as if this agent had been killed.
                    for hosted in self.runs.values():
                        hosted.close()
                    self._limits.close()

    def _is_idle(self) -> bool:
        return self._read_up_to > 0 and not self.runs

    # --- A turn.

    def _turn(self) -> None:
        self.turns += 1
        touched: Touched = {}
        try:
            self._watcher.listen()
            self._turns.take(min(self._patience(), max(0.0, self._looks_at - time.monotonic())), touched)
            if self._heartbeat.lapses != self._lapses:
                self._look_after_lapse()
            now, looks_at = time.monotonic(), self._looks_at
            if self._is_changed or now >= self._looks_at:
                self._is_changed = False
                self._read(touched)
            if now >= self._looks_at:
                self._look(touched)
                self._looks_at = time.monotonic() + self._ttl / HEARTBEATS_PER_TTL
            self._end_waits(touched)
            self._take_lost(touched)
            self._do(touched)
            self._say()
            if now >= looks_at:
                self._leave_surplus()
            self._look_after_messages()
            if self._endings.idle:
                self._endings.tell_idle(self.runs)
            if not self._heartbeat.is_fresh():
                self._troubles.find()
        except StoreError as error:
            # Nobody hears of this agent: it must not act, and begins anew when the store is there again. Calls go on.
            pause = self._troubles.came(error)
            for hosted in list(self.runs.values()):
                hosted.set_adrift()
            self._endings.idle.clear()
            self._refusals.forget()
            self._read_up_to = 0
            self._rest(pause)
        else:
            self._troubles.passed()

    def _seconds_to_next_wait(self) -> float:
        """Return in how many seconds the next wait ends at a shard that is here."""
        dues = (shard.due for hosted in self.runs.values() for shard in hosted.here.values())
        return max(0.0, min((due for due in dues if due is not None), default=math.inf) - time.time())

    def _end_waits(self, touched: Touched) -> None:
        """End the waits whose time is over, unless another agent may have their shard."""
        if not self._may_act():
            return
        for hosted in self.runs.values():
            for shard in list(hosted.here.values()):
                if shard.is_due and not hosted.is_over:
                    self._turns.attempt(shard, shard.end_waits, touched)

    def _patience(self) -> float:
        """Say how many seconds a turn may wait for something to come."""
        patience = min(IDLE_SECONDS if self._endings.idle else PATIENCE_SECONDS, self._seconds_to_next_wait())
        for hosted in self.runs.values():
            patience = min(patience, hosted.remote.offers_in)
            if hosted.calls is not None and hosted.calls.is_undecided:
                patience = min(patience, UNKNOWN_SECONDS)
        return patience

    def _take_lost(self, touched: Touched) -> None:
        """Let calls wait again that other agents were to make."""
        for hosted in self.runs.values():
            for call, why in hosted.remote.lost():
                shard = call.execution
                if hosted.here.get(number_of(shard)) is shard:
                    self._turns.attempt(shard, partial(shard.lose, call, why), touched)

    def _say(self) -> None:
        """Say to other agents what calls they are asked for, what has come of theirs, and whether there is room."""
        may_act = self._may_act()
        for hosted in self.runs.values():
            if may_act and not hosted.is_over and hosted.remote.offers_in <= 0:
                with self._refusals.of(hosted.run):
                    hosted.offer_room()
            hosted.remote.flush(may_ask=may_act)

    def _rest(self, seconds: float) -> None:
        """Wait a moment; answers that come meanwhile are kept for when the store is there again."""
        end = time.monotonic() + seconds
        while not self._is_over and (left := end - time.monotonic()) > 0:
            with suppress(Empty):
                one = self._came.get(timeout=left)
                if one is not _CHANGED:
                    self.receive(one, {})
        self._looks_at = 0.0

    def _may_act(self) -> bool:
        """Whether nobody can have presumed this agent dead since it last saw which shards it has; for any thread.

        Calls are begun only then: one that was stopped must not begin those that another agent makes by now.
        """
        return self._heartbeat.is_fresh() and self._heartbeat.lapses == self._lapses

    def _look_after_lapse(self) -> None:
        """See which shards are still here, since others may have presumed this agent dead."""
        lapses = self._heartbeat.lapses
        for hosted in self.runs.values():
            for shard in hosted.lost():
                hosted.drop(shard)
                self._tell.lost(hosted.run, number_of(shard))
            limits: set[Limit] = set()
            self._guarded(hosted, lambda: limits.update(hosted.remote.after_lapse()))  # noqa: B023 - done at once
            for shard in [one for one in hosted.here.values() if one.calls.has_begun(limits)]:
                # Another agent calls these by now: what is out here is made again.
                hosted.drop(shard)
                self._tell.lost(hosted.run, number_of(shard))
        self._lapses = lapses

    def receive(self, item: Any, touched: Touched) -> None:
        """Take an answer; or hear that the store may have changed."""
        if item is _CHANGED:
            self._is_changed = True
        elif isinstance(item, GuestEnded):
            item.guest.owner.end(item)
        elif item is not None:
            self._take_answer(item, touched)

    def has_enough(self) -> bool:
        """Return false: all that has come is kept together."""
        return False

    def _take_answer(self, answer: Answer | Again, touched: Touched) -> None:
        """Let a shard take an answer; if it is adrift this waits until the store is there again."""
        shard = answer.call.execution
        number, hosted = number_of(shard), self._hosted(shard)
        if hosted is not None and hosted.here.get(number) is shard:
            self._turns.attempt(shard, partial(shard.take, answer), touched)
        elif hosted is not None and (adrift := hosted.adrift.get(number)) is not None and adrift.has(answer.call):
            adrift.came(answer)
        elif hosted is not None:
            hosted.remote.take(answer)

    def _hosted(self, shard: Execution) -> HostedRun | None:
        assert shard.mailbox is not None
        return self.runs.get(shard.mailbox.run)

    def _at(self, shard: Execution) -> HostedRun:
        assert shard.mailbox is not None
        return self.runs[shard.mailbox.run]

    def _read(self, touched: Touched) -> None:
        """Read what is new: runs that were submitted, or are over, and messages to shards that are here."""
        logs = {messages_of(hosted.prefix): hosted for hosted in self.runs.values()}
        calls = {calls_of(hosted.prefix): hosted for hosted in self.runs.values()}
        # Messages of runs that were over before this agent began are none of its business.
        scope = MESSAGES if self._read_up_to else [SUBMITTED, OVER, FINISHED]
        while True:
            found = self._store.read(scope, self._read_up_to, MAX_READ)
            self._hear_of_runs([one for one in found if one.log in _OF_AGENTS])
            self._hear_of_calls([one for one in found if one.log in calls], calls)
            messages: dict[tuple[str, int], list[Record]] = {}
            for record in found:
                if record.log in logs:
                    for number, message in dealt(record, logs[record.log].here):
                        messages.setdefault((record.log, number), []).append(message)
            for (log, number), records in messages.items():
                hosted = logs[log]
                shard = hosted.here.get(number)
                # Of a run that is over it is told how it ended: a signal that comes now is too late.
                if shard is not None and not hosted.is_over:
                    self._turns.attempt(shard, partial(shard.hear, records), touched)
            if found:
                self._read_up_to = found[-1].position
            if len(found) < MAX_READ:
                return

    def _hear_of_calls(self, found: list[Record], logs: dict[str, HostedRun]) -> None:
        """Hear of calls that other agents make for shards here, or want to have made here."""
        by_log: dict[str, list[Record]] = {}
        for one in found:
            by_log.setdefault(one.log, []).append(one)
        for log, records in by_log.items():
            self._guarded(logs[log], partial(logs[log].remote.hear, records))

    def _guarded(self, hosted: HostedRun, do: Callable[[], None]) -> None:
        """Do something about a run, which ends where its record is damaged."""
        try:
            do()
        except RecordProblem as error:
            self._endings.end_as_failed(hosted.prefix, error.message)

    def _hear_of_runs(self, found: list[Record]) -> None:
        """Hear of runs that were submitted, and of runs that are over."""
        fresh = [announced(one.data) for one in found if one.log == SUBMITTED]
        over = {prefix_from(one.data) for one in found if one.log == OVER}
        ended = self._endings.known
        ended.update(prefix_from(one.data) for one in found if one.log == FINISHED)
        here = {hosted.prefix: hosted for hosted in self.runs.values()}
        for prefix, blob in fresh:
            if prefix and prefix not in ended:
                if prefix not in here:
                    self._open(prefix, blob)
                self._looks_at = 0.0
        for prefix in over & here.keys() - ended:
            self._endings.end(here[prefix])
        for prefix in here.keys() & ended:
            self._end(here[prefix])

    def _end(self, hosted: HostedRun) -> None:
        """Have nothing to do any more with a version of a run that is over."""
        hosted.close()
        if self.runs.get(hosted.run) is hosted:
            del self.runs[hosted.run]
        self._refusals.forget(hosted.run)
        self._tell.over(hosted.run)

    def _open(self, prefix: str, blob: str) -> None:
        run = run_at(prefix)
        with self._refusals.of(run):
            record = announced_record(self._store, prefix, blob)
            if record is None or record.has_ended or not record.by_agents:
                return
            refuse_format(record)
            hosted = self._host_run(record, self._offers, observer=self._observe(record))
            before = self.runs.get(run)
            self.runs[run] = hosted
            if before is not None:
                hosted.inherit(before)
                self._end(before)
            self._refuse(hosted, is_continued=before is not None)
            if hosted.missing:
                self._tell.missing(run, hosted.missing)

    def _refuse(self, hosted: HostedRun, *, is_continued: bool) -> None:
        """Raise `AgentProblem` for a run that cannot be run here; calls of an earlier version go on all the same."""
        try:
            self._offers.refuse(hosted.submitted)
        except AgentProblem:
            hosted.refuse_all()
            if not is_continued:
                del self.runs[hosted.run]
            raise

    def _do(self, touched: Touched) -> None:
        """Let shards react, keep what they noted and said, and make their calls."""
        for shard in self._turns.do(touched):
            if shard.is_idle and shard.is_fresh:
                # Where something may still come, it may come in a moment.
                since = -math.inf if shard.is_done else time.monotonic()
                self._endings.idle[shard] = since, self._at(shard)

    def here(self, touched: Touched) -> Touched:
        """Return the shards that are still this agent's, and whose runs are not over."""
        return dict.fromkeys(filter(self._is_here, touched))

    def _is_here(self, shard: Execution) -> bool:
        hosted = self._hosted(shard)
        if hosted is None or hosted.prefix in self._endings.known:
            return False
        return hosted.here.get(number_of(shard)) is shard

    def admit(self, _: Touched) -> list[Execution]:
        """Note as many calls as can run; those of other shards, too, than something has come for."""
        if not self._may_act():
            return []
        return [one for hosted in self.runs.values() for one in hosted.admit()]

    def keep(self, touched: Touched) -> None:
        """Append the journals of shards, and their messages behind them; who is refused has lost the shard."""
        for shard, error in self._writer.keep(touched).items():
            if isinstance(error, Conflict):
                hosted = self._at(shard)
                hosted.drop(shard)
                self._tell.lost(hosted.run, number_of(shard))
            else:
                self.fail(shard, error)

    def go(self) -> None:
        """Count time for the calls that are made now."""
        for hosted in self.runs.values():
            if hosted.calls is not None:
                hosted.calls.go()

    def fail(self, shard: Execution, error: Exception) -> None:
        """End a run at whose shard something cannot be, and not this agent, which has others."""
        self._endings.fail(self._at(shard), shard, error)

    def _look_after_messages(self) -> None:
        """See whether messages were refused that nobody waits for: a shard with nothing more to note never would."""
        for shard, error in self._writer.refused().items():
            hosted = self._hosted(shard)
            if hosted is not None and hosted.here.get(number_of(shard)) is shard:
                self.fail(shard, error)

    # --- Taking and leaving shards.

    def _look(self, touched: Touched) -> None:
        """Take this agent's share of the shards that nobody has."""
        self._shares.look(self.runs)
        self._tell_damaged()
        for hosted in list(self.runs.values()):
            with self._refusals.of(hosted.run):
                self._look_at(hosted, touched)

    def _tell_damaged(self) -> None:
        """Tell, once, of shards that nobody can take."""
        damaged = self._shares.damaged
        for run, found in damaged.items():
            for number in found.keys() - self._damaged.get(run, {}).keys():
                problem = damaged_lease(run, number, found[number])
                self._tell.damaged(run, number, f"{problem.message}; {problem.hint}")
        self._damaged = damaged

    def _look_at(self, hosted: HostedRun, touched: Touched) -> None:
        if self._endings.is_ended(hosted):
            return
        if hosted.next:
            self._open(hosted.next, "")
            self._looks_at = 0.0
            return
        self._guarded(hosted, hosted.remote.look)
        if self._is_held_still(hosted):
            hosted.hold_still()
            return
        for number in list(hosted.adrift):
            if self._take(hosted, number, touched):
                self._shares.took(hosted, number)
            else:
                hosted.end_adrift(number)
        for number in self._shares.wanted(hosted):
            if self._take(hosted, number, touched):
                self._shares.took(hosted, number)
        hosted.forget_messages()
        why = self._refusals.hopeless(hosted, self._shares.heartbeats.alive())
        if why and self._may_act():
            self._endings.end_as_failed(hosted.prefix, why)

    def _is_held_still(self, hosted: HostedRun) -> bool:
        """Return whether somebody is about to update a run; one who has died is not."""
        updater = hosted.updater
        is_dead = updater and self._shares.heartbeats.is_presumed_dead(updater)
        # If the run was changed meanwhile, it is looked at first: that one may have been quicker.
        if is_dead and end_update(self._store, hosted.run, updater) is not None:
            hosted.updater = ""
        return bool(hosted.updater)

    def _leave_surplus(self) -> None:
        """Leave shards to others that have come, when all is kept that has happened there."""
        for hosted in self.runs.values():
            for number in self._shares.surplus(hosted):
                hosted.release(number)

    def _take(self, hosted: HostedRun, number: int, touched: Touched) -> bool:
        shard: Execution | None = None
        with self._refusals.of(hosted.run, number, refuse=hosted.refuse):
            shard = hosted.take(number, self._shares.heartbeats, self._came)
        if shard is None:
            return False
        self._tell.taken(hosted.run, number, hosted.taken_from(number))
        touched[shard] = None
        if hosted.is_over:
            self._endings.end(hosted)
        return True

    def _keep_answers(self) -> None:
        """Keep what has come: a call that has ended is not to be made again by who gets its shard."""
        touched: Touched = {}
        while not self._came.empty():
            one = self._came.get()
            if one is not _CHANGED:
                self.receive(one, touched)
            if self._came.empty():
                # Further ones may come meanwhile.
                self._turns.settle(touched)
                self.keep(self.here(touched))
                touched = {}

    def _leave(self, hosted: HostedRun) -> None:
        """Leave all shards of a run to others."""
        try:
            for number in list(hosted.here):
                self._keep_answers()
                hosted.release(number)
            hosted.remote.leave()
        except StoreError:
            pass
        hosted.close()
        self.runs.pop(hosted.run, None)


class Watcher:
    """Waits for changes, and tells of one at a time: the next is looked for when the agent listens again.

    What changes during a turn is read after it in any case. To look for it meanwhile, every millisecond, would take
    time from the turn.
    """

    def __init__(self, name: str, watch: Watch, tell: Callable[[], None]) -> None:
        self._watch = watch
        self._tell = tell
        self._is_over = threading.Event()
        self._listens = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"watch of {name}", daemon=True)

    def listen(self) -> None:
        """Let the next change be told."""
        self._listens.set()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._listens.set()
        self._thread.join(2 * WATCH_SECONDS)

    def _run(self) -> None:
        while not self._is_over.is_set():
            try:
                if self._watch.wait(WATCH_SECONDS):
                    self._listens.clear()
                    self._tell()
                    self._listens.wait(WATCH_SECONDS)
            except StoreError:
                # The agent's next turn finds out what it is.
                self._is_over.wait(WATCH_SECONDS)


__all__ = ["TTL", "Agent", "Offers", "Watcher"]
