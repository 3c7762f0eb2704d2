"""Runs that have ended are removed from stores, with all that they left, and nothing else is."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import msgspec
import pytest

from solvent.errors import RecordProblem
from solvent.runs.agents import submit
from solvent.runs.agents.offers import offers_of
from solvent.runs.closed_shards import report_of
from solvent.runs.embedded import EmbeddedRun
from solvent.runs.holders import ask_to_stop, this_process
from solvent.runs.journal import StoredJournal
from solvent.runs.prune import EndedRun, choose, ended_runs, prune, used_blobs
from solvent.runs.recorded_run import new_run
from solvent.runs.registry import change, end, find, list_runs, record_of
from solvent.store import open_store
from solvent.store.leases import AGENTS, Heartbeat
from solvent.workflows.model import Input, Service, Task, Workflow
from tests.live.fresh_stores import fresh_part
from tests.unit.runs.agents.flows import AgentsHere, adaptive, run_by_agents

if TYPE_CHECKING:
    from pathlib import Path

    from solvent.store import Store

LARGE = "x" * 200_000

PROCESS = "import msgspec, solvent.runs.holders as h; print(msgspec.json.encode(h.this_process()).decode())"


def echo(text: str) -> str:
    """Return a text."""
    return text


ECHO = Workflow(
    "echo", (Task("one", "echo", (Input("text"),)),), (Service("echo", function=echo),), inputs={"text": ""}
)


def ended(store: Store, *names: str) -> list[EndedRun]:
    """Return runs that have ended, by their names."""
    return [one for one in ended_runs(store) if one.run in names]


def traces(store: Store, *names: str) -> list[str]:
    """Return where something stands of runs: logs, keys, and records that name them."""
    found = [one.log for one in store.read("", limit=100_000) if any(name in one.log for name in names)]
    found += [one.log for one in store.read("", limit=100_000) if any(name.encode() in one.data for name in names)]
    return found + [key for key in store.keys("") if any(name in key for name in names)]


def test_a_run_is_removed_with_all_that_it_left(store: Store) -> None:
    """Nothing names it any more, its name is free, and agents do not run it again; others are as they were."""
    gone, kept, going = fresh_part(), fresh_part(), fresh_part()
    for run in (gone, kept):
        submit(store, run, adaptive(), {})
        run_by_agents(store, run)
    submit(store, going, adaptive(), {})
    assert [one.run for one in ended(store, gone, kept, going)] == [gone, kept]
    found = prune(store, choose(ended(store, gone, kept), keep=1))
    assert [one.run for one in found.runs] == [gone]
    assert traces(store, gone) == []
    with pytest.raises(RecordProblem, match="R401"):
        find(store, gone)
    record = find(store, kept)
    report = report_of(store, record, adaptive())
    assert report is not None
    assert report.succeeded
    assert run_by_agents(store, going).state == "done"
    assert record_of(store, gone) is None
    submit(store, gone, adaptive(), {})
    assert run_by_agents(store, gone).state == "done"


def test_a_run_that_goes_on_is_not_removed(store: Store) -> None:
    """Whoever chose a run that is made again under its name meanwhile does not remove that one."""
    run = fresh_part()
    submit(store, run, adaptive(), {})
    run_by_agents(store, run)
    (chosen,) = ended(store, run)
    change(store, run, lambda one: msgspec.structs.replace(one, state="running"))
    assert prune(store, [chosen]).runs == ()
    assert find(store, run).state == "running"


@pytest.mark.parametrize("steps", [0, 1, 3, 5])
def test_a_kill_amid_removal_leaves_no_half_of_a_run(store: Store, monkeypatch: pytest.MonkeyPatch, steps: int) -> None:
    """It is gone to all who look, its name is taken until the rest is removed, and the next call removes that."""
    run = fresh_part()
    submit(store, run, adaptive(), {})
    run_by_agents(store, run)
    drop, left = store.drop, [steps]

    def killed(name: str, *, up_to: int | None = None) -> None:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        drop(name, up_to=up_to)

    monkeypatch.setattr(store, "drop", killed)
    with pytest.raises(KeyboardInterrupt):
        prune(store, ended(store, run))
    monkeypatch.undo()
    assert run not in [one.run for one in list_runs(store)]
    with pytest.raises(RecordProblem, match="R401"):
        find(store, run)
    with AgentsHere(store):
        pass
    prune(store, [])
    assert traces(store, run) == []


def test_the_blobs_of_a_run_go_with_it(store: Store) -> None:
    """What others use stays, also a run that is not recorded yet, though nothing in the store names its blobs."""
    prune(store, ended_runs(store), min_age=-1.0)
    run, other = fresh_part(), fresh_part()
    for name, text in ((run, LARGE + run), (other, LARGE + other)):
        hosted = new_run(store, ECHO, {"text": text})
        hosted.name(name)
        embedded = EmbeddedRun(ECHO, {"text": text}, journal=hosted.journal)
        hosted.open()
        hosted.end(embedded.run())
    # What it puts while it begins is older than what is swept here, and so counts as just put only in the default.
    coming = new_run(store, ECHO, {"text": LARGE + "coming"})
    coming.name(fresh_part())
    would = prune(store, ended(store, run), is_tried=True, min_age=-1.0)
    assert would.bytes >= len(LARGE)
    assert find(store, run).state == "done"
    assert prune(store, ended(store, run)).blobs == 0
    embedded = EmbeddedRun(ECHO, {"text": LARGE + "coming"}, journal=coming.journal)
    coming.open()
    coming.end(embedded.run())
    swept = store.sweep_blobs(used_blobs(store), min_age=-1.0)
    assert swept.blobs >= 1
    assert swept.bytes >= len(LARGE)
    for name in (other, coming.record.run):
        journal = StoredJournal(store, f"runs/{name}/shard/0", "", is_read_only=True)
        journal.open()
        report = report_of(store, find(store, name), ECHO)
        assert report is not None
        assert report.results["one"].startswith(LARGE)


def test_an_agent_hears_of_a_run_that_was_removed(store: Store) -> None:
    """One that takes part in a run which is over and gone leaves it, and says of it what it says of any other."""
    run = fresh_part()
    submit(store, run, ECHO, {})
    with AgentsHere(store) as agents:
        # It has none of the services.
        agents.wait_for(f"{run} needs services")
        assert end(store, run, "cancelled")
        prune(store, ended(store, run))
        agents.wait_for(f"{run} is over")
    assert not [one for one in agents.told if "cannot be run here" in one]
    prune(store, [])
    assert traces(store, run) == []


def test_what_dead_agents_have_left_is_removed(store: Store) -> None:
    """A heartbeat whose process is gone goes, with what it said of trouble; one whose process is there stays."""
    dead, alive = fresh_part(), fresh_part()
    process = subprocess.run(
        [
            sys.executable,
            "-c",
            "import msgspec, solvent.runs.holders as h; print(msgspec.json.encode(h.this_process()).decode())",
        ],
        capture_output=True,
        check=True,
    )
    store.put(AGENTS + dead, msgspec.msgpack.encode({"ttl": 3600.0, "process": msgspec.json.decode(process.stdout)}))
    store.put(f"troubles/{dead}", b"no room")
    ask_to_stop(store, dead)
    with Heartbeat(store, alive, about={"process": msgspec.to_builtins(this_process())}):
        assert prune(store, []).agents == (dead,)
        assert alive in {key.removeprefix(AGENTS) for key in store.keys(AGENTS)}
    assert traces(store, dead) == []


def test_runs_that_go_on_are_not_disturbed(store: Store) -> None:
    """While others remove all that has ended, again and again, and sweep, agents run and record as ever."""
    names, over = [fresh_part() for _ in range(6)], threading.Event()

    def clean() -> int:
        rounds = 0
        while not over.is_set():
            prune(store, [one for one in ended_runs(store) if one.run in names])
            rounds += 1
        return rounds

    with ThreadPoolExecutor(2) as pool, AgentsHere(store, offers_of([ECHO]), many=2) as agents:
        cleaning = [pool.submit(clean) for _ in range(2)]
        try:
            for name in names:
                submit(store, name, ECHO, {"text": LARGE + name})
                agents.wait_for(f"{name} is done")
        finally:
            over.set()
    assert all(one.result() for one in cleaning)
    prune(store, ended(store, *names))
    assert traces(store, *names) == []
    assert not [one for one in agents.told if "cannot be run here" in one or "failed" in one]


def test_the_file_of_a_store_is_smaller_when_runs_are_gone(tmp_path: Path) -> None:
    """Prune gives the room of what it removes back to the system and says how much; what stays is as it was."""
    path = tmp_path / "runs.db"
    with open_store(str(path), is_durable=False) as store:
        for name in ("gone", "kept"):
            held = new_run(store, ECHO, {"text": name})
            held.name(name)
            held.execute(held.embed(ECHO, {"text": name}))
        for number in range(100):
            store.append("runs/gone/more", bytes([number]) * 20_000)
        kept = [*store.read("runs/kept/")]
        found = prune(store, ended(store, "gone"))
        assert found.freed > 1_500_000
        assert [*store.read("runs/kept/")] == kept
        assert prune(store, []).freed < 100_000
    assert path.stat().st_size < 500_000
