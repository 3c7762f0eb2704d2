"""Runs a workflow in this process: its molecules react here, its services are called in threads or processes.

An `EmbeddedRun` owns `Turns` (see `turns`) with one execution. It adds what an agent does not need: limits, Ctrl-C,
signals that come at a given time, updates, and the report. In a recorded run a commit takes longer than the reactions
of a task, so each turn notes all answers that have come since the last one. Only calls that can run soon are noted and
made (see `call_queue`). The journal has nothing of the others, so a process that resumes the run knows that they never
began.

One thread at a time takes a turn, but not always the same thread. A worker thread whose call has ended takes the next
turn itself, and often makes the call that follows. Waking another thread for each would take longer than both: a chain
of 10,000 tasks that do nothing took four times as long (`bench.workflow`). The thread that called `run` takes turns
when answers come from elsewhere (processes, coroutines, timers) or faster than one worker can take them; it also checks
limits and signals. All turns run in the context (`contextvars`) of that thread.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager, nullcontext
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from solvent.engine.reaction import Stopped
from solvent.errors import Interrupted, LimitReached, ReactionFailed, StoreError
from solvent.hocl.process_settings import deep_stack, few_collections
from solvent.runs.adrift import Adrift
from solvent.runs.call_queue import CallQueue
from solvent.runs.calls import Answer
from solvent.runs.execution import Execution
from solvent.runs.functions import FUNCTIONS, bound
from solvent.runs.journal import MemoryJournal
from solvent.runs.kinds import MAKERS
from solvent.runs.report import DeadlinePassed, cancelled_states, deadline_text, stopped_states
from solvent.runs.resources import lender_of, while_lending
from solvent.runs.turns import Turns
from solvent.services import Caller
from solvent.services.prints import noting_prints
from solvent.services.threads import is_before
from solvent.workflows.formats.python.import_guard import refuse_run_while_importing
from solvent.workflows.translate import concretise, foreign

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from concurrent.futures import Executor
    from pathlib import Path

    from solvent.engine.reaction import Reaction
    from solvent.lang.solution import Solution
    from solvent.runs.calls import Again
    from solvent.runs.journal import Journal
    from solvent.runs.recorded_run import Following
    from solvent.runs.report import Report, TaskEvent
    from solvent.runs.signals import Signal
    from solvent.runs.turns import Touched
    from solvent.services import Processes
    from solvent.services.observer import CallObserver
    from solvent.workflows.model import Workflow

LOOK_EVERY = 0.1
_MAX_NAMED = 5


class Updates(Protocol):
    """Who knows whether the run is updated: a `RecordedRun`."""

    @property
    def is_asked(self) -> bool:
        """Whether to hold still."""

    def hold_still(self, should_stop: Callable[[], bool], /) -> Following | None:
        """Wait until it is decided; return the version that follows, if one does."""


class EmbeddedRun:
    """One run of a workflow in this process; recorded, if it has a journal."""

    def __init__(
        self,
        workflow: Workflow,
        inputs: Mapping[str, Any] | None = None,
        *,
        journal: Journal | None = None,
        jobs: int | None = None,
        processes: bool | Processes = False,
        executor: Executor | None = None,
        folder: Path | None = None,
        solution: Solution | None = None,
        signals: Sequence[Signal] = (),
        max_seconds: float | None = None,
        deadline: float | None = None,
        ends_at: float = 0.0,
        watch: Callable[[TaskEvent], None] | None = None,
        observe: Callable[[Reaction], None] | None = None,
        should_stop: Callable[[], bool] | None = None,
        observer: CallObserver | None = None,
        inbox: Callable[[], list[tuple[str, Any, str]]] | None = None,
        updates: Updates | None = None,
    ) -> None:
        """`solution` is a concrete workflow that was not translated here.

        `inbox` returns the signals that other processes have sent since its last call: name, value and id. Without it
        no signals can be sent, and a run that waits for people is stuck. `deadline` is how many seconds it may take, if
        not as its workflow says; `ends_at` is when that is over, in seconds since 1970, if it was begun before.
        """
        if solution is None:
            concrete = concretise(workflow, inputs, functions=FUNCTIONS, folder=folder)
        else:
            concrete = foreign(workflow, solution)
        self._turns = Turns(self)
        self._execution = partial(Execution, answers=self, watch=watch, observe=observe, should_stop=self._must_stop)
        self.execution = self._execution(
            concrete, journal=MemoryJournal() if journal is None else journal, signals=signals, folder=folder
        )
        self._updates = updates
        self._observer = observer
        self._lender = lender_of(workflow, inputs, folder)
        callers = partial(Caller, jobs=jobs, processes=processes, executor=executor, folder=folder, observer=observer)
        self._caller = partial(callers, workflow.services, makers=MAKERS, lender=self._lender)
        self._signals = inbox
        self._inbox = inbox if workflow.may_hear else None
        self._heard_at = 0.0
        self._should_stop = should_stop
        self._max_seconds = max_seconds
        self._deadline = deadline or workflow.deadline or 0.0
        self._ends_at = ends_at or (time.time() + self._deadline if self._deadline else 0.0)
        self._is_late = False
        self._began = 0.0
        self._is_interrupted = False
        self._is_becoming = False
        self._queue: CallQueue | None = None
        self._made: Caller | None = None
        # Whose turn it is; changed and read by the thread that has it.
        self._turn = threading.Lock()
        self._is_over = False
        # What ended a turn of a worker thread, and with it the run.
        self._error: BaseException | None = None
        self._context = copy_context()
        self._has_jobs: Callable[[], int] = int
        # One object: a worker thread is asked whether it calls it.
        self._after = self._go_on_after_call

    @property
    def solution(self) -> Solution:
        """Its molecules."""
        return self.execution.solution

    @property
    def report(self) -> Report:
        """How it stands."""
        return self.execution.report

    def run(self) -> Report:
        """Run until nothing more can happen, and report; what stopped it before is the report's `error`."""
        refuse_run_while_importing()
        self._began = time.perf_counter()
        self._context = copy_context()
        execution, report = self.execution, self.report
        was_out = set[str]()
        noting = noting_prints() if execution.journal.is_kept else nullcontext()
        with few_collections(), noting:
            with while_lending(self._lender, report), self._calling() as caller, bound(execution), deep_stack():
                try:
                    execution.start(caller)
                    self._go_on()
                except Stopped:
                    report.error, was_out = self._stopped(), self._running()
                except ReactionFailed as error:
                    report.error = error
                finally:
                    caller.prepare_close()
                    self._is_over = True
                    with self._turn:
                        self._bring_back()
            execution = self.execution
            execution.report.error = report.error
            report = execution.finish()
            if isinstance(report.error, LimitReached):
                report.states = stopped_states(report.states, was_out)
            elif self._is_late:
                report.states = cancelled_states(report)
            return report

    @contextmanager
    def _calling(self) -> Iterator[Caller]:
        with self._caller(after=self._after) as caller:
            self._has_jobs, self._made = caller.threads.count_waiting, caller
            self._open_queue(caller)
            yield caller

    def _open_queue(self, caller: Caller) -> None:
        """Let calls wait until there is room, where they are recorded, or have molecules of their own."""
        execution = self.execution
        is_queued = execution.journal.is_kept or any(one.kind == "workflow" for one in execution.workflow.services)
        if is_queued and caller.executor is None:
            self._queue = execution.calls.room = CallQueue(caller)

    def _go_on(self) -> None:
        """Take turns until the run is over; others may take some."""
        came = self._turns.came
        with self._turn:
            self._do()
        while not self._is_over:
            if self._must_stop():
                self._stop()
            if self._updates is not None and self._updates.is_asked:
                self._hold_still(self._updates)
                continue
            seconds = LOOK_EVERY
            # Another thread has its turn: should that last, limits are looked at meanwhile.
            if self._turn.acquire(timeout=LOOK_EVERY):
                try:
                    seconds = self._take_turn()
                finally:
                    self._turn.release()
            if seconds and not self._is_over:
                came.wait(seconds)
        if self._error is not None:
            raise self._error

    def _hold_still(self, updates: Updates) -> None:
        """Do nothing until it is decided whether the run is updated, and then what follows; calls go on meanwhile."""
        with self._turn:
            if self._is_over or not self._catch_up():
                return
            following = updates.hold_still(self._must_stop)
            if following is not None:
                # It stops when it has its calls, and keeps what has come of them.
                self._is_becoming = True
                self._become(following)
                self._do()
                self._is_becoming = False

    def _catch_up(self) -> bool:
        """Keep all that was noted, and make the calls that were; return whether the run goes on."""
        self._do()
        return not self._is_over

    def _become(self, following: Following) -> None:
        """Go on as another version of the run, with the calls that are out, as far as they are wanted."""
        workflow, inputs, folder, signals, journal, epoch, deadline, self._ends_at, is_code_new = following
        before, caller = self.execution, self._made
        assert caller is not None
        adrift = Adrift(before, epoch)
        before.calls.forget_unmade()
        concrete = concretise(workflow, inputs, functions=FUNCTIONS, folder=folder)
        self.execution = execution = self._execution(concrete, journal=journal, signals=signals, folder=folder)
        self._inbox = self._signals if workflow.may_hear else None
        self._deadline = deadline or workflow.deadline or 0.0
        if is_code_new:
            caller.renew_processes()
        caller.turn_to(workflow.services, folder=folder, makers=MAKERS, observer=self._observer)
        self._open_queue(caller)
        execution.start(caller, adrift=adrift)
        adrift.end()

    def _stop(self) -> None:
        """Raise `Stopped`, unless the run was over by then."""
        with self._turn:
            if self._is_over:
                return
            self._is_over = True
        raise Stopped

    def _take_turn(self) -> float:
        """Do what has to be done by now; return how many seconds there may be nothing, if nothing comes."""
        execution, seconds = self.execution, LOOK_EVERY
        if self._is_over:
            return 0
        if time.perf_counter() - self._heard_at >= LOOK_EVERY and self._hear():
            self._do()
            return 0
        if execution.is_due:
            execution.end_waits()
            self._do()
            return 0
        if (ends := execution.due) is not None:
            seconds = min(seconds, max(0.0, ends - time.time()))
        due = execution.signals.next_at()
        if due is not None:
            left = due - execution.seconds
            if left <= 0:
                execution.signal(*execution.signals.pop())
                self._do()
                return 0
            seconds = min(left, seconds)
        # Calls that wait for room may have it by now.
        if self._turns.take(0, {}) or execution.calls.waiting:
            self._do()
        return seconds if self._turns.came.empty() else 0

    def _do(self) -> None:
        """Do what follows from what was taken."""
        execution = self.execution
        self._turns.do({execution: None})
        while not self._may_go_on() and self._hear():
            self._turns.do({execution: None})
        self._is_over = not self._may_go_on()

    def _may_go_on(self) -> bool:
        """Return whether something can still happen: an answer or a signal may come."""
        execution = self.execution
        if execution.report.ended_by:
            return False
        is_waiting = execution.calls.out or (self._inbox and execution.waits) or execution.due is not None
        return bool(is_waiting) or execution.is_signal_coming

    def _hear(self) -> bool:
        """Take the signals that others have sent; return whether there were any."""
        execution = self.execution
        if self._inbox is None or execution.report.ended_by:
            return False
        self._heard_at = time.perf_counter()
        try:
            signals = self._inbox()
        except StoreError as error:
            if error.is_lasting:
                raise
            # A run may wait for days, and its store be away for a moment.
            return False
        for name, value, number in signals:
            execution.signal(name, value, number)
        return bool(signals)

    def put(self, answer: Answer | Again) -> None:
        """Take the answer of a call, from any thread."""
        if is_before(self._after):
            self._turns.came.leave(answer)
        else:
            self._turns.came.put(answer)

    def _go_on_after_call(self) -> None:
        """Take turns in a worker thread whose call has ended, unless another thread has its turn: that one goes on."""
        came, turn = self._turns.came, self._turn
        while not came.empty() and turn.acquire(blocking=False):
            try:
                if self._is_over:
                    return
                self._context.run(self._take_answers)
            except BaseException as error:  # noqa: BLE001 - the thread that called `run` raises it
                self._error, self._is_over = error, True
            finally:
                turn.release()
            if self._is_over or self._has_jobs():
                # The end is noticed by the thread that waits for it; and this one has a call to make.
                came.wake()
                return

    def _take_answers(self) -> None:
        if self._turns.take(0, {}):
            self._do()

    # --- What its turns ask.

    def receive(self, item: Answer | Again, _: Touched) -> None:
        """Take the answer of a call."""
        answers = [item]
        # Nobody else has it while it is taken: its value may be all that memory holds.
        del item
        # Others are of an earlier version of the run.
        if answers[0].call.execution is self.execution:
            self.execution.take(answers.pop())

    def has_enough(self) -> bool:
        """Return whether calls are to begin before further answers are taken: unless a commit is due before."""
        execution = self.execution
        return bool(execution.report.ended_by) or (execution.calls.has_plans and not execution.journal.is_kept)

    def here(self, touched: Touched) -> Touched:
        """Return all: the only execution stays until the end."""
        return touched

    def admit(self, _: Touched) -> Iterable[Execution]:
        """Admit the calls that there is room for; all, where nothing is kept of them."""
        if self._queue is not None:
            return self._queue.admit()
        self.execution.admit_all()
        return ()

    def keep(self, _: Touched) -> None:
        """Keep what was noted."""
        self.execution.journal.commit()

    def go(self) -> None:
        """Count time for the calls that are made now."""
        if self._queue is not None:
            self._queue.go()

    def fail(self, _: Execution, error: Exception) -> NoReturn:
        """End the run."""
        raise error

    # --- Its end.

    def _must_stop(self) -> bool:
        if self._is_becoming:
            return False
        if self._should_stop is not None and self._should_stop():
            self._is_interrupted = True
            return True
        if self._ends_at and time.time() >= self._ends_at:
            self._is_late = True
            return True
        return self._max_seconds is not None and time.perf_counter() - self._began > self._max_seconds

    def _running(self) -> set[str]:
        """Return the tasks that have calls out; a delay goes on while nobody has the run."""
        calls = self.execution.calls
        return {call.task for call in calls.out if call.key not in calls.waiting and not call.is_delay}

    def _named_calls(self) -> list[str]:
        """Return the names of the tasks that have calls out, also in sub-workflows."""
        calls = self.execution.calls
        return sorted({one.label for one in calls.out if one.nested is None and one.key not in calls.waiting})

    def _stopped(self) -> LimitReached | DeadlinePassed:
        execution, report = self.execution, self.report
        if self._is_late:
            opened = self._named_calls() or sorted(task for task, _ in execution.waits)
            return DeadlinePassed(deadline_text(self._deadline, opened))
        if self._is_interrupted:
            return Interrupted("H504", "interrupted before the workflow was done")
        limit = f"time limit of {self._max_seconds:g} s reached"
        hint = "allow more: --max-seconds"
        running = self._named_calls()
        if not running:
            return LimitReached("H502", f"{limit} before the workflow was done", hint=hint)
        named = ", ".join(f"`{name}`" for name in running[:_MAX_NAMED])
        more = f" and {len(running) - _MAX_NAMED} more" if len(running) > _MAX_NAMED else ""
        most = max(running, key=lambda name: report.calls.get(name, 0))
        task = execution.workflow.by_name.get(most)
        if report.calls.get(most, 0) > 1 and (task is None or task.each is None):
            hint += f"; `{most}` was called {report.calls[most]:,} times: check the condition that ends its loop"
        return LimitReached("H502", f"{limit} while {named}{more} ran", hint=hint)

    def _bring_back(self) -> None:
        """Keep the answers that have come and were not taken any more; end the calls that are out."""
        problem: StoreError | None = None
        execution = self.execution
        while not self._turns.came.empty():
            came = self._turns.came.get()
            if not isinstance(came, Answer) or (came.failure is not None and came.failure.kind == "CANCELLED"):
                continue
            if came.call not in execution.calls.out:
                continue
            try:
                execution.calls.note(came)
            except StoreError as error:
                # There may be no room for this one, and for others, and for what was noted already.
                problem = error
        try:
            execution.journal.commit()
        finally:
            execution.abandon()
        if problem is not None:
            raise problem


def run_workflow(workflow: Workflow, inputs: Mapping[str, Any] | None = None, **options: Any) -> Report:
    """Run a workflow in this process; see `EmbeddedRun` for the options."""
    with few_collections():
        run = EmbeddedRun(workflow, inputs, **options)
        report = run.run()
        run.execution.dissolve()
    return report


__all__ = ["EmbeddedRun", "run_workflow"]
