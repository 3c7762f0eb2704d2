"""The paper's seven chemical services at seven agents that offer one of them each, of which one is killed."""

from __future__ import annotations

import os
import shutil
import signal
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import pytest

import solvent
from solvent.runs.agents.launch import Launched, launch
from solvent.runs.agents.membership import see_agents
from solvent.runs.causality import violations
from solvent.runs.registry import existing
from solvent.runs.store_address import VARIABLE
from solvent.store import open_store
from solvent.workflows.formats.files import load
from tests.live import chemical_services
from tests.live.agents_world import until
from tests.live.chemical_services import HELD, LEDGER
from tests.patterns.run_orders import happened_in_store, order_of
from tests.repo.project import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.live.fresh_stores import Fresh

EXAMPLE = ROOT / "examples" / "patterns" / "coordination.hocl"
SERVICES = {f"ChWS{number}": f"S{number}" for number in range(1, 8)}
HOLDS = (
    "ChWS1 before ChWS2", "ChWS1 before ChWS3", "ChWS2 before ChWS4", "ChWS3 before ChWS4", "ChWS4 before ChWS5",
    "ChWS4 before ChWS6", "some of ChWS5, ChWS6", "ChWS4 before ChWS7", "ChWS7 once", "ends done",
)  # fmt: skip
PATIENCE = 200.0


class Line(NamedTuple):
    """A call that was made."""

    run: str
    task: str
    is_repeated: bool
    process: int


class Seven:
    """An agent for each service, around a store."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url = folder, url
        self._variables = {VARIABLE: url, LEDGER: str(folder / "ledger"), HELD: str(folder), "PYTHONPATH": str(ROOT)}
        shutil.copy(chemical_services.__file__, folder / "services.py")
        self.workflow = load(str(shutil.copy(EXAMPLE, folder))).workflow
        self.agents = dict[str, Launched]()
        self._started = list[Launched]()

    def start(self, task: str) -> None:
        """Start the agent that offers the service of a task, and no other."""
        service = next(one for one in self.workflow.services if one.name == SERVICES[task])
        file = self.folder / f"{service.name}.hocl"
        file.write_text(f'<SERVICE : {service.name} : <PYTHON : "{service.target}">>')
        [self.agents[task]] = launch([str(file)], 1, variables=self._variables, more=["--no-sync"])
        self._started.append(self.agents[task])

    def hold(self, run: str, task: str) -> Path:
        """Keep the call of a task from ending."""
        found = self.folder / f"{run}-{task}"
        found.touch()
        return found

    def lines(self, run: str) -> list[Line]:
        """Return the calls of a run."""
        file = self.folder / "ledger"
        words = [one.split() for one in file.read_text().splitlines()] if file.exists() else []
        return [Line(name, task, again == "1", int(process)) for name, task, again, process in words if name == run]

    def said(self) -> str:
        """Return what the agents have said, for who looks for the cause."""
        return "\n".join(one.tail() for one in self._started)

    def close(self) -> None:
        """End all agents."""
        for one in self._started:
            one.stop()
        for one in self._started:
            one.wait()
            one.log.unlink(missing_ok=True)


@pytest.fixture(scope="module")
def seven(fresh: Fresh, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seven]:
    """Start the seven agents."""
    made = Seven(tmp_path_factory.mktemp("seven"), fresh.url)
    try:
        for task in SERVICES:
            made.start(task)
        with open_store(made.url, is_durable=False) as store:
            until(lambda: len(see_agents(store, patience=0.0)) == len(SERVICES), made.said)
        yield made
    finally:
        made.close()


@pytest.mark.parametrize("victim", ["ChWS4", "ChWS6"])
def test_one_of_seven_agents_is_killed(seven: Seven, victim: str) -> None:
    """The agent of a service is killed in its call: another one calls it again, and only that call."""
    run = f"seven-{victim}"
    held, agent = seven.hold(run, victim), seven.agents[victim]
    with solvent.submit(seven.workflow, name=run, store=seven.url, agents=0, folder=seven.folder) as submitted:
        until(lambda: victim in [line.task for line in seven.lines(run)], seven.said)
        os.kill(agent.pid, signal.SIGKILL)
        agent.wait()
        held.unlink()
        seven.start(victim)
        report = submitted.wait(PATIENCE)
    assert report.value == "the result is 12"
    assert report.states == dict.fromkeys(SERVICES, "done")
    made = Counter(line.task for line in seven.lines(run))
    assert made.pop(victim) > 1
    assert made == {task: 1 for task in SERVICES if task != victim}
    assert [line.is_repeated for line in seven.lines(run) if line.task == victim][-1]
    assert len({line.process for line in seven.lines(run)}) == len(SERVICES) + 1
    with open_store(seven.url, is_durable=False) as store:
        record = existing(store, run)
        assert record.shards == len(SERVICES)
        happened = happened_in_store(store, record)
    order = order_of(seven.workflow, happened, stuck=report.stuck, is_ended=False, is_cancelled=False)
    assert violations(order, HOLDS) == []
