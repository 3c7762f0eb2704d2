"""Starts agents on this machine, as processes that live on when who started them is gone.

Each is a session of its own, so that Ctrl-C in the terminal does not reach it, and writes to a file of its own. Where
the store is comes to it by its environment, where others cannot read it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from solvent.errors import AgentProblem
from solvent.runs.agents.membership import SURE_PART_OF_TTL, lacking, needs_of, see_agents
from solvent.runs.agents.status import who_goes_on
from solvent.runs.registry import existing, shards_of
from solvent.runs.store_address import VARIABLE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from solvent.runs.agents.membership import AgentSeen
    from solvent.runs.registry import RunRecord
    from solvent.store import Store
    from solvent.workflows.model import Workflow

STOP_SECONDS = 10.0
OTHERS_SECONDS = 5.0
TAIL_BYTES = 4_000


class Launched:
    """An agent that was started from here."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self._process = process
        self.log = log
        self.pid = process.pid

    @property
    def is_alive(self) -> bool:
        """Whether it is still there."""
        return self._process.poll() is None

    @property
    def code(self) -> int | None:
        """Its exit code, if it has ended."""
        return self._process.poll()

    def stop(self) -> None:
        """Ask it to end."""
        if self.is_alive:
            self._process.terminate()

    def wait(self, seconds: float = STOP_SECONDS) -> None:
        """Wait until it has ended; one that does not is killed, which loses nothing."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def tail(self) -> str:
        """Give the last lines that it has written."""
        try:
            with self.log.open("rb") as file:
                file.seek(max(0, self.log.stat().st_size - TAIL_BYTES))
                return file.read().decode(errors="replace").strip()
        except OSError:
            return ""


class LocalAgents:
    """The agents that were started here for a run, which end with it."""

    def __init__(
        self,
        store: Store,
        record: RunRecord,
        workflow: Workflow,
        launched: Sequence[Launched],
        files: Sequence[Path] = (),
    ) -> None:
        """`files` were made for them, and are removed with them."""
        self.launched = launched
        self._files = files
        self._store = store
        self._record = record
        self._workflow = workflow
        self._is_told = False
        self._looked_at = -OTHERS_SECONDS

    def look(self) -> str:
        """Return, once, the agent that continues the run when all that were started here have ended.

        Raise `AgentProblem` A105 if none is left that has, or could take, a part of the run.
        """
        if not self.launched or any(one.is_alive for one in self.launched):
            return ""
        if time.monotonic() - self._looked_at < OTHERS_SECONDS:
            return ""
        agents = see_agents(self._store, part=SURE_PART_OF_TTL)
        found = who_goes_on(self._store, self._record, self._workflow, agents)
        self._looked_at = time.monotonic()
        if not found and not existing(self._store, self._record.run).has_ended:
            raise self._problem(agents)
        if not found or self._is_told:
            return ""
        self._is_told = True
        return found[0]

    def _problem(self, agents: Sequence[AgentSeen]) -> AgentProblem:
        last = self.launched[-1]
        said = f"all agents that were started have ended, the last one with code {last.code}"
        if any(one.is_alive for one in agents):
            needs = needs_of(self._workflow, shards_of(self._workflow, self._record)[0])
            why = "; ".join(lacking(needs, agents).lines()) or "nothing more can happen with them"
            said += f"; others are alive, but none of them can continue the run: {why}"
        problem = AgentProblem(
            "A105", said, hint=f"they wrote to {last.log.parent}; `solvent status` lists the agents that are left"
        )
        problem.exit_code = 1
        problem.frames = [f"│ {line}" for line in last.tail().splitlines()[-5:]]
        return problem

    def stop(self) -> None:
        """Ask them to end, and wait until they have."""
        for one in self.launched:
            one.stop()
        for one in self.launched:
            one.wait()
        for file in self._files:
            file.unlink(missing_ok=True)


def launch_for(
    run: str,
    url: str,
    services: Sequence[str],
    count: int,
    *,
    ttl: float | None = None,
    jobs: int | None = None,
    is_durable: bool = True,
    more: Sequence[str] = (),
    variables: Mapping[str, str] | None = None,
) -> list[Launched]:
    """Start agents for a run in the store at `url`; they end when it is over. See `launch` for the rest."""
    words = ["--until", run, *more]
    words += ["--ttl", f"{ttl:g}"] if ttl is not None else []
    words += ["--jobs", str(jobs)] if jobs else []
    words += [] if is_durable else ["--no-sync"]
    return launch(services, count, variables={VARIABLE: url, **(variables or {})}, more=words)


def launch(
    services: Sequence[str], count: int, *, variables: Mapping[str, str], more: Sequence[str] = ()
) -> list[Launched]:
    """Start agents that offer the services of files; `more` are further options of `solvent agent`.

    `variables` are those of their environment that say where the store is.
    """
    logs = log_folder()
    words = [sys.executable, "-P", "-m", "solvent", "agent", "--services", *services, *more]
    # What is to be seen is what the agent says, not what a terminal could show.
    surroundings = {**os.environ, **variables, "NO_COLOR": "1"}
    found = []
    for _ in range(count):
        descriptor, log = tempfile.mkstemp(prefix="agent-", suffix=".log", dir=logs)
        with os.fdopen(descriptor, "wb") as out:
            process = subprocess.Popen(  # noqa: S603 - ourselves, with the user's own words
                words,
                env=surroundings,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        found.append(Launched(process, Path(log)))
    return found


def log_folder() -> Path:
    """Give the folder of what agents write, which is for their user only."""
    folder = Path(tempfile.gettempdir()) / f"solvent-agents-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        about = folder.lstat()
        is_own = (
            about.st_uid == os.getuid() and not about.st_mode & 0o077 and folder.is_dir() and not folder.is_symlink()
        )
    except OSError:
        is_own = False
    return folder if is_own else Path(tempfile.mkdtemp(prefix="solvent-agents-"))


__all__ = ["Launched", "LocalAgents", "launch", "launch_for", "log_folder"]
