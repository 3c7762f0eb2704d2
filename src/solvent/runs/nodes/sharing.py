"""A run over nodes that is kept in a store: dealt out, started, waited for, and collected from the journals.

The processes that react (`member`) belong to nobody. Whoever waits for the run only reads the store: it may be killed,
and another may come later and wait instead.
"""

from __future__ import annotations

import re
import secrets
import time
from typing import TYPE_CHECKING

import msgspec

from solvent.errors import LIMIT_HINT, LimitReached, Misuse, NodeProblem, StoreError
from solvent.hocl.process_settings import deep_stack
from solvent.hocl.program import Program, parse
from solvent.lang.solution import Solution
from solvent.protocols.machine import NodeId
from solvent.runs.nodes.building import RECORDS, has_begun, machine_of
from solvent.runs.nodes.collecting import collected_from, texts_of
from solvent.runs.nodes.control import Collected
from solvent.runs.nodes.launcher import Ended, error_from
from solvent.runs.nodes.members import Forked, Manner
from solvent.runs.nodes.running import dealt
from solvent.runs.nodes.shared import FAILED, HALTED, INERT, Board, ProgramText, SharedRun
from solvent.runs.nodes.writing import Writing
from solvent.store import open_store
from solvent.store.leases import HEARTBEATS_PER_TTL, Heartbeats

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.lang.functions import Functions
    from solvent.runs.nodes.shared import Ending
    from solvent.store import Store

_LAST = (INERT, HALTED, FAILED)
_SECONDS_TO_HALT = 10.0
_UNFIT = re.compile(r"[^A-Za-z0-9_=-]+")


class SharedNodes:
    """One run in a store, as somebody sees it who waits for it."""

    def __init__(
        self,
        manner: Manner,
        record: SharedRun,
        text: ProgramText,
        program: Program,
        *,
        members: int = 0,
        spares: int = 0,
    ) -> None:
        """`run` starts so many members that begin with a node each, and spares."""
        self.manner = manner
        self.record = record
        self.text = text
        self.program = program
        self.members = members
        self.spares = spares
        self.ended = Ended()

    @property
    def nodes_count(self) -> int:
        """How many nodes there are."""
        return self.record.nodes

    @property
    def why_together(self) -> str:
        """Why everything is at one node, if it is."""
        return self.text.why_together

    @property
    def how_to_go_on(self) -> str:
        """What a user should know whose run has ended early."""
        how = f"solvent run --attach {self.record.run} --store URL --spares N"
        return f"the run is kept in the store: `{how}` goes on with it"

    @property
    def is_only_watched(self) -> bool:
        """Whether this process has started none that takes part."""
        return not (self.members or self.spares)

    def discard(self) -> None:
        """Remove nothing: what is in a store stays."""

    def run(self, *, max_seconds: float | None = None, tell: Callable[[str], None] = lambda _: None) -> Ended:
        """Wait until the run is inert; a limit or Ctrl-C halts it, and it can go on.

        Whoever only watches, having started no process, halts nothing.
        """
        forked = Forked(self.manner, self.record, self.program.functions)
        # Before this process opens the store: copies of it could not use it.
        forked.start(self.members, self.spares)
        with self._opened() as store:
            board = Board(store, self.record.run)
            try:
                ending = _Waiting(board, self.record, forked, tell).wait(max_seconds)
            except BaseException as stopped:
                if not self.is_only_watched:
                    if not isinstance(stopped, NodeProblem):
                        board.end(HALTED)
                    self._collect(board)
                raise
            finally:
                forked.end()
            self._collect(board)
            if ending.how == INERT:
                _clean(board)
        if ending.how == FAILED and ending.problem is not None:
            raise error_from(ending.problem, self.program.source)
        if ending.how != INERT:
            hint = "`solvent run --attach RUN --store URL --spares N` goes on with it"
            raise NodeProblem("N151", "the run was halted by somebody", hint=hint)
        return self.ended

    def _opened(self) -> Store:
        return open_store(self.manner.url, is_durable=self.manner.is_durable)

    def solution(self) -> Solution:
        """Give the whole solution as it was when the run ended."""
        writing = Writing(self.program)
        with deep_stack():
            return Solution(map(writing.read, (*self.text.copies, *self.ended.texts)))

    # --- Collecting.

    def _collect(self, board: Board) -> None:
        """Read the journals, when all nodes have stopped; what killed nodes had is there, too."""
        ended, record = self.ended, self.record
        self._wait_for_nodes(board)
        collected, restarts = dict[int, Collected](), 0
        nodes = tuple(map(NodeId, range(record.nodes)))
        for node in nodes:
            part, _ = board.part(node)
            journal = board.journal(node, RECORDS, is_read_only=True).open()
            restarts += max(journal.life, 0)
            if has_begun(journal.saved):
                state, _ = machine_of(node, nodes).start(journal.saved, journal.life + 1)
                collected[node] = collected_from(node, state.inner.capture)
            else:
                collected[node] = Collected(part.share)
        ended.texts = texts_of(collected)
        ended.restarts = restarts
        ended.statuses = board.statuses()
        seen = board.look()
        ended.is_inert = seen.ending is not None and seen.ending.how == INERT
        ended.seconds = max(0.0, (seen.ending.at if seen.ending is not None else time.time()) - record.started_at)

    def _wait_for_nodes(self, board: Board) -> None:
        """Wait until every node has stopped where it is, or its member is presumed dead."""
        heartbeats = Heartbeats(board.store, ttl=self.record.ttl)
        until = time.monotonic() + _SECONDS_TO_HALT + self.record.ttl
        with board.store.watch([board.below]) as watch:
            while time.monotonic() < until:
                heartbeats.look()
                holders = board.look().holders.values()
                if all(not one.agent or heartbeats.is_presumed_dead(one.agent) for one in holders):
                    return
                watch.wait(min(self.record.ttl / HEARTBEATS_PER_TTL, 0.2))


class _Waiting:
    """Waits for the end of a run, and tells what happens meanwhile."""

    def __init__(self, board: Board, record: SharedRun, forked: Forked, tell: Callable[[str], None]) -> None:
        self._board = board
        self._record = record
        self._forked = forked
        self._tell = tell
        self._heartbeats = Heartbeats(board.store, ttl=record.ttl)
        self._epochs: dict[int, int] = {}
        self._nobody_since: float | None = None

    def wait(self, max_seconds: float | None) -> Ending:
        """Give how the run has ended."""
        until = None if max_seconds is None else time.monotonic() + max_seconds
        tick = self._record.ttl / HEARTBEATS_PER_TTL
        with self._board.store.watch([self._board.below]) as watch:
            while True:
                try:
                    seen = self._board.look()
                    if seen.ending is not None:
                        return seen.ending
                    for node, holder in seen.holders.items():
                        if holder.agent and holder.epoch > self._epochs.setdefault(node, holder.epoch):
                            self._epochs[node] = holder.epoch
                            self._tell(
                                f"node {node} was taken over by {holder.agent.removeprefix(self._board.run + '.')}"
                            )
                    self._look_for_members()
                    left = tick if until is None else min(tick, until - time.monotonic())
                    if left <= 0:
                        message = f"still reacting after {max_seconds:g} seconds"
                        raise LimitReached("H502", message, hint=LIMIT_HINT.format("--max-seconds"))
                    watch.wait(left)
                except StoreError as error:
                    if error.code != "E409" or error.is_lasting:
                        raise
                    # The members go on when they can; so does who waits for them.
                    self._tell(f"the store does not answer: {error.message}")

    def _look_for_members(self) -> None:
        """Raise an error when nobody is there any more that could go on."""
        self._heartbeats.look()
        alive = self._heartbeats.alive()
        is_there = any(name.startswith(f"{self._record.run}.") for name in alive) or self._forked.is_starting(alive)
        now = time.monotonic()
        if is_there:
            self._nobody_since = None
        elif self._nobody_since is None:
            self._nobody_since = now
        elif now - self._nobody_since > self._record.ttl:
            hint = f"`solvent run --attach {self._record.run} --store URL --spares N` starts others that go on"
            raise NodeProblem("N150", "nobody is left who goes on with the run", hint=hint)


def share_out(
    program: Program,
    nodes: int,
    manner: Manner,
    *,
    ttl: float,
    transport: str,
    spares: int = 0,
    functions: str | None = None,
    reacts_locally: bool = True,
) -> SharedNodes:
    """Deal a program out over nodes that are kept in a store."""
    run, parts, copies, why_together = dealt(program, nodes, functions=functions, reacts_locally=reacts_locally)
    run = f"{_UNFIT.sub('_', run)}-{secrets.token_hex(2)}"
    parts = [msgspec.structs.replace(part, run=run, nodes=nodes) for part in parts]
    text = ProgramText(program.source.text, copies, why_together)
    record = SharedRun(
        run, program.source.name, functions is not None, nodes, secrets.token_hex(16), transport, ttl, time.time(), ""
    )
    with open_store(manner.url, is_durable=manner.is_durable) as store:
        board = Board(store, run)
        board.create(record, text, parts)
        record = board.record()
    return SharedNodes(manner, record, text, program, members=nodes, spares=spares)


def attach(run: str, manner: Manner, functions: Functions | None, *, spares: int = 0) -> SharedNodes:
    """Give a run that is in a store; with spares, one that has ended before it was inert goes on."""
    with open_store(manner.url, is_durable=manner.is_durable, is_made=False) as store:
        board = Board(store, run)
        record = board.record()
        if record.calls_python and functions is None:
            hint = f"`solvent run --attach {run} --functions MODULE.py`"
            raise Misuse(
                "H347", f"the program {record.name} calls Python functions, and none are given here", hint=hint
            )
        text = board.text(record)
        if spares:
            board.go_on()
    program = parse(text.text, name=record.name, functions=functions)
    return SharedNodes(manner, record, text, program, spares=spares)


def _clean(board: Board) -> None:
    """Remove the heartbeats of members that were killed."""
    for key in board.members():
        board.store.delete(key)


__all__ = ["SharedNodes", "attach", "share_out"]
