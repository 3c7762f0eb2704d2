"""All workflows of `feature_flows` at once, while the processes that run them are killed: the kill matrix of features.

Agents are forked from a server that has imported everything, so that a kill costs little; they are real processes, and
each is killed by SIGKILL. A seed says how long to wait before each kill, and whom it is for.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import re
import sys
import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

import solvent
from solvent.cli import main
from solvent.runs.events import CallStarted, ShardTaken
from solvent.runs.registry import existing, record_of
from solvent.store.leases import AGENTS
from solvent.workflows.model import Workflow
from tests.live.agents_services import AGENT, CALLS, PAUSE
from tests.live.agents_world import MAX_SECONDS, World, killed_at_random, until
from tests.live.feature_flows import ROWS, Row, of_http
from tests.live.store_servers import served
from tests.patterns.catalogue import FOLDER
from tests.repo.project import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from solvent.runs.report import Report
    from tests.live.agents_services import Line
    from tests.live.agents_world import Member

FLOWS = ROOT / "tests" / "live" / "feature_flows.py"
AGENTS_COUNT = 3
TTL = 2.0
PAUSE_SECONDS = 0.6
KILLS_EACH = 20
"""How many agents are killed at most while the workflows run once."""
CALLS_BETWEEN = 8
ROUND_SECONDS = 600.0
"""How long all workflows may take together: on a busy machine hundreds of calls and tens of new agents take minutes."""
MAX_LOST = 1000
"""What never ends until it is cancelled is out at every kill, and no call is to fail for that."""
_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(["tests.live.feature_kills", "solvent.cli.agent", "solvent.runs.agents.agent"])


class Forked:
    """A process that runs the command, forked from one that has imported it; as a `Member`."""

    def __init__(self, world: World, name: str, words: list[str], variables: Mapping[str, str]) -> None:
        self.name = name
        self.path = world.folder / f"{name}.out"
        about = {AGENT: name, CALLS: world.calls, PAUSE: str(world.pause), "SOLVENT_STORE": world.url, **variables}
        self._process = _forks.Process(target=_run_command, args=(words, about, str(self.path)), daemon=True)
        self._process.start()

    def send(self, number: int) -> float:
        """Send a signal, and return the time."""
        assert self._process.pid is not None
        os.kill(self._process.pid, number)
        return time.monotonic()

    def kill(self) -> float:
        """Kill it, and return the time."""
        now = time.monotonic()
        if self.is_running:
            self._process.kill()
        self._process.join()
        return now

    def wait(self) -> int | None:
        """Wait until it ends; return its exit code."""
        self._process.join(MAX_SECONDS)
        return self._process.exitcode

    def said(self) -> str:
        """Return what it has written."""
        return self.path.read_text(errors="replace") if self.path.exists() else ""

    @property
    def is_running(self) -> bool:
        """Whether the process is there."""
        return self._process.is_alive()


def _run_command(words: list[str], variables: Mapping[str, str], path: str) -> None:
    """Be the command."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for number in (1, 2):
        os.dup2(file, number)
    os.environ.update(variables)
    sys.argv = ["solvent", *words]
    sys.exit(main())


class Features(World):
    """Agents that run whatever is submitted."""

    def start(self, count: int = 1, *, url: str = "", variant: str = "", **variables: str) -> list[Member]:
        """Start agents, each with a name that none had before."""
        assert not variant
        found = list[Any]()
        for _ in range(count):
            self._count += 1
            name = f"a{self._count}"
            words = ["agent", "--store", url or self.url, "--name", name, "--ttl", f"{self.ttl:g}", "--jobs", "4"]
            words += ["--no-sync", "--trust-all", "--folder", str(FOLDER), "--services", f"{FLOWS}:on_failure"]
            self.members[name] = one = Forked(self, name, words, variables)  # type: ignore[assignment]
            found.append(one)
        return found

    def journals(self, run: str) -> list[list[Any]]:
        """Return the events of each shard's journal, with the names that agents were given."""
        given = lambda agent: agent.partition("-")[0]  # noqa: E731
        return [[_renamed(one, given) for one in journal] for journal in super().journals(run)]


class Alone(World):
    """Runs of one process each: whoever has made a call is of no matter."""

    def lines(self) -> list[Line]:
        """Return the calls that were made."""
        return [one._replace(agent="") for one in super().lines()]

    def journals(self, run: str) -> list[list[Any]]:
        """Return the events of the journal."""
        return [[_renamed(one, lambda _: "") for one in journal] for journal in super().journals(run)]


def _renamed(event: Any, name_of: Callable[[str], str]) -> Any:
    """Return an event with another name of the agent, where it has one."""
    return replace(event, agent=name_of(event.agent)) if isinstance(event, ShardTaken | CallStarted) else event


@dataclass
class Tried:
    """What came of killing those that run features: of each the kills while it ran, and what was wrong."""

    kills: int = 0
    again: int = 0
    hits: Counter[str] = field(default_factory=Counter)
    runs: Counter[str] = field(default_factory=Counter)
    wrong: dict[str, list[str]] = field(default_factory=dict)

    def add(self, other: Tried) -> None:
        """Count further ones."""
        self.kills += other.kills
        self.again += other.again
        self.hits += other.hits
        self.runs += other.runs
        for row, said in other.wrong.items():
            self.wrong.setdefault(row, []).extend(said)

    def table(self) -> str:
        """Return a line for each feature."""
        width = max(map(len, self.runs))
        lines = [f"{'feature':{width}}  runs  kills  wrong"]
        for row in self.runs:
            wrong = len(self.wrong.get(row, ()))
            lines.append(f"{row:{width}}  {self.runs[row]:4}  {self.hits[row]:5}  {wrong:5}")
        lines.append(f"{self.kills} kills, {self.again} calls made again, {len(self.wrong)} features with faults")
        return "\n".join(lines)


class _Hello(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b'{"said": "hello"}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def greeting() -> Iterator[int]:
    """Serve an address that says hello."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Hello) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def inputs_of(row: Row, port: int) -> dict[str, Any]:
    """Return the inputs of a row, apart from those that have values."""
    return {"port": port} if row.flow is of_http else {}


_ORACLES: dict[str, Report] = {}


def oracle_of(row: Row) -> Report:
    """Return what comes of a row when nobody is killed; what its results are is in the row."""
    if row.name not in _ORACLES:
        with greeting() as port:
            found = _ORACLES[row.name] = solvent.run(
                row.workflow, inputs_of(row, port), signals=row.signals, folder=FOLDER
            )
        assert found.value == row.value
    return _ORACLES[row.name]


def definition_of(row: Row) -> Workflow:
    """Return the workflow of a row, whose calls may be lost as often as agents are killed."""
    return _patient(row.workflow)


def _patient(flow: Any) -> Workflow:
    """Return a workflow, and with it its sub-workflows, whose calls may be lost very often."""
    found: Workflow = flow if isinstance(flow, Workflow) else flow.definition()
    services = []
    for one in found.services:
        inner = _patient(one.function) if one.kind == "workflow" and one.function is not None else one.function
        services.append(replace(one, function=inner, policy=replace(one.policy, max_lost=MAX_LOST)))
    return replace(found, services=tuple(services))


def name_of(row: Row) -> str:
    """Return the name of a row's runs."""
    return re.sub(r"\W+", "-", row.name)


def wrong_with(world: World, row: Row, run: str) -> list[str]:
    """Return what is wrong with a run of a row that is over."""
    workflow = definition_of(row)
    if found := world.check(run, workflow, oracle_of(row)):
        report = world.report(run, workflow)
        found += [f"{one.task}: {one.kind}, {one.cause}" for one in ([] if report is None else report.failures)]
    return found


def agents_killed(url: str, seed: int, rows: tuple[Row, ...] = ROWS, *, kills: int = KILLS_EACH) -> Tried:
    """Let agents run all rows at once, and kill so many of them; `url` is that of a server, or empty for a file."""
    wanted = {name_of(one): one for one in rows}
    with greeting() as port, Features(url, ttl=TTL, pause=PAUSE_SECONDS) as world:
        world.start(AGENTS_COUNT)
        until(lambda: len(world.store.keys(AGENTS)) >= AGENTS_COUNT, world.words)
        # Those that come first have the fewest kills.
        for run, row in random.Random(seed).sample([*wanted.items()], len(wanted)):
            given: Any = {"signals": row.signals, "folder": FOLDER}
            solvent.submit(definition_of(row), inputs_of(row, port), store=world.url, name=run, agents=0, **given)
        found = Tried(runs=Counter(one.name for one in wanted.values()))
        try:
            found.kills = killed_at_random(
                world, *wanted, seed=seed, kills=kills, calls=CALLS_BETWEEN, seconds=ROUND_SECONDS
            )
        except AssertionError as error:
            found.wrong["nothing is stuck"] = [f"seed {seed}: {error}"]
            found.kills = len(world.killed)
        for run, row in wanted.items():
            ended = existing(world.store, run).ended or time.time()
            found.hits[row.name] += sum(at < ended for _, at in world.killed.values())
            if wrong := wrong_with(world, row, run):
                found.wrong[row.name] = [f"seed {seed}: {one}" for one in wrong]
            found.again += world.again(run)
        return found


def process_killed(seed: int, rows: tuple[Row, ...] = ROWS, *, kills: int = 3) -> Tried:
    """Let each row run in a process of its own, which is killed so many times, and continued each time."""
    found, rnd = Tried(), random.Random(seed)
    with greeting() as port, ExitStack() as stack:
        for row in rows:
            world = stack.enter_context(Alone(ttl=TTL, pause=PAUSE_SECONDS / 2))
            found.add(_killed_alone(world, row, port, rnd.randrange(1 << 30), kills))
    return found


def _killed_alone(world: Alone, row: Row, port: int, seed: int, kills: int) -> Tried:
    """Let one row run in processes that are killed one after the other, and in a last one to its end."""
    rnd, run = random.Random(seed), name_of(row)
    found = Tried(runs=Counter([row.name]))
    given = [f"--input={name}={value}" for name, value in inputs_of(row, port).items()]
    words, is_signalled = ["run", row.file, "--name", run, *given], not row.signals
    for number in range(kills + 1):
        member = Forked(world, f"p{number}", words, {"PYTHONPATH": str(ROOT)})
        world.members[member.name] = member  # type: ignore[assignment]
        until(lambda: record_of(world.store, run) is not None or not member.is_running, member.said)  # noqa: B023
        if not is_signalled:
            for _, name, value in row.signals:
                solvent.attach(run, store=world.url).signal(name, value, id=name)
            is_signalled = True
        words = ["resume", run]
        if number == kills:
            break
        # Mostly amid a call, and sometimes before any.
        calls, end = len(world.lines()) + rnd.randrange(2), time.monotonic() + (rnd.choice((0.3, 5.0, 5.0)))
        while member.is_running and len(world.lines()) <= calls and time.monotonic() < end:
            time.sleep(0.005)
        time.sleep(rnd.uniform(0.0, PAUSE_SECONDS / 8))
        if not member.is_running or world.is_over(run):
            break
        member.kill()
        found.kills += 1
    code = member.wait()
    found.hits[row.name] = found.kills
    if definition_of(row).resources and "R406" in member.said():
        # What they held is in no record, and the command says so.
        return found
    wrong = wrong_with(world, row, run) if world.is_over(run) else [f"it ended with {code}: {member.said()[-1000:]}"]
    if wrong:
        found.wrong[row.name] = [f"seed {seed}: {one}" for one in wrong]
    found.again = world.again(run)
    return found


def matrix(
    store: str, kills: int, seed: int, tell: Callable[[str], None] = print, *, rows: tuple[Row, ...] = ROWS
) -> Tried:
    """Kill until there were so many kills: agents over `SQLite` or `NATS`, or single processes (`embedded`)."""
    found = Tried()
    while found.kills < kills:
        began, left = time.monotonic(), min(KILLS_EACH, kills - found.kills)
        if store == "embedded":
            one = process_killed(seed, rows)
        elif store == "NATS":
            with served() as url:
                one = agents_killed(url, seed, rows, kills=left)
        else:
            one = agents_killed("", seed, rows, kills=left)
        found.add(one)
        tell(f"{store}, seed {seed}: {one.kills} kills, {time.monotonic() - began:.0f} s, {len(one.wrong)} wrong")
        for row, wrong in one.wrong.items():
            tell(f"  {row}: {wrong[0][:1000]}")
        seed += 1
    return found


__all__ = ["Tried", "agents_killed", "matrix", "process_killed"]
