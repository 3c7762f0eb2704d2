"""A node's part of one run: the program, the machine and what they say to each other.

The molecules of the part react by themselves first, and are the machine's from then on. Whoever asks in between gets
them from where they are.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from typing import TYPE_CHECKING, Any

import msgspec

from solvent.engine.reaction import Stopped
from solvent.errors import Misuse
from solvent.hocl.program import parse
from solvent.net import Codec, Host
from solvent.protocols.capture.vocabulary import Combination, Discover, RuleId, Wake
from solvent.protocols.directory import EVERYTHING, Watch, bounds
from solvent.protocols.inertia import Inert, Resumed
from solvent.protocols.machine import NodeId
from solvent.protocols.nodes import Idle, Told
from solvent.runs.nodes.alone import Alone, Patient
from solvent.runs.nodes.building import MESSAGES, RECORDS, has_begun, is_busy, machine_of
from solvent.runs.nodes.chemist import Chemist
from solvent.runs.nodes.collecting import collected_from
from solvent.runs.nodes.control import Collected, Part, Status
from solvent.runs.nodes.dealing import rules_in
from solvent.runs.nodes.homes import charge_of
from solvent.runs.nodes.shapes import Shapes
from solvent.runs.nodes.table import Table
from solvent.runs.nodes.tally import Tally
from solvent.runs.nodes.writing import Writing

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from solvent.hocl.program import Program
    from solvent.lang.functions import Functions
    from solvent.net import Transport
    from solvent.runs.nodes.keeping import Keeping


class Work:
    """A node's part of one run.

    `connect` gives the way to other nodes that speak a protocol. `told_phase` hears how far it is: `waiting` for the
    signal to begin, `alone`, `together`, `inert`.
    """

    def __init__(
        self,
        part: Part,
        functions: Functions,
        keeping: Keeping,
        connect: Callable[[Part, str, Codec], Transport],
        *,
        told_phase: Callable[[str], None],
        should_stop: Callable[[], bool],
    ) -> None:
        self.part = part
        self._keeping = keeping
        self._told_phase = told_phase
        self._should_stop = should_stop
        self._nodes = tuple(map(NodeId, range(part.nodes or len(part.addresses))))
        self._functions = Patient(functions)
        program = parse(part.text, name=part.name, functions=self._functions)
        self._writing = Writing(program)
        self._table = table_of(part, program, self._writing)
        self.chemist = Chemist(
            part.node,
            self._writing,
            self._table,
            shapes=Shapes(part.words, part.homes),
            functions=self._functions,
            chance=random.Random(),
            reacts_locally=part.reacts_locally,
            gathers=part.reacts_locally,
            at_rest=part.is_together,
            should_stop=should_stop,
        )
        self._journal = keeping.journal(RECORDS)
        self.transport = transport = connect(part, "capture", Codec(MESSAGES))
        self._tally = Tally()
        transport.send = self._tally.around(transport.send)  # type: ignore[method-assign, assignment]
        self.host = Host(machine_of(part.node, self._nodes), transport, application=self, journal=self._journal)
        self._begun = asyncio.Event()
        # What has not become the machine's yet.
        self._alone: Alone | None = None
        self._reacting: asyncio.Future[Any] | None = None
        self._is_registered = False
        self._reactions = 0
        self._is_watching = False
        self._told = 0
        self._is_look_set = False

    async def start(self, before: Callable[[], Awaitable[None]] | None = None) -> None:
        """Read the journal, and begin to hear others; `before` that, do something once the node can be reached."""
        await self.host.start(before)
        # A word that nobody says: it opens the connections to all others before they are needed.
        self.host.request(Watch(len(self.part.words), ""))
        self._told_phase("together" if self._is_registered else "waiting")

    def begin(self) -> None:
        """Let the molecules react."""
        self._begun.set()

    async def stop(self) -> None:
        """Do nothing more; what was told to stop before has stopped when this returns."""
        self._begun.set()
        if self._reacting is not None:
            await asyncio.wait([self._reacting])
        await self.host.stop()

    # --- For the host.

    def answer(self, question: Any) -> Any:
        """Answer what the machine asks; the first time, the node's own molecules react by themselves before."""
        if isinstance(question, Discover):
            if self._reacting is None and not has_begun(self._journal.saved):
                self._reacting = asyncio.ensure_future(self._react_alone())
                return self._reacting
            # Asked again, the machine has taken what the node began with.
            self._is_registered, self._alone = True, None
            if self._should_stop():
                return Combination(RuleId(0), ())
        answer = self.chemist.answer(question)
        if not self._is_watching and isinstance(answer, Combination) and not answer.places:
            self._watch()
        return answer

    def _watch(self) -> None:
        """Listen to what others offer, now that this node cannot go on by itself."""
        self._is_watching = True
        lower, upper = charge_of(self.part.node, len(self._nodes))
        for number, word in enumerate(self.part.words):
            # Of what has a home, only what is at home here.
            charge = bounds(lower, upper, is_upper_open=True) if word in self.part.homes else EVERYTHING
            self.host.request(Watch(number, word, charge))
        self._look()

    def told(self, outcome: Any) -> None:
        """Hear what the machine reports."""
        match outcome:
            case Told(number):
                self._told = number
                if not self._is_look_set:
                    # A burst of news is looked at once, when it is over.
                    self._is_look_set = True
                    asyncio.get_running_loop().call_soon(self._look)
            case Inert():
                self._told_phase("inert")
            case Resumed():
                self._told_phase("together")
            case _:
                self.chemist.told(outcome)

    def _look(self) -> None:
        """Let the machine ask again if there is anything new, and say that all news were heard.

        Before it listens to others, a node has not heard all: it must not count as idle.
        """
        self._is_look_set = False
        if self.chemist.is_curious:
            self.host.request(Wake())
        if self._is_watching:
            self.host.request(Idle(self._told))

    async def _react_alone(self) -> Any:
        own = [self._writing.read(text) for text in self.part.share]
        self._alone = alone = Alone(self._table.shared, own, functions=self._functions, should_stop=self._should_stop)
        await self._begun.wait()
        self._told_phase("alone")
        if self.part.reacts_locally or self.part.is_together:
            try:
                await alone.react()
            except BaseException:
                # What has happened so far need not happen again.
                self.part = msgspec.structs.replace(self.part, share=self._written(alone))
                self._keeping.save(self.part)
                raise
        elif self._should_stop():
            raise Stopped
        self._reactions = alone.reactions
        rewritten = self.chemist.begin(alone.left())
        self._told_phase("together")
        return rewritten

    def _written(self, alone: Alone) -> tuple[str, ...]:
        """Write what has not become the machine's yet; what cannot be written is as if it had not happened."""
        try:
            return tuple(map(self._writing.write, alone.left()))
        except Misuse:
            return self.part.share

    # --- For visitors.

    def status(self, phase: str) -> Status:
        """Say how things are."""
        alone, chemist, counters = self._alone, self.chemist, self.host.counters
        return Status(
            phase,
            node=self.part.node,
            run=self.part.run,
            life=self._journal.life,
            mode="alone" if alone is not None else "moving" if is_busy(self.host.state.inner.capture) else "idle",
            rule=chemist.rule,
            molecules=len(chemist) if alone is None else len(alone.solution) - len(self._table.shared),
            known=chemist.known_count,
            reactions=chemist.reactions + (self._reactions if alone is None else alone.reactions),
            messages_sent=counters.messages_sent,
            messages_received=counters.messages_received,
            steps=counters.steps,
            process=os.getpid(),
            at=time.monotonic(),
            kinds=dict(self._tally.kinds),
            to=dict(self._tally.to),
        )

    def collected(self) -> Collected:
        """Give the molecules that are here, and what is on its way to others."""
        if not self._is_registered:
            return Collected(self.part.share if self._alone is None else self._written(self._alone))
        return collected_from(self.part.node, self.host.state.inner.capture)


def table_of(part: Part, program: Program, writing: Writing) -> Table:
    """Give what stands on every node's table."""
    rules = rules_in(program)
    standing = [rules[number] for number in part.standing]
    return Table(standing, [writing.read(text) for text in part.endless])


__all__ = ["Work", "table_of"]
