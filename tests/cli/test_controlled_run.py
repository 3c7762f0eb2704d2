"""`solvent run` with workflows whose tasks repeat, are cancelled, wait for signals, or get stuck."""

from __future__ import annotations

import os
import pty
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.cli import controlled
from tests.cli.command import MAX_SECONDS, arguments, environment, solvent

if TYPE_CHECKING:
    from pathlib import Path


def test_task_that_runs_several_times_says_how_often(tmp_path: Path) -> None:
    """A loop tells each round while it runs, and in the end how often each task ran."""
    result = solvent("run", controlled.put(tmp_path, controlled.LOOP))
    assert (result.code, result.out) == (0, "D: 5\n")
    assert "▸ H  started\n" in result.err
    assert "▸ H  started again, run 5\n" in result.err
    assert "  ✓ H  done      5 runs  " in result.err
    assert "  ✓ D  done      1 call  " in result.err
    assert "4 tasks, 12 calls, " in result.err.splitlines()[-1]


def test_loop_as_json_has_its_trace(tmp_path: Path) -> None:
    """The JSON has every start and end in order, and how the case ended."""
    found = solvent("run", controlled.put(tmp_path, controlled.LOOP), "--format", "json").json
    assert (found["stuck"], found["ended_by"], found["cancelled"]) == ([], "", False)
    events = [(one["event"], one["task"]) for one in found["trace"]]
    once = [("started", "H"), ("done", "H"), ("started", "C"), ("done", "C")]
    assert events == [("started", "A"), ("done", "A"), *once * 5, ("started", "D"), ("done", "D")]
    seconds = [one["seconds"] for one in found["trace"]]
    assert seconds == sorted(seconds)


def test_first_arrival_cancels_the_rest(tmp_path: Path) -> None:
    """A branch that is cancelled by a join is shown as cancelled, and the run is done."""
    result = solvent("run", controlled.put(tmp_path, controlled.FIRST_CANCELS))
    assert (result.code, result.out) == (0, "D: 1\n")
    assert "⊗ C  cancelled\n" in result.err
    assert "  ⊗ C  cancelled  1 call  " in result.err


def test_region_that_is_cancelled(tmp_path: Path) -> None:
    """What a task withdraws is cancelled if it ran, and unused if it did not."""
    found = solvent("run", controlled.put(tmp_path, controlled.REGION), "--format", "json").json
    assert found["states"] == {"A": "done", "B": "cancelled", "C": "done", "D": "unused"}
    assert ("cancelled", "B") in [(one["event"], one["task"]) for one in found["trace"]]


def test_instances_are_one_run_of_several_calls(tmp_path: Path) -> None:
    """A task of several instances starts and ends once, and says how many calls that took."""
    result = solvent("run", controlled.put(tmp_path, controlled.MANY))
    assert (result.code, result.out) == (0, "D: [2, 4, 6, 8]\n")
    assert result.err.count("M  started") == result.err.count("✓ M  done\n") == 1
    assert "  ✓ M  done      4 calls  " in result.err


def test_way_that_is_not_taken_is_unused(tmp_path: Path) -> None:
    """A choice leaves a task unused, and the run is done all the same."""
    result = solvent("run", controlled.put(tmp_path, controlled.CHOICE), "--input", "n=1", "--format", "json")
    assert (result.code, result.json["results"]) == (0, {"D": 1})
    assert result.json["states"] == {"A": "done", "B": "unused", "C": "done", "D": "done"}


def test_stand_in_in_a_loop_is_told_once(tmp_path: Path) -> None:
    """An alternative that takes over in every round is one line of the summary."""
    result = solvent("run", controlled.put(tmp_path, controlled.SPARE))
    assert (result.code, result.out) == (0, "C: 3\n")
    assert "  ↻ spare: S instead of B, because of B (FAILED: ValueError: no such column), 3 times\n" in result.err


def test_stuck_run_says_who_waits(tmp_path: Path) -> None:
    """A run in which something waits for ever is an error that names who waits for what."""
    file = controlled.put(tmp_path, controlled.STUCK)
    result = solvent("run", file)
    assert (result.code, result.out) == (1, "")
    assert "error[W203]: stuck: nothing more can happen, and something still waits\n" in result.err
    assert "\n  `D` waits for `C`; `B` has arrived\n" in result.err
    as_json = solvent("run", file, "--format", "json")
    assert (as_json.code, as_json.json["stuck"]) == (1, ["`D` waits for `C`; `B` has arrived"])
    assert as_json.err.startswith('{"error": {"code": "W203", ')


def test_case_that_is_ended(tmp_path: Path) -> None:
    """A task may end the case: what runs is cancelled, and the run is done."""
    result = solvent("run", controlled.put(tmp_path, controlled.ENDS))
    assert (result.code, result.out) == (0, "C: 1\n")
    assert "`C` has ended the case\n" in result.err
    assert result.err.splitlines()[-1].startswith("done after ")


def test_case_that_is_cancelled(tmp_path: Path) -> None:
    """A cancelled case says by whom, and has exit code 1."""
    file = controlled.put(tmp_path, controlled.CANCELLED)
    result = solvent("run", file)
    assert result.code == 1
    assert "`C` has cancelled the case\n" in result.err
    assert result.err.splitlines()[-1].startswith("cancelled after ")
    found = solvent("run", file, "--format", "json").json
    assert (found["ended_by"], found["cancelled"], found["states"]["B"]) == ("C", True, "cancelled")


# --- Signals.


@pytest.mark.parametrize(
    "given,value",
    [("go", None), ("go=[1, 2]", [1, 2]), ('go="a@5"', "a@5"), ('go="a@5"@0.2', "a@5"), ("go=3@0.2", 3)],
)
def test_signal_with_its_value(tmp_path: Path, given: str, value: object) -> None:
    """A signal has a name, perhaps a value, perhaps a time."""
    found = solvent("run", controlled.put(tmp_path, controlled.SIGNAL), "--signal", given, "--format", "json").json
    assert found["results"] == {"D": value}
    (came,) = [one for one in found["trace"] if one["event"] == "signal"]
    assert came["task"] == "go"
    if given.endswith("@0.2"):
        assert came["seconds"] >= 0.2


def test_signal_is_told(tmp_path: Path) -> None:
    """A signal that comes is a line of its own; one that does not is what the run is stuck for."""
    file = controlled.put(tmp_path, controlled.SIGNAL)
    assert "⚑ the signal `go` came\n" in solvent("run", file, "--signal", "go").err
    without = solvent("run", file)
    assert (without.code, "`W` waits for the signal `go`" in without.err, "--signal go" in without.err) == (
        1,
        True,
        True,
    )


@pytest.mark.parametrize(
    "given,said",
    [
        ("gone", "error[H316]: no task of `flow` waits for the signal `gone`"),
        ("go@soon", "`soon` is not a number of seconds"),
        ("go@-1", "`-1` is not a number of seconds"),
        ("go=abc", "`abc` is not JSON"),
        ("=3", "names no signal"),
    ],
)
def test_wrong_signals(tmp_path: Path, given: str, said: str) -> None:
    """A signal that nobody waits for, or that does not read, is refused before anything runs."""
    result = solvent("run", controlled.put(tmp_path, controlled.SIGNAL), "--signal", given)
    assert (result.code, result.out, said in result.err) == (2, "", True)


def test_plain_workflow_has_no_signals(tmp_path: Path) -> None:
    """A workflow without control flow, and a program, refuse signals."""
    plain = solvent("run", controlled.put(tmp_path, "tasks: {A: {service: one}}\n"), "--signal", "go")
    assert (plain.code, "error[H316]" in plain.err) == (2, True)
    program = solvent("run", "-", "--signal", "go", typed="<1>")
    assert (program.code, "error[H313]" in program.err) == (2, True)


def test_signals_from_python() -> None:
    """`run_workflow` takes signals too, and refuses them where nobody waits for any."""
    import solvent
    from solvent.workflows.model import Control, Service, Signalled, Task, Workflow

    services = (Service("same", function=lambda value=None: value),)
    waits = Task("W", "same", (Signalled(),), control=Control(signal="go"))
    assert solvent.run(Workflow("w", (waits,), services), signals=[(0.0, "go", 7)]).results == {"W": 7}
    for workflow in (Workflow("w", (waits,), services), Workflow("w", (Task("A", "same"),), services)):
        with pytest.raises(solvent.Misuse, match="waits for the signal `stop`"):
            solvent.run(workflow, signals=[(0.0, "stop", None)])


# --- Traces, files, terminals.


def test_trace_shows_the_rules_of_patterns(tmp_path: Path) -> None:
    """`--trace` writes every reaction of a controlled run."""
    result = solvent("run", controlled.put(tmp_path, controlled.LOOP), "--trace")
    assert (result.code, result.out) == (0, "D: 5\n")
    assert "invokeServ: " in result.err
    assert "passInfo: " in result.err


def test_controlled_run_as_wfformat(tmp_path: Path) -> None:
    """A run in which tasks ran several times is written as a trace, with the last run of each."""
    import json

    from solvent.workflows.formats.wfformat import validate

    out = tmp_path / "out.json"
    result = solvent("run", controlled.put(tmp_path, controlled.LOOP), "--wfformat", out, "--format", "json")
    document = json.loads(out.read_text())
    tasks = {one["id"]: one for one in document["workflow"]["execution"]["tasks"]}
    assert (result.code, validate(document), sorted(tasks)) == (0, [], ["A", "C", "D", "H"])
    last = [one["seconds"] for one in result.json["trace"] if (one["event"], one["task"]) == ("started", "H")][-1]
    assert tasks["H"]["startInSeconds"] == pytest.approx(last, abs=0.001)


def test_picture_of_a_loop(tmp_path: Path) -> None:
    """On a terminal the picture counts calls instead of showing a bar, and ends with the summary."""
    file = controlled.put(tmp_path, controlled.ENDLESS.replace('"true"', '"result < 0"'))
    ours, theirs = pty.openpty()
    words = arguments("run", file)
    surroundings = {**environment(), "TERM": "xterm"}
    with subprocess.Popen(words, stdout=theirs, stderr=theirs, stdin=theirs, env=surroundings) as process:
        os.close(theirs)
        seen = b""
        try:
            while data := os.read(ours, 65_536):
                seen += data
        except OSError:
            pass  # The other side is closed.
        code = process.wait(timeout=MAX_SECONDS)
    os.close(ours)
    assert code == 0
    assert "4 done" in seen.decode()
    assert "4 calls" in seen.decode()
    assert "━" not in seen.decode()
