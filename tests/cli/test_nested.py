"""Sub-workflows of recorded runs: continued inside after a kill, and shown like any other tasks."""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING

import pytest

from tests.cli.command import solvent
from tests.cli.records import calls, go, hanging, killed, make
from tests.live.record_storm import finish

if TYPE_CHECKING:
    from pathlib import Path

STORE = ("--store", "store.db")
FLOW = """\
workflow: outer
services:
  one: {python: "own:one"}
  add: {python: "own:add"}
  inner: {workflow: inner.yaml}
tasks:
  first: {service: one}
  T: {service: inner, from: first}
  last: {service: add, from: T}
"""
INNER = """\
workflow: inner
inputs: {n: 0}
services:
  add: {python: "own:add"}
  broken: {shell: "echo no calendar >&2; exit 3", retries: 1, backoff: 0}
  deep:
    workflow:
      workflow: deep
      inputs: {n: 0}
      services: {hang: {python: "own:hang"}, add: {python: "own:add"}}
      tasks:
        U: {service: add, in: [$n]}
        V: {service: hang, from: U}
tasks:
  A: {service: add, in: [$n]}
  B: {service: broken, from: A}
  C: {service: add, from: A}
  D: {service: deep, from: B}
alternatives:
  - {name: instead, exits: {B: C}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder with a workflow that calls another in a file, which calls a third."""
    make(tmp_path, FLOW)
    (tmp_path / "inner.yaml").write_text(INNER, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_was_stopped_continues_inside(folder: Path, how: signal.Signals) -> None:
    """After a kill, or Ctrl-C, only the call that was open is made again, two levels deep; nothing around it is."""
    process = hanging(folder, "run", "flow.yaml", "--name", "r", *STORE)
    os.killpg(process.pid, how)
    finish(process)
    assert calls(folder) == ["one", "add", "add", "add", "hang"]
    states = solvent("status", "r", *STORE, "--format", "json", cwd=folder).json["states"]
    assert (states["T/A"], states["T/B"], states["T/D/U"]) == ("done", "replaced", "done")
    go(folder)
    result = solvent("resume", "r", *STORE, "--format", "json", cwd=folder)
    assert (result.code, result.json["results"]) == (0, {"last": 6})
    assert calls(folder) == ["one", "add", "add", "add", "hang", "hang", "add"]
    assert result.json["called_again"] == {"T/D/V": 1}


def test_a_sub_workflow_that_changed_is_not_continued(folder: Path) -> None:
    """What its calls have answered may not fit any more; the run can be resumed with the file as it was."""
    killed(folder, *STORE)
    go(folder)
    (folder / "inner.yaml").write_text(INNER.replace("instead", "otherwise"), encoding="utf-8")
    result = solvent("resume", "r", *STORE, cwd=folder)
    assert (result.code, "the sub-workflow `inner` of `T` is not here as it was called" in result.err) == (1, True)
    (folder / "inner.yaml").write_text(INNER, encoding="utf-8")
    assert solvent("resume", "r", *STORE, cwd=folder).out == "last: 6\n"


def test_what_happens_inside_is_shown_everywhere(folder: Path) -> None:
    """Tasks, attempts, output and adaptations: in the report, status, logs, timeline, WfFormat, and a replay."""
    go(folder)
    words = ("--name", "r", *STORE, "--format", "json", "--wfformat", "trace.json")
    report = solvent("run", "flow.yaml", *words, cwd=folder).json
    assert report["states"] == {"first": "done", "T": "done", "last": "done"}
    assert [(one["alternative"], one["within"]) for one in report["adaptations"]] == [("instead", "T")]
    inner = report["inner"]
    assert inner["T"]["states"] == {"A": "done", "B": "replaced", "C": "done", "D": "done"}
    assert (inner["T/D"]["task"], inner["T/D"]["calls"]) == ("T/D", {"U": 1, "V": 1})
    tasks = json.loads((folder / "trace.json").read_text())["workflow"]["specification"]["tasks"]
    assert {one["id"]: one["parents"] for one in tasks}["T_D_V"] == ["T_D"]
    status = solvent("status", "r", *STORE, cwd=folder).out
    assert [line.split() for line in status.splitlines() if "T/B" in line or "T/D/V" in line] == [
        ["⊘", "T/B", "replaced"], ["✓", "T/D/V", "done"],
    ]  # fmt: skip
    logs = solvent("logs", "r", "--task", "T", *STORE, cwd=folder).out
    told = [line.split(" s  ")[1] if " s  " in line else line.strip() for line in logs.splitlines()]
    assert told[:8] == [
        "T called", "T/A called", "T/A done", "T/B called", "T/B failed, to be retried: exit code 3: no calendar",
        "│ no calendar", "T/B retried", "T/B failed at attempt 2: exit code 3: no calendar",
    ]  # fmt: skip
    assert "instead takes over: T/C instead of T/B: FAILED: exit code 3: no calendar" in told
    timeline = solvent("timeline", "r", *STORE, "--format", "json", cwd=folder).json
    assert {one["task"] for one in timeline["calls"]} >= {"T", "T/A", "T/B", "T/D/V"}
    replay = solvent("replay", "r", *STORE, "--trace", cwd=folder)
    assert (replay.code, replay.out) == (0, "last: 6\n")
    assert "the replay came to the same as the run r" in replay.err


def test_a_run_says_what_happens_inside(folder: Path) -> None:
    """While it goes on, lines tell of tasks inside; the summary counts their calls and names their adaptations."""
    go(folder)
    result = solvent("run", "flow.yaml", "--no-record", cwd=folder)
    assert "✓ T/D/V" in result.err
    assert "instead: T/C takes over, because of T/B" in result.err
    assert "3 tasks, 9 calls, 1 adaptation" in result.err


def test_items_and_limits_hold_inside(folder: Path) -> None:
    """Each item has a sub-workflow of its own, and one that is killed with all open continues every one of them."""
    each = """\
workflow: outer
inputs: {numbers: [1, 2, 3]}
services:
  inner:
    workflow:
      workflow: inner
      inputs: {n: 0}
      services: {add: {python: "own:add"}, hang: {python: "own:hang"}}
      tasks: {A: {service: add, in: [$n]}, B: {service: hang, from: A}}
tasks:
  T: {service: inner, in: [$numbers], each: {dot: [0]}}
"""
    (folder / "flow.yaml").write_text(each, encoding="utf-8")
    process = hanging(folder, "run", "flow.yaml", "--name", "r", *STORE, hangs=3)
    process.kill()
    finish(process)
    go(folder)
    result = solvent("resume", "r", *STORE, "--format", "json", cwd=folder)
    assert result.json["results"] == {"T": [3, 4, 5]}
    assert (calls(folder).count("add"), calls(folder).count("hang")) == (3, 6)
    assert sorted(result.json["inner"]) == ["T[0]", "T[1]", "T[2]"]


ATTEMPTS = """\
workflow: outer
services:
  inner:
    retries: 1
    backoff: 0
    workflow:
      workflow: inner
      services:
        one: {python: "own:one"}
        first: {shell: "echo once >> calls; test $(grep -c once calls) -gt 1"}
        hang: {python: "own:hang"}
      tasks: {A: {service: one}, B: {service: first, after: [A]}, C: {service: hang, from: A, after: [B]}}
tasks:
  T: {service: inner}
"""


def test_a_further_attempt_has_a_path_of_its_own_and_is_continued(folder: Path) -> None:
    """What the first attempt did is not done again by a process that continues the second."""
    (folder / "flow.yaml").write_text(ATTEMPTS, encoding="utf-8")
    killed(folder, *STORE)
    assert calls(folder) == ["one", "once", "one", "once", "hang"]
    go(folder)
    result = solvent("resume", "r", *STORE, "--format", "json", cwd=folder)
    assert result.json["results"] == {"T": 2}
    assert calls(folder) == ["one", "once", "one", "once", "hang", "hang"]
    states = {path: one["states"] for path, one in result.json["inner"].items()}
    assert states["T!2"] == {"A": "done", "B": "done", "C": "done"}
    logs = solvent("logs", "r", *STORE, "--format", "json", cwd=folder).json["events"]
    told = [(one["event"], one["call"]) for one in logs if one.get("task") == "T"]
    assert told == [("called", "T"), ("attempted", "T"), ("retried", "T"), ("done", "T")]
    assert solvent("replay", "r", *STORE, cwd=folder).code == 0


def test_a_time_out_ends_what_is_open_inside(folder: Path) -> None:
    """The call inside is cancelled, an alternative takes over, and a replay comes to the same."""
    text = FLOW.replace("inner.yaml}", "inner.yaml, timeout: 1}") + "  spare: {service: one}\n"
    text += "alternatives:\n  - {name: late, on: timeout, exits: {T: spare}}\n"
    (folder / "flow.yaml").write_text(text, encoding="utf-8")
    result = solvent("run", "flow.yaml", "--name", "r", *STORE, "--format", "json", cwd=folder)
    assert (result.code, result.json["results"]) == (0, {"last": 2})
    seen = solvent("timeline", "r", *STORE, "--format", "json", cwd=folder).json
    inside = {one["task"]: one["state"] for one in seen["calls"] if one["task"].startswith("T/")}
    # How far it came depends on the machine.
    assert "cancelled" in inside.values()
    assert {name: seen["states"][name] for name, state in inside.items() if state == "cancelled"} == {
        name: "cancelled" for name, state in inside.items() if state == "cancelled"
    }
    assert seen["states"]["T"] == "replaced"
    replay = solvent("replay", "r", *STORE, cwd=folder)
    assert (replay.code, replay.out) == (0, "last: 2\n")


def test_a_sub_workflow_with_resources_begins_again(folder: Path) -> None:
    """What its resources held when the process died is in no record, so all of its calls are made again."""
    (folder / "flow.yaml").write_text(
        """\
workflow: outer
services:
  one: {python: "own:one"}
  inner:
    workflow:
      workflow: inner
      resources: {box: {size: 4}}
      services:
        fill: {shell: "echo fill >> calls; printf abcd > {box}; echo 1", options: {result: json}}
        hang: {python: "own:hang"}
      tasks: {A: {service: fill, with: {box: {resource: box}}}, B: {service: hang, from: A}}
tasks: {first: {service: one}, T: {service: inner, after: [first]}}
""",
        encoding="utf-8",
    )
    killed(folder, *STORE)
    assert calls(folder) == ["one", "fill", "hang"]
    go(folder)
    result = solvent("resume", "r", *STORE, "--format", "json", cwd=folder)
    assert result.code == 0, result.err
    assert (result.json["results"], calls(folder)) == ({"T": 2}, ["one", "fill", "hang", "fill", "hang"])
    assert solvent("replay", "r", *STORE, cwd=folder).code == 0
