"""Runs a workflow in shards in one thread, in an order that a seed decides: which answer or message comes next.

Journals and messages are in a store, as agents keep them. Now and then a shard is lost with what it has out, and opened
again from its journal.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from solvent.lang.solution import Solution
from solvent.runs import messages
from solvent.runs.calls import OpenCall
from solvent.runs.closed_shards import merged
from solvent.runs.execution import Execution
from solvent.runs.functions import FUNCTIONS
from solvent.runs.journal import StoredJournal
from solvent.runs.messages import Mailbox, dealt, packed
from solvent.runs.registry import journal_of, messages_of, new_record
from solvent.services import Failure
from solvent.services.failure import cause_of
from solvent.store import Append
from solvent.workflows.shards import finest
from solvent.workflows.translate import Concretiser, task_symbol
from tests.patterns.catalogue import function_of_service

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from solvent.runs.report import Report
    from solvent.services import Handle
    from solvent.store import Record, Store
    from solvent.workflows.model import Service, Workflow

MAX_STEPS = 20_000


class _Pending:
    """A call that is out; cancelling answers it at once."""

    def __init__(self, answer: Callable[..., None], done: Callable[..., None]) -> None:
        self._answer = answer
        self._done: Callable[..., None] | None = done

    def cancel(self) -> None:
        if self._done is not None:
            done, self._done = self._done, None
            done(None, Failure("CANCELLED", "it was cancelled"), 1)

    def finish(self) -> None:
        if self._done is not None:
            done, self._done = self._done, None
            self._answer(done)


class _Opened:
    """The call of a sub-workflow, as its execution sees it."""

    seen = None

    def __init__(self, call: OpenCall, done: Callable[..., None]) -> None:
        self.over = False
        self._call = call
        self._done: Callable[..., None] | None = done
        call.began(self)  # type: ignore[arg-type]

    def cancel(self) -> None:
        self.over = True
        self._call.stopped(self)  # type: ignore[arg-type]
        self.settle(None, Failure("CANCELLED", "it was cancelled"))

    def settle(self, value: Any, failure: Failure | None) -> None:
        if self._done is not None:
            done, self._done = self._done, None
            done(value, failure, 1)


class _Services:
    """Where the calls of one shard wait until it is their turn, also those of its sub-workflows."""

    def __init__(self, functions: Mapping[str, Callable[..., Any]], out: list[_Pending] | None = None) -> None:
        self.out: list[_Pending] = [] if out is None else out
        self._functions = functions

    def within(self, services: Iterable[Service], **_: Any) -> _Services:
        functions = {one.name: function_of_service(one) for one in services if one.kind != "workflow"}
        return _Services(functions, self.out)

    def needs_worker(self, _service: Service) -> bool:
        return True

    def start(
        self, service: str, _task: str, values: list[Any], keywords: dict[str, Any], done: Callable[..., None], **_: Any
    ) -> Handle:
        if values and isinstance(values[0], OpenCall):
            return _Opened(values[0], done)

        def answer(done: Callable[..., None]) -> None:
            try:
                value = self._functions[service](*values, **keywords)
            except Exception as error:  # noqa: BLE001 - a service may raise anything, which fails its task
                done(None, Failure("FAILED", cause_of(error)), 1)
            else:
                done(value, None, 1)

        pending = _Pending(answer, done)
        self.out.append(pending)
        return pending


class _Answers(deque[Any]):
    put = deque.append


class Shards:
    """A run in shards, divided as finely as can be."""

    def __init__(  # noqa: PLR0917 - all that a run is given
        self,
        store: Store,
        run: str,
        workflow: Workflow,
        inputs: Mapping[str, Any],
        functions: Mapping[str, Callable[..., Any]],
        folder: Path,
    ) -> None:
        self.workflow = workflow
        self.parts = finest(workflow)
        self.record = new_record(store, run, workflow, inputs, by_agents=True, shards=len(self.parts))
        self._store, self._run, self._folder = store, run, folder
        self._functions = functions
        self._where = {task_symbol(name): number for number, names in enumerate(self.parts) for name in names}
        self._concretiser = Concretiser(workflow, inputs, functions=FUNCTIONS, folder=folder)
        self._position = 0
        numbers = range(len(self.parts))
        #: The messages to each shard that it has heard, and those that it has not.
        self._heard: list[list[Record]] = [[] for _ in numbers]
        self._coming: list[list[Record]] = [[] for _ in numbers]
        self._services = [_Services(functions) for _ in numbers]
        self._answers = [_Answers() for _ in numbers]
        self.shards = [self._opened(number) for number in numbers]
        for number in numbers:
            self._keep(number)

    def _opened(self, number: int) -> Execution:
        """Open a shard, or open it again from its journal."""
        self._services[number] = _Services(self._functions)
        self._answers[number] = _Answers()
        journal = StoredJournal(self._store, journal_of(self._run, number), f"agent {number}")
        journal.open()
        only = None if len(self.parts) == 1 else frozenset(self.parts[number])
        shard = Execution(
            self._concretiser.concrete(only),
            answers=self._answers[number],
            journal=journal,
            mailbox=Mailbox(self._store, self._run, number, self._where),
            folder=self._folder,
            is_shared=True,
        )
        shard.start(self._services[number], self._heard[number])
        return shard

    def _keep(self, number: int) -> None:
        """Do what a host does after something has happened at a shard."""
        shard = self.shards[number]
        shard.settle()
        shard.admit_all()
        found = shard.appends()
        journals = [one for one in found if one.expected is not None]
        sent = [one.data for one in found if one.expected is None]
        log = messages_of(self._run)
        records = [Append(log, data) for data in packed(sent, self._store.max_record_bytes)]
        positions = self._store.append_all([*journals, *records])
        for position in positions[: len(journals)]:
            shard.journal.kept(position)
        shard.begin_calls()
        for record in self._store.read(log, self._position) if records else ():
            self._position = record.position
            for to, message in dealt(record, range(len(self.parts))):
                self._coming[to].append(message)

    def run(self, chance: random.Random, *, restarts: int = 0) -> Report:
        """Let all of it happen in a random order, and return the report."""
        for _ in range(MAX_STEPS):
            if restarts and chance.random() < 0.05:
                restarts -= 1
                number = chance.randrange(len(self.shards))
                if not self.shards[number].report.ended_by:
                    self.shards[number] = self._opened(number)
                    self._keep(number)
            steps = self._steps()
            if not steps:
                return self._report()
            what, number = chance.choice(steps)
            if what == "answer" and self._services[number].out:
                out = self._services[number].out
                out.pop(chance.randrange(len(out))).finish()
            elif what == "hear":
                messages = self._next_messages(number, chance)
                self._heard[number] += messages
                self.shards[number].hear(messages)
            answers = self._answers[number]
            while answers:
                self.shards[number].take(answers.popleft())
            self._keep(number)
        raise AssertionError("it does not end")

    def _next_messages(self, number: int, chance: random.Random) -> list[Record]:
        coming, many = self._coming[number], chance.randint(1, 3)
        self._coming[number] = coming[many:]
        return coming[:many]

    def _steps(self) -> list[tuple[str, int]]:
        """Return what can happen next."""
        found = []
        for number, shard in enumerate(self.shards):
            if shard.report.ended_by:
                continue
            if self._answers[number] or self._services[number].out:
                found.append(("answer", number))
            if self._coming[number]:
                found.append(("hear", number))
        return found

    @property
    def solution(self) -> Solution:
        """All molecules of all shards."""
        return Solution(one for shard in self.shards for one in shard.solution)

    def _report(self) -> Report:
        exits = [new for one in self.workflow.alternatives for new in one.exits.values()]
        wanted = {*self.workflow.outcomes, *exits}
        parts = zip(self.shards, self.parts, strict=True)
        closed = [shard.closed(self._store, names, wanted) for shard, names in parts]
        return merged(self._store, self.record, self.workflow, closed)


class UnorderedShards(Shards):
    """A broken variant: messages of different senders overtake each other, so an effect may come before its cause."""

    def _next_messages(self, number: int, chance: random.Random) -> list[Record]:
        coming = self._coming[number]
        sender = messages.read(chance.choice(coming).data).sender
        first = next(one for one in coming if messages.read(one.data).sender == sender)
        coming.remove(first)
        last = self._heard[number][-1].position if self._heard[number] else 0
        return [first._replace(position=last + 1)]


__all__ = ["Shards", "UnorderedShards"]
