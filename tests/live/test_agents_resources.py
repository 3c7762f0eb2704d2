"""Agents run workflows whose tasks change a resource, and may be killed while a call has changed half of it."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import solvent
from solvent.runs.agents.launch import Launched, launch
from solvent.runs.registry import existing
from solvent.runs.store_address import VARIABLE
from solvent.store import open_store
from solvent.workflows.model import Claim, Resource, Task, Value, Workflow
from tests.live.agents_services import SERVICES
from tests.live.agents_world import World, until
from tests.live.chemical_services import HELD, LEDGER
from tests.live.resource_flows import BYTES, COUNT, counted
from tests.patterns.run_orders import happened_in_store
from tests.repo.project import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from solvent.store import Store
    from tests.live.fresh_stores import Fresh

AGENTS = 3
PATIENCE = 200.0
TOTAL = (1 << COUNT) - 1


def calls_in(folder: Path) -> list[tuple[str, bool, int]]:
    """Return the calls that were made: the task, whether it is repeated, and the process."""
    file = folder / "ledger"
    words = [one.split() for one in file.read_text().splitlines()] if file.exists() else []
    return [(task, again == "1", int(process)) for _, task, again, process in words]


def unanswered(store: Store, run: str, folder: Path) -> set[str]:
    """Return the tasks whose calls were made and have no answer in the store."""
    happened = happened_in_store(store, existing(store, run))
    return {task for task, *_ in calls_in(folder)} - {task for task, what in happened if what == "done"}


def test_agents_are_killed_while_they_change_a_resource(fresh: Fresh, tmp_path: Path) -> None:
    """Two agents die amid a change: their calls are made again from the version before, and no other is."""
    variables = {VARIABLE: fresh.url, LEDGER: str(tmp_path / "ledger"), HELD: str(tmp_path), "PYTHONPATH": str(ROOT)}
    file, more = str(ROOT / "examples/patterns/sequence.yaml"), ["--trust-all", "--no-sync"]
    agents: list[Launched] = launch([file], AGENTS, variables=variables, more=more)
    said = lambda: "\n".join(one.tail() for one in agents)  # noqa: E731
    victims, run = ("T2", "T4"), f"counted-{id(fresh)}"
    finished: list[tuple[int, set[str]]] = []
    held = [tmp_path / f"{run}-{one}" for one in victims]
    for one in held:
        one.touch()
    try:
        with (
            open_store(fresh.url, is_durable=False) as store,
            solvent.submit(counted, name=run, store=fresh.url, agents=0) as submitted,
        ):
            for victim, hold in zip(victims, held, strict=True):
                # The answers of all others that were made are in the journal by then.
                until(lambda one=victim: unanswered(store, run, tmp_path) == {one}, said)
                made = calls_in(tmp_path)
                finished.append((len(made), {task for task, *_ in made} - {victim}))
                os.kill(next(process for task, _, process in reversed(made) if task == victim), signal.SIGKILL)
                hold.unlink()
            report = submitted.wait(PATIENCE)
        assert report.value == TOTAL
        assert int.from_bytes(report.resources["table"][:BYTES], "big") == TOTAL
        made = calls_in(tmp_path)
        assert {task for task, *_ in made} == {f"T{number}" for number in range(COUNT)}
        for count, before in finished:
            assert before.isdisjoint(task for task, *_ in made[count:])
        for victim in victims:
            assert [is_again for task, is_again, _ in made if task == victim][-1]
    finally:
        for one in agents:
            one.stop()
        for one in agents:
            one.wait()
            one.log.unlink(missing_ok=True)


def test_a_change_that_no_journal_has_was_not_made(fresh: Fresh) -> None:
    """Agents die when calls have handed on their changes and no journal has them: each change is made exactly once."""
    tasks = tuple(Task(f"T{number}", "tally", (Claim("table"), Value(1 << number))) for number in range(COUNT))
    flow = Workflow("tallied", tasks, SERVICES, resources=(Resource("table", size=BYTES),))
    run = f"tallied-{id(fresh)}"
    with World(fresh.url) as world:
        world.submit(run, flow)
        while not world.is_over(run):
            world.start(2 - len(world.alive), variant="halfway")
            until(lambda: world.is_over(run) or len(world.alive) < 2, world.words)
        report = world.report(run, flow)
        assert report is not None
        assert int.from_bytes(report.resources["table"], "big") == TOTAL
        assert world.check(run, flow) == []
