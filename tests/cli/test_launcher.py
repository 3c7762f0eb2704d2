"""`run --agents` and `resume` of what agents run: traces, scales, killed agents, and servers that restart."""

from __future__ import annotations

import json
import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from solvent.workflows.formats.wfformat import validate
from tests.cli.agent_processes import FLOW, Command, agents_of, calls, put_flow, until
from tests.cli.command import solvent
from tests.cli.workflows import TRACE
from tests.live.store_servers import server

if TYPE_CHECKING:
    from pathlib import Path

STORE = ("--store", "runs.db")
AGENTS = ("--agents", "1", "--ttl", "3", "--no-sync")


def _trace_of(file: Path) -> dict[str, tuple[float, float]]:
    """Return when each task of a trace began, and how long it took."""
    document = json.loads(file.read_text())
    assert validate(document) == []
    return {one["id"]: one["runtimeInSeconds"] for one in document["workflow"]["execution"]["tasks"]}


def test_run_by_agents_writes_a_trace(tmp_path: Path) -> None:
    """`run --agents --wfformat` writes the trace that `run --wfformat` writes."""
    put_flow(tmp_path)
    (tmp_path / "open").touch()
    alone = solvent("run", "flow.yaml", "--no-record", "--wfformat", "alone.json", cwd=tmp_path)
    result = solvent("run", "flow.yaml", *AGENTS, *STORE, "--wfformat", "out.json", cwd=tmp_path)
    assert (result.code, result.out) == (alone.code, alone.out) == (0, "sum: 17\n")
    assert _trace_of(tmp_path / "out.json").keys() == _trace_of(tmp_path / "alone.json").keys()


def test_resume_writes_a_trace_of_a_run_that_has_ended(tmp_path: Path) -> None:
    """`resume RUN --wfformat` writes the trace also when there is nothing to resume, for agents and for one process."""
    put_flow(tmp_path)
    (tmp_path / "open").touch()
    assert solvent("run", "flow.yaml", *AGENTS, *STORE, "--name", "agents", cwd=tmp_path).code == 0
    assert solvent("run", "flow.yaml", *STORE, "--name", "alone", "--no-sync", cwd=tmp_path).code == 0
    for run in ("agents", "alone"):
        result = solvent("resume", run, *STORE, "--wfformat", f"{run}.json", cwd=tmp_path)
        assert (result.code, result.out) == (0, "sum: 17\n"), result.err
    assert _trace_of(tmp_path / "agents.json").keys() == _trace_of(tmp_path / "alone.json").keys()


def test_results_are_shown_where_the_trace_cannot_be_written(tmp_path: Path) -> None:
    """A run by agents that has ended shows its results, as one of this process does, before the error."""
    put_flow(tmp_path)
    (tmp_path / "open").touch()
    for words in ((*AGENTS, *STORE), ("--no-record",)):
        result = solvent("run", "flow.yaml", *words, "--wfformat", "nowhere/out.json", cwd=tmp_path)
        assert (result.code, result.out) == (2, "sum: 17\n")
        assert "error[H309]: cannot write nowhere/out.json" in result.err


@pytest.mark.parametrize("words", [("--trace",), ("--processes",)], ids=" ".join)
def test_options_of_one_process_are_refused_with_agents(tmp_path: Path, words: tuple[str, ...]) -> None:
    """An option that `run --help` lists, and agents do not know, is named as such."""
    put_flow(tmp_path)
    result = solvent("run", "flow.yaml", *AGENTS, *STORE, *words, cwd=tmp_path)
    assert (result.code, "H313" in result.err, words[0] in result.err) == (2, True, True), result.err


@pytest.mark.parametrize("words", [(), ("--format", "json")], ids=" ".join)
def test_a_trace_at_another_scale_is_run_by_agents(tmp_path: Path, words: tuple[str, ...]) -> None:
    """The agents that `run TRACE --scale X --agents N` starts offer the services of that scale."""
    (tmp_path / "two.json").write_text(json.dumps(TRACE))
    result = solvent("run", "two.json", "--scale", "0.00003", *AGENTS, *STORE, *words, cwd=tmp_path)
    assert result.code == 0, result.err


def test_a_trace_at_another_scale_is_resumed_by_agents(tmp_path: Path) -> None:
    """`resume --agents N --file TRACE --scale X` starts agents that offer the services of that scale."""
    (tmp_path / "two.json").write_text(json.dumps(TRACE))
    submitted = solvent("submit", "two.json", "--scale", "0.00003", *STORE, "--name", "r1", cwd=tmp_path)
    assert submitted.code == 0
    more = ("--agents", "1", "--ttl", "3", "--file", "two.json", "--scale", "0.00003")
    result = solvent("resume", "r1", *STORE, *more, cwd=tmp_path)
    assert result.code == 0, result.err


def test_json_tells_which_services_nobody_offers(tmp_path: Path) -> None:
    """With `--format json`, who watches a run that no agent can serve is told why nothing happens."""
    (tmp_path / "other.yaml").write_text("workflow: o\nservices: {x: {shell: echo}}\ntasks: {t: {service: x}}\n")
    assert solvent("submit", "other.yaml", *STORE, "--name", "r1", cwd=tmp_path).code == 0
    (tmp_path / "services.yaml").write_text("workflow: s\nservices: {y: {shell: echo}}\ntasks: {}\n")
    more = ("--agents", "1", "--ttl", "3", "--file", "services.yaml", "--format", "json")
    with Command("resume", "r1", *STORE, *more, cwd=tmp_path) as launcher:
        launcher.wait_for('{"note"')
        assert "`x`" in launcher.said() or " x" in launcher.said()
        launcher.end(signal.SIGINT)


def test_a_launcher_goes_on_when_another_agent_does(tmp_path: Path) -> None:
    """A launcher whose own agents were killed watches the run to its end if another agent goes on with it."""
    put_flow(tmp_path)
    with (
        Command("run", "flow.yaml", *AGENTS, *STORE, "--name", "r1", cwd=tmp_path) as launcher,
        Command("agent", *STORE, "--services", "flow.yaml", "--ttl", "3", cwd=tmp_path) as other,
    ):
        other.wait_for("offers")
        until(lambda: "gate" in calls(tmp_path) and len(agents_of(tmp_path)) == 2, launcher.said())
        for one in agents_of(tmp_path):
            if one["process"] != other.pid:
                with suppress(ProcessLookupError):
                    os.kill(one["process"], signal.SIGKILL)
        launcher.wait_for("all agents that were started here have ended")
        (tmp_path / "open").touch()
        assert launcher.process.wait(200) == 0, launcher.said()
    assert "sum: 17" in launcher.said()


def test_a_launcher_gives_up_when_nobody_is_left(tmp_path: Path) -> None:
    """A launcher whose agents were killed, and that sees no other, says so (A105)."""
    put_flow(tmp_path)
    with Command("run", "flow.yaml", *AGENTS, *STORE, "--name", "r1", cwd=tmp_path) as launcher:
        until(lambda: "gate" in calls(tmp_path) and bool(agents_of(tmp_path)), launcher.said())
        for one in agents_of(tmp_path):
            with suppress(ProcessLookupError):
                os.kill(one["process"], signal.SIGKILL)
        assert launcher.process.wait(200) == 1, launcher.said()
    assert "A105" in launcher.said()


ECHO = "workflow: o\nservices: {x: {shell: echo}}\ntasks: {t: {service: x}}\n"
TWO_PARTS = """\
workflow: parts
services:
  gate: {python: "own:gate"}
  x: {shell: echo}
tasks:
  held: {service: gate}
  quick: {service: x}
"""


@pytest.mark.parametrize("flow", [FLOW, TWO_PARTS], ids=["no part", "a part that is done"])
def test_a_launcher_gives_up_when_others_do_other_things(tmp_path: Path, flow: str) -> None:
    """A living agent that can do nothing more for the run does not go on with it: the launcher ends with A105."""
    put_flow(tmp_path, flow)
    (tmp_path / "other.yaml").write_text(ECHO)
    with Command("agent", *STORE, "--services", "other.yaml", "--ttl", "3", "--no-sync", cwd=tmp_path) as other:
        other.wait_for("offers")
        with Command("run", "flow.yaml", *AGENTS, *STORE, "--name", "r1", cwd=tmp_path) as launcher:
            until(lambda: "gate" in calls(tmp_path) and len(agents_of(tmp_path)) == 2, launcher.said())
            if flow == TWO_PARTS:
                launcher.wait_for("quick  done")
            for one in agents_of(tmp_path):
                if one["process"] != other.pid:
                    with suppress(ProcessLookupError):
                        os.kill(one["process"], signal.SIGKILL)
            assert launcher.process.wait(200) == 1, launcher.said()
        assert other.process.poll() is None, other.said()
    assert "A105" in launcher.said()
    assert "no living agent offers: " in launcher.said()


def test_a_launcher_waits_for_a_server_that_starts(tmp_path: Path) -> None:
    """A launcher that finds no server tries again, and runs the workflow when there is one."""
    put_flow(tmp_path)
    (tmp_path / "open").touch()
    with server() as one:
        one.stop()
        with Command("run", "flow.yaml", "--store", one.url, "--agents", "1", cwd=tmp_path) as launcher:
            launcher.wait_for("trying for")
            one.start()
            assert launcher.process.wait(200) == 0, launcher.said()
    assert "sum: 17" in launcher.said()


def test_a_launcher_and_its_agents_outlast_a_server_that_restarts(tmp_path: Path) -> None:
    """A server that is away for longer than the patience with it (30 s) ends neither the launcher nor the run."""
    put_flow(tmp_path)
    words = ("--agents", "1", "--ttl", "3")
    with server() as one, Command("run", "flow.yaml", "--store", one.url, *words, cwd=tmp_path) as launcher:
        until(lambda: "gate" in calls(tmp_path), launcher.said())
        one.stop()
        launcher.wait_for("the run continues when the store can be reached")
        one.start()
        (tmp_path / "open").touch()
        assert launcher.process.wait(200) == 0, launcher.said()
    assert "sum: 17" in launcher.said()
