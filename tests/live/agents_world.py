"""A world of agents for tests: processes around a store, workflows that they run, and what must be so afterwards.

What must be so whatever was killed, stopped or cut off: the results and states are those of an embedded run of the same
workflow; no call is begun whose answer is in a journal; each call that was made is announced in a journal before;
a call that is made again is marked so, and is not made more often than its policy allows.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeGuard

from solvent.runs.agents import submit
from solvent.runs.closed_shards import report_of
from solvent.runs.embedded import run_workflow
from solvent.runs.events import Adapted, CallAnswered, CallFailed, CallLost, CallStarted, ShardTaken
from solvent.runs.journal import read_journal
from solvent.runs.registry import existing, journal_of, record_of
from solvent.store import open_store
from solvent.workflows.formats.files import write
from solvent.workflows.model import Policy
from tests.live.agents_services import AGENT, CALLS, PAUSE, Line, lines_of
from tests.repo.project import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from solvent.runs.registry import RunRecord
    from solvent.runs.report import Report
    from solvent.store import Store
    from solvent.workflows.model import Workflow

TTL = float(os.environ.get("SOLVENT_TEST_TTL", "1"))
MAX_SECONDS = 200.0


class Member:
    """One agent, or launcher, as a process."""

    def __init__(self, world: World, name: str, arguments: list[str], variables: Mapping[str, str]) -> None:
        self.name = name
        self.path = world.folder / f"{name}.out"
        own = {AGENT: name, CALLS: world.calls, PAUSE: str(world.pause), "PYTHONHASHSEED": "random", **variables}
        with self.path.open("w") as out:
            self.process = subprocess.Popen(
                [*world.before, sys.executable, "-m", "tests.live.agents_member", *arguments],
                cwd=ROOT, env={**os.environ, **own}, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            )  # fmt: skip

    def send(self, number: int) -> float:
        """Send a signal, and give the time."""
        self.process.send_signal(number)
        return time.monotonic()

    def kill(self) -> float:
        """Kill it, and give the time."""
        now = self.send(signal.SIGKILL)
        self.process.wait()
        return now

    @property
    def is_stopped(self) -> bool:
        """Whether the process is stopped, by SIGSTOP."""
        return os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None

    def said(self) -> str:
        """Give what it has written."""
        return self.path.read_text(errors="replace")

    @property
    def is_running(self) -> bool:
        """Whether the process is there."""
        return self.process.poll() is None


class World:
    """Agents around a store; a context manager that ends them."""

    def __init__(self, url: str = "", *, ttl: float = TTL, pause: float = 0.0, before: tuple[str, ...] = ()) -> None:
        """Without an address the store is a file in the world's folder; `before` begins the command of each agent."""
        self._holder = tempfile.TemporaryDirectory(prefix="solvent-agents-", ignore_cleanup_errors=True)
        self.folder = Path(self._holder.name)
        self.url = url or str(self.folder / "store.db")
        self.ttl = ttl
        self.pause = pause
        self.before = before
        self.calls = str(self.folder / "calls")
        self.members: dict[str, Member] = {}
        #: When each agent was killed, by the clock that all processes share and by that of people.
        self.killed: dict[str, tuple[float, float]] = {}
        self._store: Store | None = None
        self._count = 0

    @property
    def store(self) -> Store:
        """The store, for the test itself."""
        if self._store is None:
            options: dict[str, Any] = {"patience": 20.0} if self.url.startswith("nats") else {}
            self._store = open_store(self.url, **options)
        return self._store

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for member in self.members.values():
            if member.is_running:
                member.send(signal.SIGCONT)
                member.kill()
        if self._store is not None:
            with suppress(Exception):
                self._store.close()
        self._holder.cleanup()

    # --- Processes.

    def start(self, count: int = 1, *, url: str = "", variant: str = "", **variables: str) -> list[Member]:
        """Start agents, each with a name that none had before."""
        found = []
        for _ in range(count):
            self._count += 1
            name = f"a{self._count}"
            arguments = [url or self.url, name, str(self.ttl), *([variant] if variant else [])]
            self.members[name] = member = Member(self, name, arguments, variables)
            found.append(member)
        return found

    def kill(self, member: Member) -> float:
        """Kill an agent and note when."""
        now = member.kill()
        self.killed[member.name] = now, time.time()
        return now

    def launch(self, run: str, workflow: Workflow) -> Member:
        """Start a launcher, and wait until it has submitted the workflow."""
        path = self.folder / f"{run}.json"
        path.write_text(write(workflow, suffix=".json"))
        self.members[f"of-{run}"] = one = Member(self, f"of-{run}", [self.url, "submit", run, str(path)], {})
        until(lambda: "submitted" in one.said(), one.said)
        return one

    def submit(self, run: str, workflow: Workflow, *, max_shards: int | None = None) -> None:
        """Submit a workflow from here."""
        submit(self.store, run, workflow, None, max_shards=max_shards)

    @property
    def alive(self) -> list[Member]:
        """The agents that run."""
        return [one for one in self.members.values() if one.is_running and not one.name.startswith("of-")]

    # --- What happens.

    def lines(self) -> list[Line]:
        """Give the calls that were made."""
        return lines_of(self.calls)

    def until_calls(self, count: int) -> None:
        """Wait until so many calls were made."""
        until(lambda: len(self.lines()) >= count, self.words)

    def is_over(self, run: str) -> bool:
        """Whether a run has ended; one that is not there yet has not."""
        found = record_of(self.store, run)
        return found is not None and found.has_ended

    def until_over(self, run: str, seconds: float = MAX_SECONDS) -> RunRecord:
        """Wait until a run is over."""
        end = time.monotonic() + seconds
        while not self.is_over(run):
            assert time.monotonic() < end, f"{run} is not over\n{self.words()}"
            time.sleep(0.02)
        return existing(self.store, run)

    def words(self) -> str:
        """Give what all agents have said, for who looks for the cause."""
        return "\n".join(f"--- {one.name}\n{one.said()[-1500:]}" for one in self.members.values())

    def journals(self, run: str) -> list[list[Any]]:
        """Give the events of each shard's journal."""
        shards = range(existing(self.store, run).shards)
        return [[one for _, one in read_journal(self.store, journal_of(run, shard))] for shard in shards]

    def report(self, run: str, workflow: Workflow) -> Report | None:
        """Give what came out; nothing if the run was given up before all shards were closed."""
        return report_of(self.store, existing(self.store, run), workflow)

    # --- What must be so.

    def check(self, run: str, workflow: Workflow, oracle: Report | None = None) -> list[str]:
        """Give everything that is wrong with a run that is over."""
        return [
            *self._wrong_results(run, workflow, oracle or run_workflow(workflow, jobs=4)),
            *self._wrong_calls(run, workflow),
            *(f"{one.name}: {one.said()[-800:]}" for one in self.members.values() if "Traceback" in one.said()),
        ]

    def _wrong_results(self, run: str, workflow: Workflow, oracle: Report) -> list[str]:
        if not self.is_over(run):
            return ["it is not over"]
        record = existing(self.store, run)
        report = self.report(run, workflow)
        if report is None:
            return [f"it was given up: {record.state}, {record.why}"]
        wrong = []
        if report.results != oracle.results:
            wrong.append(f"results {_different(report.results, oracle.results)}")
        if report.states != oracle.states:
            wrong.append(f"states {_different(report.states, oracle.states)}")
        expected = _certain([(one["alternative"], one.get("within", "")) for one in oracle.adaptations], oracle)
        shown = _certain([(one["alternative"], one.get("within", "")) for one in report.adaptations], oracle)
        journalled = [one for journal in self.journals(run) for one in journal if isinstance(one, Adapted)]
        noted = _certain([(one.alternative, one.within) for one in journalled], oracle)
        for found, where in ((shown, "the report"), (noted, "the journals")):
            if found != expected:
                wrong.append(f"the adaptations in {where} are others: {found} and not {expected}")
        if (record.state == "done") != oracle.succeeded:
            wrong.append(f"it ended as {record.state}: {record.why}")
        return wrong

    def _wrong_calls(self, run: str, workflow: Workflow) -> list[str]:
        wrong, announced, withdrawn = [], Counter[tuple[str, str]](), Counter[str]()
        policies = {task.name: _policy(workflow, task.service) for task in workflow.tasks}
        for number, journal in enumerate(self.journals(run)):
            agent, answered, failed = "", set[str](), dict[str, int]()
            for one in journal:
                if isinstance(one, ShardTaken):
                    agent = one.agent
                elif isinstance(one, CallStarted):
                    announced[one.agent or agent, one.call] += one.attempt == 1
                    if one.call in answered:
                        wrong.append(f"shard {number}: {one.call} has an answer and is called again by {agent}")
                    if one.attempt > 1 and failed.pop(one.call, 0) != one.attempt - 1:
                        wrong.append(f"shard {number}: {one.call} is tried again, and no failure is noted before")
                elif is_answer(one):
                    answered.add(one.call)
                elif isinstance(one, CallFailed):
                    failed[one.call] = one.attempts
                elif isinstance(one, CallLost):
                    withdrawn[one.call] += one.why != "agent"
        seen, made = Counter[str](), Counter[tuple[str, str]]()
        for line in sorted(self.lines(), key=lambda one: one.began):
            name, _, key = line.key.partition("/")
            if name != run:
                continue
            if seen[key] and not line.is_repeated:
                wrong.append(f"{key} is made again by {line.agent} and not marked")
            seen[key] += 1
            made[line.agent, key] += 1
        for (agent, key), count in made.items():
            if count > (1 + policies.get(_task(key), Policy()).retries) * announced[agent, key]:
                wrong.append(f"{agent} made {key} {count} times, and announced it {announced[agent, key]} times")
        for key, count in seen.items():
            begun = sum(times for (_, one), times in announced.items() if one == key)
            policy = policies.get(_task(key), Policy())
            if begun > 1 + policy.max_lost + withdrawn[key]:
                wrong.append(f"{key} was begun {begun} times, and made {count} times: more than its policy allows")
            if count > 1 + policy.retries + policy.max_lost + withdrawn[key]:
                wrong.append(f"{key} was made {count} times, in all attempts and by all agents together")
        return wrong

    def again(self, run: str) -> int:
        """Say how many calls were made again: those that were out when somebody died."""
        made = Counter(line.key for line in self.lines() if line.key.startswith(f"{run}/"))
        return sum(count - 1 for count in made.values())

    def seconds_to_progress(self, run: str, name: str) -> list[float]:
        """Say how long after an agent's death somebody made a call for each of its shards that had calls out."""
        monotonic, wall = self.killed[name]
        began = {(one.agent, one.key.partition("/")[2]): one.began for one in reversed(self.lines())}
        found = []
        for journal in self.journals(run):
            holder, out, later = "", set[str](), None
            for one in journal:
                if isinstance(one, ShardTaken):
                    if holder == name and out and one.at > wall:
                        later = one.agent
                    holder = one.agent
                elif isinstance(one, CallStarted):
                    if later == holder and (later, one.call) in began:
                        found.append(began[later, one.call] - monotonic)
                        break
                    out.add(one.call)
                elif is_answer(one):
                    out.discard(one.call)
        return found


def is_answer(event: Any) -> TypeGuard[CallAnswered | CallFailed]:
    """Whether a call has ended by an event, so that nobody makes it again."""
    return isinstance(event, CallAnswered) or (isinstance(event, CallFailed) and event.is_last)


def _task(key: str) -> str:
    return key.partition("#")[0].partition("[")[0]


def _policy(workflow: Workflow, service: str) -> Policy:
    found = workflow.service(service)
    return Policy() if found is None else found.policy


def _different(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    names = [name for name in sorted({*one, *other}) if one.get(name) != other.get(name)]
    return ", ".join(f"{name}: {one.get(name)!r} and not {other.get(name)!r}" for name in names[:5])


def _certain(adaptations: list[tuple[str, str]], oracle: Report) -> list[tuple[str, str]]:
    """Return the adaptations that any order of events leads to: alternatives, and the tasks in whose calls they were.

    A sub-workflow whose call is called off, since its arguments were replaced, may have adapted before or not.
    """
    outer = [(alternative, "") for alternative, within in adaptations if not within]
    tasks = {(alternative, re.split(r"[\[#!/]", within)[0]) for alternative, within in adaptations if within}
    return sorted(outer) + sorted(one for one in tasks if oracle.states.get(one[1]) == "done")


def until(is_so: Callable[[], bool], words: Callable[[], str] = str, seconds: float = MAX_SECONDS) -> None:
    """Wait until something is so, but not for ever."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, f"it takes too long\n{words()}"
        time.sleep(0.01)


def killed_at_random(
    world: World,
    run: str,
    *runs: str,
    seed: int,
    kills: int,
    calls: int,
    variant: str = "",
    seconds: float = MAX_SECONDS,
) -> int:
    """Kill agents at random until runs are over, or so many were killed; start another for each. Give how many.

    The next one is killed after a random number of further calls, `calls` at most; mostly one that makes calls.
    """
    rnd, count = random.Random(seed), 0
    next_at = rnd.randrange(calls)
    end = time.monotonic() + seconds
    out = [run, *runs]
    while out := [one for one in out if not world.is_over(one)]:
        assert time.monotonic() < end, f"seed {seed}: {out} are not over\n{world.words()}"
        time.sleep(rnd.uniform(0.0, 0.02))
        lines = world.lines()
        if count < kills and len(lines) > next_at:
            busy = {line.agent for line in lines[-20:]}
            alive = world.alive
            world.kill(rnd.choice([one for one in alive if one.name in busy and rnd.random() < 0.9] or alive))
            world.start(variant=variant)
            count += 1
            next_at = len(lines) + rnd.randrange(1, calls)
    return count
