"""Runs that are recorded: resumed, looked at, replayed and cancelled by commands."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from solvent.store import open_store
from tests.cli.command import arguments, environment, solvent
from tests.cli.records import FLOW, calls, go, hanging, killed, make
from tests.live.record_storm import MAX_SECONDS, finish, start

if TYPE_CHECKING:
    from pathlib import Path

STORE = ("--store", "store.db")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder with a workflow."""
    make(tmp_path)
    return tmp_path


def test_a_run_is_recorded_under_the_current_folder(folder: Path) -> None:
    """Without any option there is a record, which no version control sees, and all commands find it."""
    go(folder)
    code, out, err = finish(start(folder, "run", "flow.yaml", "--format", "json"))
    name = json.loads(out)["run"]
    assert (code, err, name[:5]) == (0, "", "flow-")
    assert (folder / ".solvent" / ".gitignore").read_text() == "*\n"
    assert (folder / ".solvent").stat().st_mode & 0o077 == 0
    store = ("--store", str(folder / ".solvent" / "store.db"))
    assert [one["state"] for one in solvent("status", *store, "--format", "json").json["runs"]] == ["done"]
    assert solvent("status", name[:6], *store).out.startswith(f"{name}: done, flow (flow.yaml)\n")
    replay = solvent("replay", name, *store, "--trace")
    assert (replay.code, replay.out) == (0, "third: 3\n")
    assert f"the replay came to the same as the run {name}\n" in replay.err
    assert "ft_call" in replay.err
    assert calls(folder) == ["one", "hang", "add"]


@pytest.mark.parametrize("words", [(), ("--no-sync", *STORE)])
def test_ctrl_c_and_resume_lose_nothing(folder: Path, words: tuple[str, ...]) -> None:
    """It is said how to go on; what was answered is not called again."""
    process = hanging(folder, "run", "flow.yaml", "--name", "r", *words)
    process.send_signal(signal.SIGINT)
    code, _, err = finish(process)
    where = "".join(f" {one}" for one in words[1:])
    assert code == 130
    assert f"to continue it: solvent resume r{where}\n" in err
    go(folder)
    code, out, err = finish(start(folder, "resume", "r", *words[1:], seed=7))
    assert (code, out) == (0, "third: 3\n")
    assert calls(folder) == ["one", "hang", "hang", "add"]
    again = start(folder, "resume", *words[1:])
    code, out, err = finish(again)
    assert (code, out) == (0, "third: 3\n")
    assert "the run `r` is already done, " in err


def test_logs_tell_what_happened(folder: Path) -> None:
    """Calls, answers, and who went on when, of all tasks or of one."""
    killed(folder, *STORE)
    assert solvent("status", "r", *STORE, "--format", "json", cwd=folder).json["states"] == {
        "first": "done",
        "second": "interrupted",
        "third": "waiting",
    }
    go(folder)
    assert solvent("resume", *STORE, cwd=folder).out == "third: 3\n"
    events = solvent("logs", "r", *STORE, "--format", "json", cwd=folder).json["events"]
    told = [(one["event"], one.get("call", "")) for one in events]
    assert told == [
        *(("taken", ""), ("called", "first"), ("done", "first"), ("called", "second")),
        *(("taken", ""), ("called", "second"), ("done", "second"), ("called", "third"), ("done", "third")),
        ("ended", ""),
    ]
    text = solvent("logs", "r", "--task", "second", *STORE, cwd=folder).out
    assert [line.split(" s  ")[1] for line in text.splitlines()] == [
        "second called",
        "second called again",
        "second done",
    ]
    wrong = solvent("logs", "r", "--task", "secnd", *STORE, cwd=folder)
    assert (wrong.code, "second" in wrong.err) == (2, True)


def test_logs_tell_what_calls_have_printed(tmp_path: Path) -> None:
    """The output of calls that succeed is there as well, beside what is their result."""
    (tmp_path / "talk.yaml").write_text(
        "services: {talk: {shell: 'echo result; echo one >&2; echo two >&2'}}\ntasks: {first: {service: talk}}\n"
    )
    assert solvent("run", "talk.yaml", *STORE, "--name", "r", cwd=tmp_path).out == "first: result\n"
    told = solvent("logs", "r", "--task", "first", *STORE, cwd=tmp_path).out.splitlines()
    assert [line[33:] for line in told] == ["first called", "first done", "│ one", "│ two"]
    events = solvent("logs", "r", *STORE, "--format", "json", cwd=tmp_path).json["events"]
    assert [one["output"] for one in events if "output" in one] == ["one\ntwo"]


def test_logs_tell_of_attempts_and_adaptations(folder: Path) -> None:
    """Of a run of one process, too: which attempt failed, that another followed, and what took over."""
    (folder / "flow.yaml").write_text(
        "workflow: days\n"
        'services: {date: {shell: "echo no calendar >&2; exit 3", retries: 1}, old: {shell: echo yesterday}}\n'
        "tasks: {day: {service: date}, past: {service: old}}\n"
        "alternatives: [{name: no date, exits: {day: past}}]\n",
        encoding="utf-8",
    )
    assert solvent("run", "flow.yaml", "--name", "r", *STORE, cwd=folder).out == "day: yesterday\n"
    told = solvent("logs", "r", *STORE, cwd=folder).out.splitlines()
    assert sum("│ no calendar" in line for line in told) == 2
    lines = [line.split(" s  ")[1] for line in told if "│" not in line]
    assert lines[1:] == [
        "day called",
        "day failed, to be retried: exit code 3: no calendar",
        "day retried",
        "day failed at attempt 2: exit code 3: no calendar",
        "no date takes over: past instead of day: FAILED: exit code 3: no calendar",
        "past called",
        "past done",
        "the run is done",
    ]
    events = solvent("logs", "r", *STORE, "--format", "json", cwd=folder).json["events"]
    told = [(one["event"], one.get("call", one.get("alternative"))) for one in events if one.get("task") == "day"]
    assert told == [*((one, "day") for one in ("called", "attempted", "retried", "failed")), ("adapted", "no date")]
    found = solvent("timeline", "r", *STORE, "--format", "json", cwd=folder).json
    assert [one.keys() for one in found["adaptations"]] == [
        {"alternative", "because", "cause", "replaced", "by", "seconds"}
    ]
    assert found["states"] == {"day": "replaced", "past": "done"}


def test_status_has_the_same_keys_whoever_runs_it(folder: Path) -> None:
    """JSON of a run of one process, and of one that was submitted to agents, has the same keys."""
    go(folder)
    assert solvent("run", "flow.yaml", "--name", "alone", *STORE, cwd=folder).code == 0
    assert solvent("submit", "flow.yaml", "--name", "shared", *STORE, cwd=folder).code == 0
    alone, shared = (solvent("status", one, *STORE, "--format", "json", cwd=folder).json for one in ("alone", "shared"))
    assert alone.keys() - {"ended"} == shared.keys() - {"updater"}
    assert (alone["calls"], shared["calls"]) == ({"first": 1, "second": 1, "third": 1}, {})


def test_an_ended_run_is_resumed_and_replayed_as_it_was_told(folder: Path) -> None:
    """JSON of `resume` and `replay` is that of `run`, but for the time."""
    go(folder)
    told = solvent("run", "flow.yaml", "--name", "r", *STORE, "--format", "json", cwd=folder).json
    for command in ("resume", "replay"):
        again = solvent(command, "r", *STORE, "--format", "json", cwd=folder).json
        assert again | {"seconds": told["seconds"]} == told


def test_a_run_of_another_process_is_cancelled(folder: Path) -> None:
    """It ends as cancelled, and is over."""
    process = hanging(folder, "run", "flow.yaml", "--name", "r", *STORE)
    assert solvent("cancel", "r", *STORE, cwd=folder).out == "r: cancelled\n"
    code, _, err = finish(process)
    assert code == 1
    assert "cancelled after" in err
    assert solvent("resume", "r", *STORE, cwd=folder).code == 1
    assert solvent("status", "r", *STORE, cwd=folder).out.startswith("r: cancelled")
    assert solvent("cancel", "r", *STORE, cwd=folder).out == "r had ended before: cancelled\n"


def test_a_run_that_nobody_has_is_cancelled_at_once(folder: Path) -> None:
    """Where the process is dead there is nobody to ask."""
    killed(folder, *STORE)
    assert solvent("cancel", "r", *STORE, cwd=folder).out == "r: cancelled\n"


def test_without_a_name_the_latest_run_is_meant(folder: Path) -> None:
    """Logs, timeline and replay take the run that began last."""
    go(folder)
    for name in ("early", "late"):
        assert finish(start(folder, "run", "flow.yaml", "--name", name, *STORE))[0] == 0
    for command in ("logs", "timeline"):
        assert solvent(command, *STORE, "--format", "json", cwd=folder).json["run"] == "late"
    assert "as the run late\n" in solvent("replay", *STORE, cwd=folder).err


def test_cancel_without_a_name_needs_yes_on_a_pipe(folder: Path) -> None:
    """The latest run that has not ended is named, and cancelled only with --yes."""
    killed(folder, *STORE)
    go(folder)
    assert finish(start(folder, "run", "flow.yaml", "--name", "later", *STORE))[0] == 0
    refused = solvent("cancel", *STORE, cwd=folder)
    assert refused.code == 2
    assert "error[H324]: the latest run is r, " in refused.err
    assert "hint: name it, `solvent cancel r --store store.db`, or add --yes" in refused.err
    assert solvent("cancel", "--yes", *STORE, cwd=folder).out == "r: cancelled\n"
    left = solvent("cancel", "--yes", *STORE, cwd=folder)
    assert left.code == 2
    assert "is left to cancel" in left.err


def test_cancel_without_a_name_asks_on_a_terminal(folder: Path) -> None:
    """Only `y` or `yes` cancels the run."""
    killed(folder, *STORE)
    assert "no run was cancelled" in _answered(folder, "\n")
    shown = _answered(folder, "y\n")
    assert "Cancel the run r? [y/N]" in shown
    assert "r: cancelled" in shown


def test_prune_asks_on_a_terminal(folder: Path) -> None:
    """It lists what is to be removed, and only `y` or `yes` removes it."""
    go(folder)
    assert finish(start(folder, "run", "flow.yaml", "--name", "r", *STORE))[0] == 0
    words = ("prune", "--keep", "0")
    assert "nothing was removed" in _answered(folder, "\n", *words)
    shown = _answered(folder, "y\n", *words)
    assert re.search(r"done .* flow\s+Remove 1 run for good\? \[y/N\]", shown)
    assert "1 run, 0 blobs removed" in shown


def _answered(folder: Path, answer: str, *words: str) -> str:
    """Cancel the latest run, or do something else, on a terminal that answers, and return what it shows."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        arguments(*(words or ("cancel",)), *STORE),
        cwd=folder,
        env=environment(),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    os.write(ours, answer.encode())
    shown = b""
    with suppress(OSError):  # the terminal is gone when the process has ended
        while part := os.read(ours, 1000):
            shown += part
    process.wait(MAX_SECONDS)
    os.close(ours)
    return shown.decode()


def test_a_run_that_goes_on_is_not_resumed(folder: Path) -> None:
    """Unless it is taken over: then the other process finds out, and stops."""
    process = hanging(folder, "run", "flow.yaml", "--name", "r", *STORE)
    refused = solvent("resume", "r", *STORE, cwd=folder)
    assert refused.code == 1
    assert f"error[R405]: the run `r` is still going on: process {process.pid} on" in refused.err
    other = hanging(folder, "resume", "r", "--take-over", *STORE, hangs=2)
    go(folder)
    assert finish(other)[:2] == (0, "third: 3\n")
    code, _, err = finish(process)
    assert code == 1
    assert "error[R402]: another process goes on with" in err
    assert calls(folder).count("add") == 1


def test_agents_go_on_with_a_run_of_one_process(folder: Path) -> None:
    """What was answered is not called again; from then on it is a run of agents, which knows its file."""
    killed(folder, *STORE)
    go(folder)
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    result = solvent("resume", "r", "--agents", "2", "--store", "../store.db", cwd=elsewhere)
    assert (result.code, result.out) == (0, "third: 3\n"), result.err
    assert calls(folder) == ["one", "hang", "hang", "add"]
    assert solvent("status", "r", *STORE, "--format", "json", cwd=folder).json["agents"]
    replay = solvent("replay", "r", "--file", "flow.yaml", *STORE, cwd=folder)
    assert (replay.code, replay.out) == (0, "third: 3\n")


def test_a_run_that_goes_on_is_not_given_to_agents(folder: Path) -> None:
    """Unless it is taken over: then its process finds out, and stops."""
    process = hanging(folder, "run", "flow.yaml", "--name", "r", *STORE)
    refused = solvent("resume", "r", "--agents", "1", *STORE, cwd=folder)
    assert (refused.code, "error[R405]" in refused.err) == (1, True)
    other = hanging(folder, "resume", "r", "--agents", "1", "--take-over", *STORE, hangs=2)
    go(folder)
    assert finish(other)[:2] == (0, "third: 3\n")
    code, _, err = finish(process)
    assert (code, "error[R402]: another process goes on with" in err) == (1, True)


def test_of_two_resumptions_at_once_one_goes_on(folder: Path) -> None:
    """The other one says why it does not."""
    killed(folder, *STORE)
    both = [start(folder, "resume", "r", *STORE, seed=seed) for seed in (1, 2)]
    deadline = time.monotonic() + MAX_SECONDS
    while all(one.poll() is None for one in both) and time.monotonic() < deadline:
        time.sleep(0.01)
    go(folder)
    ends = sorted(finish(one) for one in both)
    assert [code for code, _, _ in ends] == [0, 1]
    assert "error[R405]" in ends[1][2] or "error[R402]" in ends[1][2]
    assert calls(folder) == ["one", "hang", "hang", "add"]


def test_a_changed_workflow_is_resumed_with_what_it_still_has(folder: Path) -> None:
    """Its file must be found, wherever that is now; only what has changed, and what rests on it, is called again."""
    killed(folder, *STORE)
    (folder / "flow.yaml").rename(folder / "old.yaml")
    gone = solvent("resume", "r", *STORE, cwd=folder)
    assert (gone.code, "error[R404]: the workflow of the run `r` is gone" in gone.err) == (1, True)
    wrong = solvent("resume", "r", "--file", "nowhere.yaml", *STORE, cwd=folder)
    assert (wrong.code, "error[W100]" in wrong.err, "nowhere.yaml" in wrong.err) == (2, True, True)
    go(folder)
    make(folder, FLOW.replace("from: second", "from: first"))
    changed = solvent("resume", "r", *STORE, cwd=folder)
    assert (changed.code, changed.out) == (0, "second: 2\nthird: 2\n")
    assert "r continues as version 2: 1 kept," in changed.err


def test_runs_are_found_by_name(folder: Path) -> None:
    """By the beginning that no other has; else it is said which there are."""
    go(folder)
    for name in ("alpha-1", "alpha-2", "beta"):
        assert solvent("run", "flow.yaml", "--name", name, *STORE, cwd=folder).code == 0
    assert solvent("status", "be", *STORE, cwd=folder).out.startswith("beta: done")
    for wanted, said in (("alpha", "`alpha` matches several runs"), ("bete", "beta"), ("x y", "there is no run `x y`")):
        result = solvent("replay", wanted, *STORE, cwd=folder)
        assert (result.code, "error[R401]" in result.err, said in result.err) == (2, True, True)
    assert "error[R408]: there is a run" in solvent("run", "flow.yaml", "--name", "beta", *STORE, cwd=folder).err
    assert "error[R408]: a run cannot" in solvent("run", "flow.yaml", "--name", "a/b", *STORE, cwd=folder).err
    nothing = solvent("status", "--store", "other.db", cwd=folder)
    assert (nothing.code, "error[R401]: no runs are recorded here" in nothing.err) == (2, True)
    assert not (folder / "other.db").exists()


def test_what_cannot_be_recorded_is_run_nevertheless(folder: Path) -> None:
    """Where the usual place cannot be written this is said once; a place that was named must do."""
    go(folder)
    (folder / ".solvent").touch()
    code, out, err = finish(start(folder, "run", "flow.yaml"))
    assert (code, out, err.count("the run is not recorded:")) == (0, "third: 3\n", 1)
    assert solvent("run", "flow.yaml", "--store", "no/such/folder.db", cwd=folder).code == 2
    (folder / ".solvent").unlink()
    assert finish(start(folder, "run", "flow.yaml", "--no-record"))[0] == 0
    assert not (folder / ".solvent").exists()
    assert "H313" in solvent("run", "flow.yaml", "--no-record", *STORE, cwd=folder).err


def test_a_run_that_cannot_begin_leaves_no_record(folder: Path) -> None:
    """A service that is not there is bad input, not a run."""
    make(folder, FLOW.replace("own:one", "own:none"))
    assert solvent("run", "flow.yaml", *STORE, cwd=folder).code == 2
    assert solvent("status", *STORE, cwd=folder).out == "there are no runs\n"


def test_an_answer_that_is_no_data_fails_its_task(folder: Path) -> None:
    """The error says what it is, and what to do; without a record it is handed on as it is."""
    go(folder)
    make(folder, FLOW.replace("third: {service: add", "third: {service: odd"))
    result = solvent("run", "flow.yaml", "--name", "r", *STORE, cwd=folder)
    assert result.code == 1
    assert "its result cannot be kept: a value of the type `builtins.builtin_function_or_method`" in result.err
    assert "use `@service(pickle=True)`" in result.err
    assert solvent("run", "flow.yaml", "--no-record", cwd=folder).out == "third: <built-in function print>\n"


def test_a_damaged_record_is_named(folder: Path) -> None:
    """No command shows more of it than that."""
    go(folder)
    solvent("run", "flow.yaml", "--name", "r", *STORE, cwd=folder)
    with open_store(str(folder / "store.db")) as store:
        store.append("runs/r/shard/0", b"\xff")
    for command in ("replay", "logs"):
        result = solvent(command, "r", *STORE, cwd=folder)
        assert (result.code, "error[R403]" in result.err) == (1, True)
    with open_store(str(folder / "store.db")) as store:
        store.put("runs/r", b"\xff")
    assert "error[R403]" in solvent("status", "r", *STORE, cwd=folder).err


def test_a_torn_last_record_is_as_if_it_had_not_been_written(folder: Path) -> None:
    """The run goes on from the last whole one."""
    killed(folder, *STORE)
    log = folder / "store.db-wal"
    os.truncate(log, log.stat().st_size - 1000)
    go(folder)
    assert solvent("resume", "r", *STORE, cwd=folder).out == "third: 3\n"
    assert solvent("replay", "r", *STORE, cwd=folder).code == 0


def test_a_full_disk_stops_the_run_and_it_goes_on_later(folder: Path) -> None:
    """It is said that there is no room and how to go on; what was answered before is not called again."""
    tasks = "".join(f"  t{at}: {{service: long, from: {f't{at - 1}' if at else 'first'}}}\n" for at in range(12))
    services = 'services: {one: {python: "own:one"}, long: {python: "own:long"}}\n'
    make(folder, f"{services}tasks:\n  first: {{service: one}}\n{tasks}")
    script = 'ulimit -f 300; exec "$0" -m solvent run flow.yaml --name r --store store.db'
    full = start(folder, words_before=("bash", "-c", script))
    code, _, err = finish(full)
    assert code == 1
    assert "error[E403]" in err
    assert "to continue it: solvent resume r --store store.db\n" in err
    before = len(calls(folder))
    assert 1 < before < 13
    assert solvent("resume", "r", *STORE, cwd=folder).code == 0
    # The answer that found no room was lost.
    assert len(calls(folder)) == 14


def test_prune_removes_what_it_lists(folder: Path) -> None:
    """Runs are chosen by state, age and number; a dry run removes nothing, and a pipe has to say --yes."""
    go(folder)
    for name in ("r1", "r2", "r3"):
        assert finish(start(folder, "run", "flow.yaml", "--name", name, *STORE))[0] == 0
    words = ("prune", "--state", "done", "--workflow", "flow", "--keep", "1", *STORE)
    would = solvent(*words, "--dry-run", cwd=folder)
    assert [line.split()[:2] for line in would.out.splitlines()[:2]] == [["r1", "done"], ["r2", "done"]]
    assert would.out.endswith("2 runs, 0 blobs would be removed\n")
    refused = solvent(*words, cwd=folder)
    assert (refused.code, refused.err.splitlines()[0]) == (
        2, "error[H324]: 2 runs would be removed, and no terminal can confirm that",
    )  # fmt: skip
    assert solvent("prune", "--older-than", "1h", *STORE, cwd=folder).out == "0 runs, 0 blobs removed\n"
    assert len(solvent("status", "--format", "json", *STORE, cwd=folder).json["runs"]) == 3
    found = solvent(*words, "--yes", "--format", "json", cwd=folder).json
    assert ([one["run"] for one in found["runs"]], found["dry_run"]) == (["r1", "r2"], False)
    assert [one["run"] for one in solvent("status", "--format", "json", *STORE, cwd=folder).json["runs"]] == ["r3"]
    assert "error[R401]: there is no run `r1` in" in solvent("prune", "r1", *STORE, cwd=folder).err
    assert solvent("prune", *STORE, cwd=folder).code == 2


def test_prune_leaves_a_run_that_has_not_ended(folder: Path) -> None:
    """A run that was stopped is not removed, however it is named."""
    killed(folder, *STORE)
    refused = solvent("prune", "r", *STORE, cwd=folder)
    assert (refused.code, refused.err.splitlines()[0]) == (2, "error[R401]: the run `r` has not ended")
    assert (
        solvent("prune", "--keep", "0", *STORE, cwd=folder).out
        == "0 runs, 0 blobs, 1 heartbeat of dead processes removed\n"
    )
    assert solvent("status", "r", "--format", "json", *STORE, cwd=folder).json["state"] == "interrupted"


def test_status_lists_the_runs_that_are_asked_for(folder: Path) -> None:
    """By state, workflow, age and number, alone or together; what means nothing beside a name is refused."""
    killed(folder, *STORE)
    go(folder)
    for name in ("r1", "r2"):
        assert finish(start(folder, "run", "flow.yaml", "--name", name, *STORE))[0] == 0

    def listed(*words: str) -> list[str]:
        found = solvent("status", *words, "--format", "json", *STORE, cwd=folder).json["runs"]
        return [one["run"] for one in found]

    assert listed("--state", "interrupted") == ["r"]
    assert listed("--state", "interrupted", "--state", "done", "--last", "2") == ["r1", "r2"]
    assert listed("--workflow", "flow", "--since", "1d") == ["r", "r1", "r2"]
    assert listed("--workflow", "other") == listed("--since", "0s") == []
    for words in (("r", "--last", "1"), ("--molecules",), ("--since", "soon")):
        assert solvent("status", *words, *STORE, cwd=folder).code == 2


@pytest.mark.parametrize("third", ["{service: add, from: second}", "{service: add, from: second, join: first}"])
def test_a_run_that_was_stopped_has_the_same_states_everywhere(folder: Path, third: str) -> None:
    """The report after Ctrl-C, the replay and the list of its tasks agree on what is open, with control flow or not."""
    (folder / "flow.yaml").write_text(FLOW.replace("{service: add, from: second}", third))
    process = hanging(folder, "run", "flow.yaml", "--name", "r", "--format", "json", *STORE)
    process.send_signal(signal.SIGINT)
    code, out, _ = finish(process)
    said = [solvent(command, "r", *STORE, "--format", "json", cwd=folder).json for command in ("status", "replay")]
    assert code == 130
    for one in (json.loads(out), *said):
        assert one["states"] == {"first": "done", "second": "interrupted", "third": "waiting"}


def test_status_shows_the_molecules_of_a_run(folder: Path) -> None:
    """They are what its journals have come to: a result, a call that has no answer, and a task that waits for it."""
    killed(folder, *STORE)
    shown = solvent("status", "r", "--molecules", *STORE, cwd=folder)
    assert shown.out.splitlines() == [
        'DST:"second":"third"',
        'READY:"second":"hang":list(1)',
        'RES:"first":1',
        'WAIT:"third":1:"add":list(FROM:"second")',
    ]
