"""`solvent agent` and `solvent submit`: workflows run by processes that offer services, and only these."""

from __future__ import annotations

import json
import shutil
import signal
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.agent_processes import DONE, FLOW, Command, agents_of, calls, put_flow, until
from tests.cli.command import solvent
from tests.live.agents_damage import fill, small_disk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STORE = ("--store", "runs.db")


def test_a_submitted_workflow_is_run_by_agents(tmp_path: Path) -> None:
    """Two agents run it together; who asks gets its results; an agent ends by SIGTERM, and says all it does."""
    put_flow(tmp_path)
    submitted = solvent("submit", "flow.yaml", *STORE, "--input", "n=3", cwd=tmp_path)
    run = submitted.out.strip()
    assert (submitted.code, run.startswith("numbers-")) == (0, True)
    words = ("agent", *STORE, "--services", "flow.yaml", "--ttl", "2")
    with Command(*words, cwd=tmp_path) as one, Command(*words, "--format", "json", cwd=tmp_path) as two:
        # Until both have a part in it, the run cannot end.
        one.wait_for("took shard")
        two.wait_for("took shard")
        (tmp_path / "open").touch()
        result = solvent("resume", run, *STORE, cwd=tmp_path)
        assert (result.code, result.out) == (0, "sum: 21\n")
        assert "↻ instead: spare instead of odd, because of odd" in result.err
        assert calls(tmp_path) == DONE
        one.wait_for(f"{run} is over")
        assert (one.end(signal.SIGTERM), two.end(signal.SIGINT)) == (0, 0)
        assert one.said().endswith("ends; other agents take over its work\n")
        lines = [json.loads(line) for line in two.said().splitlines()]
    assert all({"time", "level", "event", "agent", "says"} <= line.keys() for line in lines)
    assert "offers broken, gate, start, total" in lines[0]["says"]
    assert agents_of(tmp_path) == []


def test_a_signal_amid_another_is_one_too_many_for_nobody(tmp_path: Path) -> None:
    """A batch system may send SIGTERM to an agent and to the script that passes it on: the agent ends all the same."""
    put_flow(tmp_path)
    with Command("agent", *STORE, "--services", "flow.yaml", cwd=tmp_path) as agent:
        agent.wait_for("offers")
        for _ in range(500):
            agent.process.send_signal(signal.SIGTERM)
        assert agent.process.wait(200) == 0
        assert agent.said().endswith("ends; other agents take over its work\n")


def test_commands_share_a_default_store(tmp_path: Path) -> None:
    """Without `--store` and the variable, an agent runs what was submitted in the same folder, and status shows it."""
    put_flow(tmp_path)
    (tmp_path / "open").touch()
    here: dict[str, Any] = {"cwd": tmp_path, "more": {"SOLVENT_STORE": ""}}
    assert solvent("submit", "flow.yaml", "--name", "r1", **here).out == "r1\n"
    assert solvent("agent", "--services", "flow.yaml", "--until", "r1", **here).code == 0
    assert "r1: done" in solvent("status", "r1", **here).out


def test_what_was_run_can_be_looked_at(tmp_path: Path) -> None:
    """Status, logs, replay and cancel know runs of agents, also by the beginning of their names."""
    put_flow(tmp_path)
    (tmp_path / "open").touch()
    solvent("submit", "flow.yaml", *STORE, "--name", "first-run", cwd=tmp_path)
    with Command("agent", *STORE, "--services", "flow.yaml", "--until", "first-run", cwd=tmp_path) as agent:
        assert agent.process.wait(200) == 0
    listed = solvent("status", *STORE, cwd=tmp_path).out
    assert "first-run  done" in listed
    assert listed.endswith("5 tasks  numbers, by agents\n")
    status = solvent("status", "first", *STORE, cwd=tmp_path)
    assert "first-run: done, numbers, 5 shards" in status.out
    assert "5 tasks: 4 done, 0 out, 0 waiting, 1 failed; 5 calls, 0 of them repeated" in status.out
    events = solvent("logs", "first-run", *STORE, "--format", "json", cwd=tmp_path).json["events"]
    assert [one["event"] for one in events if one.get("task") == "odd"] == ["called", "failed", "adapted"]
    assert [one["at"] for one in events] == sorted(one["at"] for one in events)
    assert events[-1]["event"] == "ended"
    replay = solvent("replay", "first-run", *STORE, cwd=tmp_path)
    assert (replay.code, replay.out) == (0, "sum: 17\n")
    assert "the replay came to the same as the run first-run" in replay.err
    unknown = solvent("status", "nope", *STORE, cwd=tmp_path)
    assert (unknown.code, "the latest: first-run" in unknown.err) == (2, True)
    cancel = solvent("cancel", "first-run", *STORE, cwd=tmp_path)
    assert cancel.out == "first-run had ended before: done\n"
    assert calls(tmp_path) == DONE


def test_a_run_is_cancelled(tmp_path: Path) -> None:
    """Cancelling ends the calls, tells the agents, and who asks for the results hears of it."""
    put_flow(tmp_path)
    with Command("agent", *STORE, "--services", "flow.yaml", cwd=tmp_path) as agent:
        agent.wait_for("offers")
        solvent("submit", "flow.yaml", *STORE, "--name", "r1", cwd=tmp_path)
        agent.wait_for("took shard")
        assert solvent("cancel", "r1", *STORE, cwd=tmp_path).out == "r1: cancelled\n"
        agent.wait_for("r1 is over")
    result = solvent("resume", "r1", *STORE, "--format", "json", cwd=tmp_path)
    assert (result.code, result.json["run"], result.json["results"]) == (1, "r1", {})
    assert "r1: cancelled" in solvent("status", "r1", *STORE, cwd=tmp_path).out


def test_an_agent_without_the_services_says_so(tmp_path: Path) -> None:
    """It names what it was not started with; status names what nobody offers; another command is not smuggled in."""
    put_flow(tmp_path)
    own = FLOW.replace('{python: "own:start"}', "{shell: 'touch proof'}").replace('{python: "own:gate"}', "{shell: id}")
    (tmp_path / "own.yaml").write_text(own, encoding="utf-8")
    solvent("submit", "flow.yaml", *STORE, "--name", "r1", cwd=tmp_path)
    with Command("agent", *STORE, "--services", "own.yaml", "--ttl", "2", cwd=tmp_path) as agent:
        agent.wait_for("r1 needs services that this agent was not started with: gate, start")
        status = solvent("status", "r1", *STORE, cwd=tmp_path)
    assert "no living agent offers: gate, start\n" in status.out
    assert "alive" in status.out
    assert not (tmp_path / "proof").exists()


def test_nobody_runs_a_run_without_agents(tmp_path: Path) -> None:
    """Who wants to go on with a run that no agent has hears what to do."""
    put_flow(tmp_path)
    solvent("submit", "flow.yaml", *STORE, "--name", "r1", cwd=tmp_path)
    result = solvent("resume", "r1", *STORE, cwd=tmp_path)
    assert result.code == 2
    assert "error[A104]: `r1` cannot continue: no agent is alive at this store\n" in result.err
    assert "solvent agent --store URL --services WORKFLOW" in result.err
    assert "no living agent offers: broken, gate, start, total" in solvent("status", "r1", *STORE, cwd=tmp_path).out


@pytest.mark.parametrize(
    "words,said",
    [
        (("agent", *STORE), "error[A103]: this agent would have no services to offer"),
        (("agent", "--services", "flow.yaml"), "error[R401]: agents need a store, and none is named"),
        (("agent", *STORE, "--services", "none.yaml"), "error[W100]"),
        (("agent", *STORE, "--services", "flow.yaml", "sub/flow.yaml"), "error[A103]: flow.yaml and sub/flow.yaml"),
        (("agent", *STORE, "--services", "flow.yaml", "--ttl", "0.1"), "error[H313]"),
        (("agent", *STORE, "--services", "flow.yaml", "--ttl", "3601"), "error[H313]: `--ttl` is at most 3600 seconds"),
        (("agent", *STORE, "--services", "gone.yaml"), "error[W171]: service `start`"),
        (("submit", "lambda.py", *STORE), "error[A101]"),
        (("submit", "flow.yaml", *STORE, "--input", "m=1"), "error[W131]"),
        (("submit", "flow.yaml", *STORE, "--name", "a b"), "error[A101]: a run cannot be called"),
        (("resume", "r1", *STORE, "--agents", "1"), "error[A103]: the agents have no services to offer"),
        (("run", "program.hocl", "--agents", "2"), "error[H313]: `--agents` is for workflows"),
        (("agents", "up", "none.yaml", *STORE), "error[A108]"),
        (("agents", "down", *STORE), "error[H319]: no agents are named"),
        (("agents",), "error[H319]: `solvent agents` needs `WORD`"),
    ],
)
def test_wrong_usage_is_a_clear_error(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    """What is wrong is said with what to do, and nothing is started."""
    put_flow(tmp_path)
    put_flow(tmp_path / "sub")
    (tmp_path / "gone.yaml").write_text(FLOW.replace("own:start", "no_such_module:start"), encoding="utf-8")
    (tmp_path / "program.hocl").write_text("<1>", encoding="utf-8")
    (tmp_path / "lambda.py").write_text(LAMBDA, encoding="utf-8")
    solvent("submit", "flow.yaml", *STORE, "--name", "r1", cwd=tmp_path)
    result = solvent(*words, cwd=tmp_path)
    assert (result.code, said in result.err) == (2, True), result.err


LAMBDA = """\
from solvent import service, workflow


@workflow
def flow():
    return service(lambda: 1, name="f")()
"""


FULL = "there is no room for the store"


@pytest.fixture(name="disk")
def _disk(tmp_path: Path) -> Iterator[Path]:
    try:
        with small_disk(tmp_path / "disk") as folder:
            yield folder
    except OSError as error:
        pytest.skip(f"no disk can be mounted here: {error}")


def test_a_full_disk_is_said_once_and_the_run_goes_on_when_there_is_room(tmp_path: Path, disk: Path) -> None:
    """An agent says it and that it is over; who watches is told; `status` and `resume` tell it; nothing is lost."""
    put_flow(tmp_path)
    store = ("--store", disk / "runs.db")
    solvent("submit", "flow.yaml", "--name", "r", *store, cwd=tmp_path)
    agent = Command("agent", *store, "--services", "flow.yaml", "--ttl", "1", cwd=tmp_path)
    with agent, Command("resume", "r", *store, cwd=tmp_path) as run:
        until(lambda: calls(tmp_path).count("gate") == 2)
        run.wait_for("spare  started")
        fill(disk / "ballast")
        agent.wait_for(f"{FULL} {disk / 'runs.db'}: the disk is full; it goes on when there is room")
        run.wait_for(f"! {FULL}")
        assert FULL in solvent("status", "r", *store, cwd=tmp_path).out
        resumed = solvent("resume", "r", *store, cwd=tmp_path)
        assert (resumed.code, f"error[E403]: {FULL}" in resumed.err) == (1, True)
        (disk / "ballast").unlink()
        (tmp_path / "open").touch()
        agent.wait_for("the store is well again")
        assert run.process.wait(200) == 0
        assert (run.said().count(FULL), agent.said().count(FULL)) == (1, 1)
        assert "does not answer" not in agent.said()
        assert "sum: 17" in run.said()
    assert set(calls(tmp_path)) == set(DONE)


def test_an_agent_whose_store_is_gone_ends(tmp_path: Path) -> None:
    """Its files were replaced, and waiting does not help: it says so and ends, and may be started again."""
    put_flow(tmp_path)
    with Command("agent", "--store", "runs.db", "--services", "flow.yaml", "--ttl", "0.5", cwd=tmp_path) as agent:
        until(lambda: agents_of(tmp_path) != [])
        shutil.copy(tmp_path / "runs.db", tmp_path / "copy.db")
        (tmp_path / "copy.db").rename(tmp_path / "runs.db")
        assert agent.process.wait(200) == 1
        assert "error[E409]: the store" in agent.said()
