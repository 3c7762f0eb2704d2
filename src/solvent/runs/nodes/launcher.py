"""Starts the nodes of a run, starts those again that die, and collects what is left when all is inert.

Nodes need no launcher to make progress. It waits for what they say, and for nothing else.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NoReturn

from solvent.errors import LIMIT_HINT, LimitReached, NodeProblem, ReactionFailed, SolventError
from solvent.net.readiness import is_readable, ready_of
from solvent.runs.nodes.collecting import texts_of
from solvent.runs.nodes.control import (
    AskStatus,
    Begin,
    Collect,
    Collected,
    End,
    Halt,
    Line,
    Load,
    Part,
    Problem,
    Status,
)
from solvent.runs.nodes.folder import node_folder
from solvent.runs.nodes.keeping import load_part
from solvent.source import Span

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from solvent.net.tls import Tls
    from solvent.runs.nodes.processes import Processes
    from solvent.source import Source

_SECONDS_TO_REACH = 30.0
_SECONDS_TO_HALT = 10.0
_MAX_DEATHS = 10
_SECONDS_BETWEEN_DEATHS = 3.0
_MAX_DEAF_SECONDS = 0.5
"""A Ctrl-C that comes just before the process falls asleep does not wake it."""


class Ended:
    """How a run over nodes has ended, or how far it has come."""

    def __init__(self) -> None:
        self.is_inert = False
        self.texts: list[str] = []
        self.statuses: dict[int, Status] = {}
        self.seconds = 0.0
        self.restarts = 0
        #: Nodes that did not answer when all was collected: their molecules are in their folders only.
        self.missing: list[int] = []

    @property
    def reactions(self) -> int:
        """How many reactions there were; those of a node before it was killed are not known."""
        return sum(status.reactions for status in self.statuses.values())

    @property
    def messages(self) -> int:
        """How many messages nodes have sent each other."""
        return sum(status.messages_sent for status in self.statuses.values())


class Launcher:
    """One run over nodes.

    `processes` are those of nodes that this launcher starts; without, the nodes are somebody else's. `tell` hears what
    a user should know while the run goes on.
    """

    def __init__(
        self,
        folder: Path,
        parts: list[Part],
        secret: bytes,
        *,
        processes: Processes | None,
        source: Source,
        max_seconds: float | None = None,
        tell: Callable[[str], None] = lambda _: None,
        tls: Tls | None = None,
    ) -> None:
        self.ended = Ended()
        self._folder = folder
        self._parts = parts
        self._secret = secret
        self._processes = processes
        self._source = source
        self._max_seconds = max_seconds
        self._tell = tell
        self._tls = tls
        self._lines: dict[int, Line] = {}
        self._phases: dict[int, str] = {}
        self._deaths: dict[int, list[float]] = {}
        self._problem: Problem | None = None
        self._began_at: float | None = None

    def run(self) -> Ended:
        """Run until all is inert; whatever else happens, every molecule is in `ended` and in the folder."""
        try:
            try:
                for node in range(len(self._parts)):
                    self._start(node)
                for node in range(len(self._parts)):
                    self._reach_or_restart(node)
                while not self._is_collected():
                    self._wait()
            except BaseException:
                self._halt()
                raise
        finally:
            self._end()
        return self.ended

    # --- Starting.

    def _start(self, node: int) -> None:
        if self._processes is not None:
            folder = node_folder(self._folder, node)
            # A share that has reacted for a while is there already.
            self._processes.start(node, folder, load_part(folder) or self._parts[node])

    def _reach_or_restart(self, node: int) -> None:
        processes = self._processes
        while True:
            try:
                self._reach(node)
            except NodeProblem as problem:
                if processes is None:
                    raise
                self._note_death(node, problem)
                self._tell(f"node {node} {processes.reap(node)}; it is started again")
                self._start(node)
            else:
                return

    def _reach(self, node: int, *, max_seconds: float = _SECONDS_TO_REACH) -> None:
        part, processes = self._parts[node], self._processes
        self._lines[node] = line = Line(
            part.addresses[node],
            self._secret,
            max_seconds=max_seconds,
            is_there=lambda: processes is None or processes.is_there(node),
            tls=self._tls,
        )
        self._phases[node] = "empty"
        if processes is None:
            status = line.ask(AskStatus())
            if status.phase == "empty":
                line.say(Load(part))
            elif status.run != part.run:
                host, port = part.addresses[node]
                raise NodeProblem("N132", f"the node at {host}:{port} belongs to another run", hint="start it anew")
            self._on_status(node, status)

    def _begin(self) -> None:
        """Give the signal to all at the same time."""
        self._began_at = time.monotonic()
        for line in self._lines.values():
            line.say(Begin())

    # --- Waiting.

    def _wait(self) -> None:
        seconds = _MAX_DEAF_SECONDS
        if self._began_at is not None and self._max_seconds is not None:
            seconds = min(seconds, self._max_seconds - (time.monotonic() - self._began_at))
            if seconds <= 0:
                message = f"still reacting after {self._max_seconds:g} seconds"
                raise LimitReached("H502", message, hint=LIMIT_HINT.format("--max-seconds"))
        nodes = {line.fileno(): node for node, line in self._lines.items()}
        for number in ready_of(nodes, seconds):
            self._hear(nodes[number])
        if self._began_at is None and all(phase != "empty" for phase in self._phases.values()):
            self._begin()

    def _hear(self, node: int) -> None:
        try:
            answers = self._lines[node].hear()
        except NodeProblem as problem:
            self._on_death(node, problem)
            return
        for answer in answers:
            if isinstance(answer, Status):
                self._on_status(node, answer)
            elif isinstance(answer, Problem):
                self._fail(answer)

    def _on_status(self, node: int, status: Status) -> None:
        self._phases[node] = status.phase
        if status.phase == "waiting" and self._began_at is not None:
            # It died before its molecules had become the machine's.
            self._lines[node].say(Begin())
        if node == 0:
            self.ended.is_inert = status.phase == "inert"
            if self.ended.is_inert and self._began_at is not None:
                self.ended.seconds = time.monotonic() - self._began_at

    def _on_death(self, node: int, problem: NodeProblem) -> None:
        """Start a node again, or wait for whoever does."""
        self._lines.pop(node).close()
        self._phases[node] = "empty"
        self.ended.is_inert = False
        self._note_death(node, problem)
        if self._processes is not None:
            self._tell(f"node {node} {self._processes.reap(node)}; it is started again")
            self._start(node)
            self._reach_or_restart(node)
            return
        self._tell(f"node {node} is gone; waiting until it is started again")
        until = time.monotonic() + _SECONDS_TO_REACH
        while True:
            try:
                self._reach(node, max_seconds=max(until - time.monotonic(), 0.1))
            except NodeProblem:
                if time.monotonic() > until:
                    raise
                time.sleep(0.2)
            else:
                return

    def _note_death(self, node: int, problem: NodeProblem) -> None:
        """Count how often a node dies; one that dies again and again is not started for ever."""
        self.ended.restarts += 1
        now = time.monotonic()
        deaths = self._deaths.setdefault(node, [])
        deaths.append(now)
        if len(deaths) > _MAX_DEATHS and now - deaths[-_MAX_DEATHS] < _SECONDS_BETWEEN_DEATHS:
            raise problem

    def _fail(self, problem: Problem) -> NoReturn:
        self._problem = problem
        raise error_from(problem, self._source)

    # --- Ending.

    def _is_collected(self) -> bool:
        """Collect what is left, if all is inert."""
        if not self.ended.is_inert:
            return False
        texts: list[str] = []
        for node, line in list(self._lines.items()):
            try:
                texts += line.ask(Collect()).texts
                self.ended.statuses[node] = line.ask(AskStatus())
            except NodeProblem as problem:
                self._on_death(node, problem)
                return False
        self.ended.texts = texts
        return True

    def _halt(self) -> None:
        """Let all nodes stop where they are, and collect what there is, also what is on its way."""
        for line in self._lines.values():
            line.say(Halt())
        until = time.monotonic() + _SECONDS_TO_HALT
        collected: dict[int, Collected] = {}
        for node, line in self._lines.items():
            try:
                while self._phases.get(node) not in ("halted", "failed"):
                    if not is_readable(line, until - time.monotonic()):
                        break
                    for answer in line.hear():
                        if isinstance(answer, Status):
                            self._phases[node] = answer.phase
                collected[node] = line.ask(Collect(), max_seconds=max(until - time.monotonic(), 0.1))
                self.ended.statuses[node] = line.ask(AskStatus(), max_seconds=1.0)
            except NodeProblem:
                # Killed, or in the middle of a call that takes long; what it has is in its journal.
                collected.pop(node, None)
                self.ended.missing.append(node)
        self.ended.is_inert = False
        if self._began_at is not None:
            self.ended.seconds = time.monotonic() - self._began_at
        self.ended.texts = texts_of(collected)

    def _end(self) -> None:
        for line in self._lines.values():
            line.say(End())
        if self._processes is not None:
            self._processes.end()
        for line in self._lines.values():
            line.close()


def error_from(problem: Problem, source: Source) -> SolventError:
    """Give the error that a run in one process would have raised."""
    span = None if problem.place is None else Span(source, *problem.place)
    if problem.kind == ReactionFailed.__name__:
        return ReactionFailed(
            problem.code,
            problem.message,
            rule=problem.rule,
            reactants=problem.reactants,
            span=span,
            note=problem.note,
            hint=problem.hint,
        )
    kinds = {kind.__name__: kind for kind in _kinds(SolventError)}
    kind: type[SolventError] = kinds.get(problem.kind, SolventError)
    return kind(problem.code, problem.message, span=span, note=problem.note, hint=problem.hint)


def _kinds(kind: type[SolventError]) -> list[type[SolventError]]:
    return [kind, *(found for one in kind.__subclasses__() for found in _kinds(one))]


__all__ = ["Ended", "Launcher", "error_from"]
