"""`solvent run` with workflows: formats, inputs, output; loops, cancellation, signals, and runs that are stuck."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from typing import TYPE_CHECKING

import pytest

from solvent.workflows.formats.wfformat import validate
from tests.cli import controlled
from tests.cli.command import MAX_SECONDS, arguments, environment, solvent
from tests.cli.workflows import FORMS, TRACE, YAML, calls, put

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", FORMS)
def test_workflow_heals_whatever_it_is_written_in(tmp_path: Path, name: str) -> None:
    """In every form the alternative takes over, and what is finished is not called again."""
    result = solvent("run", put(tmp_path, name, FORMS[name]), "--format", "json")
    found = result.json
    assert (result.code, result.err) == (0, "")
    assert set(found) == {"results", "states", "calls", "adaptations", "reactions", "seconds"}
    assert found["results"] == {"D": 18}
    assert found["states"] == {"A": "done", "B": "replaced", "C": "done", "D": "done", "E": "done"}
    assert found["calls"] == {"A": 1, "B": 1, "C": 1, "D": 1, "E": 3}
    (change,) = found["adaptations"]
    assert (change["alternative"], change["because"], change["replaced"]) == ("spare", "B", ["B"])
    assert change["cause"] == "FAILED: ValueError: no such column"
    assert calls(tmp_path) == ["broken", "double", "double", "double", "double", "start", "total"]


def test_results_and_account_are_apart(tmp_path: Path) -> None:
    """Results are on standard output; what happened, and a summary, on standard error."""
    result = solvent("run", put(tmp_path, "flow.yaml", YAML))
    assert (result.code, result.out) == (0, "D: 18\n")
    assert "✗ B  failed: ValueError: no such column\n" in result.err
    assert "↻ spare: E instead of B, because of B\n" in result.err
    assert "⊘ B  replaced  1 call " in result.err
    assert "5 tasks, 7 calls, 1 adaptation, " in result.err.splitlines()[-1]


@pytest.mark.parametrize("jobs", [("--jobs", "1"), ("--processes",), ("--processes", "--jobs", "2")])
def test_threads_and_processes_agree(tmp_path: Path, jobs: tuple[str, ...]) -> None:
    """However many threads or processes there are, the results are the same."""
    assert solvent("run", put(tmp_path, "flow.yaml", YAML), *jobs).out == "D: 18\n"


@pytest.mark.parametrize("given,total", [("n=5", 50), ("n=2.5", 30.0)])
def test_inputs_are_read_as_json(tmp_path: Path, given: str, total: float) -> None:
    """An input is what its JSON says."""
    result = solvent("run", put(tmp_path, "flow.yaml", YAML), "--input", given, "--format", "json")
    assert result.json["results"] == {"D": total}


def test_input_that_is_no_json_is_text(tmp_path: Path) -> None:
    """An input that is no JSON is a text, and the last one given counts."""
    text = "inputs: {a: null}\nservices: {cat: {shell: 'printf %s {0}'}}\ntasks: {T: {service: cat, in: [$a]}}\n"
    result = solvent("run", put(tmp_path, "flow.yaml", text), "--input", "a=3", "--input", "a=b=c")
    assert result.out == "T: b=c\n"


def test_trace_in_wfformat_is_replayed_and_written(tmp_path: Path) -> None:
    """A recorded run is replayed at another scale, and its own run is a valid trace again."""
    file, out = tmp_path / "two.json", tmp_path / "out.json"
    file.write_text(json.dumps(TRACE))
    result = solvent("run", file, "--scale", "0.0001", "--wfformat", out, "--format", "json")
    assert (result.code, result.json["states"]) == (0, {"a": "done", "b": "done"})
    assert result.json["seconds"] >= 0.2
    document = json.loads(out.read_text())
    assert validate(document) == []
    assert [one["id"] for one in document["workflow"]["execution"]["tasks"]] == ["a", "b"]


def test_trace_shows_reactions(tmp_path: Path) -> None:
    """`--trace` writes every reaction to standard error."""
    result = solvent("run", put(tmp_path, "flow.yaml", YAML), "--trace")
    assert result.out == "D: 18\n"
    assert {"ft_call", "gw_call", "wa_when", "wa_pass"} <= {
        line.split()[1].rstrip(":") for line in numbered(result.err)
    }


def numbered(text: str) -> list[str]:
    """Give the lines that begin with a number and a name."""
    return [line for line in text.splitlines() if len(line.split()) > 1 and line.split()[0].isdecimal()]


def test_values_that_json_cannot_say(tmp_path: Path) -> None:
    """A result that is no JSON stands as its Python form, and a note says so."""
    text = 'services: {s: {python: "own:strange"}}\ntasks: {T: {service: s}, U: {service: s}}\nresults: [T]\n'
    found = solvent("run", put(tmp_path, "flow.yaml", text), "--format", "json").json
    assert found["results"]["T"].startswith("{1: {")
    assert ["`T`" in note for note in found["notes"]] == [True]


def test_long_integer_is_shortened(tmp_path: Path) -> None:
    """Python writes out no integer of 5,001 digits: a terminal gets the first digits, JSON all of them."""
    text = 'services: {s: {python: "operator:pow"}}\ntasks: {T: {service: s, in: [10, 5000]}}\n'
    file = put(tmp_path, "flow.yaml", text)
    assert solvent("run", file).out == "T: 10000000000000000000… (5,001 digits)\n"
    assert f'"T": 1{"0" * 5000}' in solvent("run", file, "--format", "json").out


def test_large_workflow_is_told_in_numbers(tmp_path: Path) -> None:
    """Two thousand tasks run, and are not told one by one."""
    tasks = "".join(f"  t{n}: {{service: s, from: [a]}}\n" for n in range(2_000))
    text = f'services: {{s: {{python: "own:total"}}}}\ntasks:\n  a: {{service: s, in: [1]}}\n{tasks}results: [t9]\n'
    result = solvent("run", put(tmp_path, "flow.yaml", text))
    assert (result.code, result.out) == (0, "t9: 1\n")
    assert len(result.err.splitlines()) < 40
    assert "  2,001 done\n" in result.err


def test_ordinary_programs_run_as_before(tmp_path: Path) -> None:
    """A program that merely mentions SRV is run as the program it is."""
    file = tmp_path / "program.hocl"
    file.write_text("<SRV : 1, T : <SRV : 2, replace-one x by x>, 3>")
    assert solvent("run", file).out == "<3, SRV:1, T:<SRV:2>>\n"


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
    assert "error[W203]: the workflow is stuck: nothing runs, and these tasks still wait\n" in result.err
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
    without = solvent("run", file, "--no-record")
    assert (without.code, "`W` waits for the signal `go`" in without.err, "--signal go" in without.err) == (
        1,
        True,
        True,
    )


@pytest.mark.parametrize(
    "given,said",
    [
        ("gone", "error[H316]: no task of `flow` waits for the signal `gone`"),
        ("go@soon", "must have a number of seconds behind the `@`, not `go@soon`"),
        ("go@-1", "must have a number of seconds behind the `@`, not `go@-1`"),
        ("go=abc", "must have JSON behind the `=`, not `go=abc`"),
        ("=3", "must begin with the name of a signal, not `=3`"),
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
