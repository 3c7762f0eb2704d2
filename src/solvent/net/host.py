"""Runs one machine for real: takes events from an inbox, one at a time, and carries out the effects.

Everything a machine is to see goes through one inbox, so steps never interleave. A turn works off what is there, then
lets the loop look at its sockets again. Inside a turn

- `Save` is noted in the journal; `Send` and `Report` wait behind it, in order. At the end of the turn the journal is
  written once, and only then what waits is done. So a burst of steps costs one write, and nothing is said that could
  be forgotten.
- `Ask` does all that at once, since the answer may depend on what was reported, and may have effects of its own. An
  answer that is there at once is the machine's next event. A question that comes when the turn is over waits in the
  inbox, so that a machine that asks again and again, of somebody who thinks long, still hears others. An awaitable
  is waited for; meanwhile the machine goes on with other events, and the answer joins the inbox when it comes, after
  the answers to earlier questions.
- `Choose` is answered by chance, as the next event. Timers run on the loop's clock; one that is cancelled or set
  anew never fires late, even if it has run out already.

Whatever goes wrong in a machine or in the application stops the node: `wait` raises it. What a peer does wrong is
dropped and told (`PeerFault`).
"""

from __future__ import annotations

import asyncio
import inspect
import random
from collections import deque
from typing import TYPE_CHECKING, Any, Generic, Protocol, assert_never

from solvent.errors import Misuse
from solvent.protocols.machine import (
    Answered,
    Ask,
    CancelTimer,
    Choose,
    Chosen,
    Effects,
    Event,
    Machine,
    NodeId,
    Received,
    Report,
    Requested,
    Save,
    Send,
    SetTimer,
    State,
    TimerFired,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from solvent.net.journal import Keeps
    from solvent.net.transport import Counters, PeerFault, Transport

MAX_STEPS_PER_TURN = 512
"""Enough that a turn's fixed cost does not count, few enough that peers do not wait long for what it says."""
MAX_TURN_SECONDS = 0.002
"""A turn ends after this time too, for the same reason."""
MAX_INBOX = 65_536
"""Events that may wait; beyond, the transport is asked to receive no more until half of them are done."""


class Application(Protocol):
    """Whoever a machine serves."""

    def answer(self, question: Any) -> Any:
        """Answer what the machine asks, at once or by an awaitable."""

    def told(self, outcome: Any) -> None:
        """Hear what the machine reports, and of peers' faults."""


class Silent:
    """An application that has no answers and does not listen."""

    def answer(self, question: Any) -> Any:
        """Refuse."""
        raise Misuse("P320", f"nobody here can answer `{type(question).__name__}`")

    def told(self, outcome: Any) -> None:
        """Hear nothing."""


class Host(Generic[State]):
    """One machine, its inbox, its timers, its journal and its way to other nodes."""

    def __init__(
        self,
        machine: Machine[State],
        transport: Transport,
        *,
        application: Application | None = None,
        journal: Keeps | None = None,
        check: Callable[[State], None] | None = None,
    ) -> None:
        self._machine = machine
        self._transport = transport
        self._application = application or Silent()
        self._journal = journal
        self._check = check
        self._state: State | None = None
        self._inbox = deque[Event | Ask]()
        self._next = deque[Event]()
        self._behind = list[Send | Report]()
        self._timers = dict[str, asyncio.TimerHandle]()
        self._due = dict[str, TimerFired]()
        self._asked = deque[asyncio.Future[Any]]()
        self._chance = random.SystemRandom()
        self._turn_ends_at = float("inf")
        self._is_turn_set = False
        self._is_running = False
        self._is_paused = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended: asyncio.Future[None] | None = None

    # ------------------------------------------------------------------------------------ for the application

    @property
    def state(self) -> State:
        """The machine's state, to be looked at."""
        if self._state is None:
            raise Misuse("P321", "the node has not been started")
        return self._state

    @property
    def counters(self) -> Counters:
        """What the node has done so far."""
        return self._transport.counters

    @property
    def waiting_count(self) -> int:
        """Events that have not been looked at yet."""
        return len(self._inbox) + len(self._next)

    async def start(self, before: Callable[[], Awaitable[None]] | None = None) -> None:
        """Read the journal, open the transport, do what is to be done before, start the machine."""
        self._loop = asyncio.get_running_loop()
        self._ended = self._loop.create_future()
        journal = self._journal
        if journal is not None and not journal.is_open:
            journal.open()
        try:
            await self._transport.open(self._on_messages, self._on_fault)
            if before is not None:
                await before()
            self._is_running = True
            saved, life = (journal.saved, journal.life) if journal is not None else ((), 0)
            self._state, effects = self._machine.start(saved, life)
            self._carry_out(effects)
            self._flush()
        except BaseException:
            await self.stop()
            raise
        self._set_turn()

    def request(self, request: Any) -> None:
        """Tell the machine that something is wanted."""
        self._put(Requested(request))

    async def wait(self) -> None:
        """Wait until the node is stopped; raise what stopped it, if it was a fault."""
        if self._ended is None:
            raise Misuse("P321", "the node has not been started")
        await asyncio.shield(self._ended)

    async def run(self) -> None:
        """Start the node, wait until it is stopped, and leave nothing behind."""
        await self.start()
        try:
            await self.wait()
        finally:
            await self.stop()

    async def stop(self) -> None:
        """End the node. What was saved is safe and what was said is on its way; nothing else happens."""
        self._end(None)
        for asked in self._asked:
            asked.cancel()
        if self._journal is not None:
            self._journal.close()
        await self._transport.close()

    # ------------------------------------------------------------------------------------------------- turns

    def _put(self, event: Event) -> None:
        self._inbox.append(event)
        if not self._is_turn_set:
            self._set_turn()

    def _set_turn(self) -> None:
        if self._is_running and not self._is_turn_set:
            assert self._loop is not None
            self._is_turn_set = True
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        """Take events, for a while; then write, and then say, what came of them."""
        self._is_turn_set = False
        if not self._is_running:
            return
        try:
            self._work()
            self._flush()
        except Exception as fault:  # noqa: BLE001 - whoever waits for the node gets it
            self._end(fault)
            return
        if self._next or self._inbox:
            self._set_turn()
        if self._is_paused and len(self._inbox) < MAX_INBOX // 2:
            self._is_paused = False
            self._transport.resume()

    def _work(self) -> None:
        step, inbox, first, counters = self._machine.step, self._inbox, self._next, self._transport.counters
        state = self.state
        assert self._loop is not None
        time = self._loop.time
        self._turn_ends_at = end = time() + MAX_TURN_SECONDS
        for _ in range(MAX_STEPS_PER_TURN):
            if first:
                event = first.popleft()
            elif inbox:
                waiting = inbox.popleft()
                if isinstance(waiting, Ask):
                    self._say()
                    self._ask(waiting.question)
                    continue
                event = waiting
                if type(event) is TimerFired and self._due.pop(event.name, None) is not event:
                    continue
            else:
                return
            counters.steps += 1
            state, effects = step(state, event)
            self._state = state
            if effects:
                self._carry_out(effects)
            if self._check is not None:
                self._check(state)
            if time() > end and not first:
                return

    def _carry_out(self, effects: Effects) -> None:
        behind = self._behind
        for effect in effects:
            if type(effect) is Send or type(effect) is Report:
                behind.append(effect)
                continue
            match effect:
                case Save(record):
                    self._save(record)
                case SetTimer(name, after):
                    self._set_timer(name, after)
                case CancelTimer(name):
                    self._cancel_timer(name)
                case Choose(options):
                    self._next.append(Chosen(self._chance.randrange(options)))
                case Ask(question):
                    assert self._loop is not None
                    if self._loop.time() > self._turn_ends_at:
                        self._inbox.append(effect)
                    else:
                        self._say()
                        self._ask(question)
                case Send() | Report():
                    behind.append(effect)
                case _:
                    assert_never(effect)

    def _save(self, record: Any) -> None:
        self._transport.counters.records_saved += 1
        journal = self._journal
        if journal is not None:
            if self._behind and not journal.is_pending:
                # What was to be said before a record must not be lost with it.
                self._say()
            journal.append(record)

    def _flush(self) -> None:
        self._say()
        self._transport.flush()

    def _say(self) -> None:
        """Write what is noted in the journal, then do what waits behind it."""
        if self._journal is not None:
            self._journal.commit()
        behind, send = self._behind, self._transport.send
        if behind:
            # Taken out first: whoever is told may have the node do more.
            said = tuple(behind)
            behind.clear()
            for effect in said:
                if type(effect) is Send:
                    send(effect.to, effect.message)
                else:
                    self._application.told(effect.outcome)  # type: ignore[union-attr]

    # -------------------------------------------------------------------------------------- where events come from

    def _on_messages(self, sender: NodeId, messages: Sequence[Any]) -> None:
        assert self._loop is not None
        at = int(self._loop.time() * 1000)
        self._inbox.extend([Received(sender, message, at) for message in messages])
        if not self._is_turn_set:
            self._set_turn()
        if len(self._inbox) > MAX_INBOX and not self._is_paused:
            self._is_paused = True
            self._transport.pause()

    def _on_fault(self, fault: PeerFault) -> None:
        if self._is_running:
            self._application.told(fault)

    def _set_timer(self, name: str, after: int) -> None:
        assert self._loop is not None
        self._cancel_timer(name)
        self._timers[name] = self._loop.call_later(after / 1000, self._on_timer, name)

    def _cancel_timer(self, name: str) -> None:
        self._due.pop(name, None)
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()

    def _on_timer(self, name: str) -> None:
        assert self._loop is not None
        del self._timers[name]
        self._due[name] = fired = TimerFired(name, int(self._loop.time() * 1000))
        self._put(fired)

    def _ask(self, question: Any) -> None:
        answer = self._application.answer(question)
        is_awaitable = inspect.isawaitable(answer)
        if not (is_awaitable or self._asked):
            self._next.append(Answered(answer))
            return
        asked = asyncio.ensure_future(_awaited(answer) if is_awaitable else _at_once(answer))
        self._asked.append(asked)
        asked.add_done_callback(self._on_answer)

    def _on_answer(self, _: asyncio.Future[Any]) -> None:
        """Pass on the answers that are there; one that overtook another waits for it."""
        while self._asked and self._asked[0].done() and self._is_running:
            asked = self._asked.popleft()
            fault = None if asked.cancelled() else asked.exception()
            if asked.cancelled():
                self._end(asyncio.CancelledError("an answer was cancelled"))
            elif fault is not None:
                self._end(fault)
            else:
                self._put(Answered(asked.result()))

    def _end(self, fault: BaseException | None) -> None:
        if not self._is_running:
            return
        self._is_running = False
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        assert self._ended is not None
        if not self._ended.done():
            if fault is None:
                self._ended.set_result(None)
            else:
                self._ended.set_exception(fault)
                # Whoever never waits must not be told a second time, by the loop.
                self._ended.exception()


async def _at_once(answer: Any) -> Any:
    return answer


async def _awaited(answer: Awaitable[Any]) -> Any:
    return await answer


__all__ = ["MAX_INBOX", "MAX_STEPS_PER_TURN", "Application", "Host", "Silent"]
