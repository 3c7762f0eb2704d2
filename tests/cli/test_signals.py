"""Runs that wait for people: `solvent signal`, `solvent status --waiting`, in one process and with agents."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.agent_processes import Command, calls, kill_agents, put_flow, until
from tests.cli.command import solvent
from tests.live.store_backends import BACK_ENDS, fresh_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FLOW = """\
workflow: release
services: {start: {python: "own:start"}, total: {python: "own:total"}}
tasks:
  build: {service: start, in: [1]}
  publish: {service: total, in: [{signal: value}], after: [build], signal: approved}
"""


@pytest.fixture(params=BACK_ENDS)
def store(request: pytest.FixtureRequest) -> Iterator[str]:
    """Give the address of a store of each kind."""
    with fresh_store(request.param) as fresh:
        yield fresh.url


def waiting(folder: Path, store: str) -> list[tuple[str, str, str]]:
    """Give the run, the task and the signal of all that waits; nothing where there is no store yet."""
    found = solvent("status", "--waiting", "--store", store, "--format", "json", cwd=folder)
    return [(one["run"], one["task"], one["signal"]) for one in found.json["waiting"]] if found.code == 0 else []


def state(folder: Path, store: str) -> str:
    """Give the state of the run."""
    return str(solvent("status", "r", "--store", store, "--format", "json", cwd=folder).json["state"])


WAITS = [("r", "publish", "approved")]


def test_a_run_is_approved_after_all_agents_were_killed(tmp_path: Path, store: str) -> None:
    """It waits, whoever dies; the signal is kept until agents are there again, and heard once by its id."""
    put_flow(tmp_path, FLOW)
    at = ("--store", store)
    assert solvent("submit", "flow.yaml", *at, "--name", "r", cwd=tmp_path).code == 0
    agent = ("agent", *at, "--services", "flow.yaml", "--ttl", "1")
    with Command(*agent, cwd=tmp_path), Command(*agent, cwd=tmp_path):
        until(lambda: waiting(tmp_path, store) == WAITS)
        assert state(tmp_path, store) == "waiting"
        kill_agents(tmp_path, store)
    assert (waiting(tmp_path, store), state(tmp_path, store)) == (WAITS, "waiting")
    said = solvent("status", "r", *at, cwd=tmp_path).out
    assert "`publish` waits for the signal `approved`: solvent signal r approved" in said
    for value in ("[1, 2]", "[3]"):
        sent = solvent("signal", "r", "approved", value, "--id", "a", *at, "--format", "json", cwd=tmp_path)
        assert sent.json == {"run": "r", "signal": "approved", "id": "a"}
    with Command(*agent, "--until", "r", cwd=tmp_path) as last:
        assert last.process.wait(200) == 0
    assert solvent("resume", "r", *at, cwd=tmp_path).out == "publish: 3\n"
    assert calls(tmp_path) == ["start", "total"]
    events = solvent("logs", "r", *at, "--format", "json", cwd=tmp_path).json["events"]
    assert [one["event"] for one in events].count("signal") == 1
    late = solvent("signal", "r", "approved", *at, cwd=tmp_path)
    assert (late.code, "error[R409]: the run `r` has ended (done)" in late.err) == (1, True)


def test_a_recorded_run_of_one_process_hears_signals(tmp_path: Path, store: str) -> None:
    """It says what it waits for and how to send it; Ctrl-C leaves it waiting, and a signal that comes then is kept."""
    put_flow(tmp_path, FLOW)
    at = ("--store", store)
    with Command("run", "flow.yaml", *at, "--name", "r", cwd=tmp_path) as run:
        run.wait_for("⏸ publish waits for the signal `approved`: solvent signal r approved")
        until(lambda: (waiting(tmp_path, store), state(tmp_path, store)) == (WAITS, "waiting"))
        assert run.end(signal.SIGINT) == 130
        assert "to continue it: solvent resume r" in run.said()
    assert (waiting(tmp_path, store), state(tmp_path, store)) == (WAITS, "stopped")
    with Command("resume", "r", *at, cwd=tmp_path) as run:
        run.wait_for("⏸ publish waits for the signal `approved`")
        os.kill(run.pid, signal.SIGKILL)
    assert solvent("signal", "r", "approved", "[4]", *at, cwd=tmp_path).out == "r: sent the signal `approved`\n"
    assert solvent("resume", "r", *at, cwd=tmp_path).out == "publish: 4\n"
    assert calls(tmp_path) == ["start", "total"]
    assert waiting(tmp_path, store) == []


def test_agents_take_over_a_run_that_waits_in_one_process(tmp_path: Path) -> None:
    """What one process has heard agents know, and the other way round."""
    put_flow(tmp_path, FLOW)
    at = ("--store", "runs.db")
    with Command("run", "flow.yaml", *at, "--name", "r", cwd=tmp_path) as run:
        run.wait_for("⏸ publish waits")
        run.end(signal.SIGINT)
    with Command("resume", "r", "--agents", "2", *at, cwd=tmp_path) as run:
        run.wait_for("⏸ publish waits")
        assert solvent("signal", "r", "approved", "[5]", *at, cwd=tmp_path).code == 0
        assert run.process.wait(200) == 0
        assert "publish: 5" in run.said()


def test_signals_may_come_before_anything_has_begun(tmp_path: Path) -> None:
    """Agents are given those of the command line; such as are to come at a time are refused."""
    put_flow(tmp_path, FLOW)
    at = ("run", "flow.yaml", "--store", "runs.db", "--agents", "1")
    refused = solvent(*at, "--signal", "approved@5", cwd=tmp_path)
    assert (refused.code, "solvent signal RUN approved" in refused.err) == (2, True)
    assert solvent(*at, "--signal", "approved=[6]", cwd=tmp_path).out == "publish: 6\n"


DELAYED = """\
services: {start: {python: "own:start"}, total: {python: "own:total"}}
tasks:
  first: {service: start, in: [1]}
  pause: {delay: 1s, from: first}
  last: {service: total, from: pause}
"""


@pytest.mark.parametrize("by", [(), ("--agents", "2")])
def test_a_delay_goes_on_while_its_process_is_dead(tmp_path: Path, store: str, by: tuple[str, ...]) -> None:
    """It is over though it was killed meanwhile, and nothing is called again."""
    put_flow(tmp_path, DELAYED)
    at = ("--store", store)

    def calls_of_pause() -> list[dict[str, Any]]:
        found = solvent("logs", "r", *at, "--format", "json", cwd=tmp_path)
        return [one for one in found.json["events"] if one.get("task") == "pause"] if found.code == 0 else []

    with Command("run", "flow.yaml", *at, "--name", "r", *by, cwd=tmp_path) as run:
        until(lambda: bool(calls_of_pause()))
        if by:
            kill_agents(tmp_path, store)
        run.process.kill()
    more = (*by, "--file", "flow.yaml") if by else ()
    ended = solvent("resume", "r", *at, *more, "--format", "json", cwd=tmp_path).json
    assert (ended["results"], ended["called_again"]) == ({"last": 3}, {})
    assert [one["event"] for one in calls_of_pause()] == ["called", "done"]
    assert calls(tmp_path) == ["start", "total"]


LATE = """\
services: {start: {python: "own:start"}, total: {python: "own:total"}}
tasks:
  first: {service: start, in: [1]}
  asked: {service: total, in: [{signal: value}], after: [first], signal: {persistent: answer, timeout: 3s}}
  spare: {service: total, from: first}
alternatives: [{exits: {asked: spare}, on: timeout}]
"""


@pytest.mark.parametrize("by", [(), ("--agents", "2")])
def test_an_alternative_takes_over_when_nobody_answers(tmp_path: Path, store: str, by: tuple[str, ...]) -> None:
    """The time is over though all were killed while the run waited."""
    put_flow(tmp_path, LATE)
    at = ("--store", store)
    with Command("run", "flow.yaml", *at, "--name", "r", *by, cwd=tmp_path) as run:
        # On a machine that is too busy the time is over before anybody looks.
        until(lambda: waiting(tmp_path, store) == [("r", "asked", "answer")] or run.process.poll() is not None)
        if by:
            kill_agents(tmp_path, store)
        run.process.kill()
    more = (*by, "--file", "flow.yaml") if by else ()
    assert solvent("resume", "r", *at, *more, cwd=tmp_path).out == "asked: 3\n"
    assert (calls(tmp_path), waiting(tmp_path, store)) == (["start", "total"], [])


@pytest.mark.parametrize(
    "words,code,said",
    [
        (("r", "approve"), 2, "error[H316]: no task of `release` waits for the signal `approve`"),
        (("r", "approved", "yes"), 2, "error[H319]: the value of a signal must be JSON, not `yes`"),
        (("gone", "approved"), 2, "error[R401]: there is no run `gone`"),
    ],
)
def test_a_signal_that_cannot_be_sent_is_refused(tmp_path: Path, words: tuple[str, ...], code: int, said: str) -> None:
    """It is said why, and what to do."""
    put_flow(tmp_path, FLOW)
    solvent("submit", "flow.yaml", "--store", "runs.db", "--name", "r", cwd=tmp_path)
    result = solvent("signal", *words, "--store", "runs.db", cwd=tmp_path)
    assert (result.code, said in result.err) == (code, True), result.err


def test_a_run_that_is_not_recorded_does_not_wait(tmp_path: Path) -> None:
    """Nobody could send it a signal."""
    put_flow(tmp_path, FLOW)
    result = solvent("run", "flow.yaml", "--no-record", cwd=tmp_path)
    assert (result.code, "error[W203]" in result.err) == (1, True)
    assert "--signal approved; or record the run" in result.err
