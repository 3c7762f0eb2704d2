"""Services that misbehave: each a clean failed state, with everything finished so far kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.command import Result, solvent
from tests.cli.workflows import calls, one_task, put

if TYPE_CHECKING:
    from pathlib import Path

SPARE = "  spare: {python: 'own:double'}\n|  spare: {service: spare, in: [21]}\nalternatives:\n  - {exits: {odd: spare}"
WORSE = (
    "  spare: {python: 'own:broken'}\n|  spare: {service: spare, in: [21]}\nalternatives:\n  - {exits: {odd: spare}}\n"
)


def run(folder: Path, text: str, *words: str) -> Result:
    """Run a workflow and ask for JSON."""
    return solvent("run", put(folder, "flow.yaml", text), "--format", "json", *words)


def failed(result: Result) -> dict[str, Any]:
    """Give the one failure of a run in which the task before it is done and the one after it never began."""
    found = result.json
    assert (result.code, found["states"]) == (1, {"first": "done", "odd": "failed", "last": "waiting"})
    assert (found["results"], found["calls"]["last"]) == ({}, 0)
    (failure,) = found["failures"]
    assert failure["task"] == "odd"
    assert failure["molecules"].startswith('<ERR:"odd":')
    return dict(failure)


def test_service_that_raises(tmp_path: Path) -> None:
    """The failure has the exception and where it was raised, and the number of attempts."""
    failure = failed(run(tmp_path, one_task("python: own:broken", policy=", retries: 2, backoff: 0.01")))
    assert (failure["kind"], failure["cause"], failure["attempts"]) == ("FAILED", "ValueError: no such column", 3)
    assert failure["molecules"] == '<ERR:"odd":FAILED:"ValueError: no such column":list((1, 2, 3))>'
    assert "own.py" in failure["output"]
    assert calls(tmp_path) == ["broken", "broken", "broken", "start"]


@pytest.mark.parametrize("words", [(), ("--processes",)])
def test_service_that_hangs(tmp_path: Path, words: tuple[str, ...]) -> None:
    """A service that hangs is given up after its time-out, in a thread as in a process."""
    failure = failed(run(tmp_path, one_task("python: own:hang", policy=", timeout: 0.3"), *words))
    assert (failure["kind"], failure["cause"]) == ("TIMEOUT", "no result after 0.3 s")


def test_service_that_is_killed(tmp_path: Path) -> None:
    """A worker process that is killed loses its call, and only that."""
    failure = failed(run(tmp_path, one_task("python: own:killed"), "--processes"))
    assert failure["kind"] == "LOST"


def test_command_that_is_killed(tmp_path: Path) -> None:
    """A command that is killed fails, and says by what."""
    failure = failed(run(tmp_path, one_task("shell: 'kill -KILL $$'")))
    assert (failure["kind"], "9" in failure["cause"] or "KILL" in failure["cause"]) == ("FAILED", True)


@pytest.mark.parametrize("words", [(), ("--processes",)])
def test_service_that_prints_100_megabytes(tmp_path: Path, words: tuple[str, ...]) -> None:
    """What a Python service prints goes to standard error, so that results stay clean; its failure stays short."""
    result = run(tmp_path, one_task("python: own:shout"), *words)
    failure = failed(result)
    assert failure["cause"] == "RuntimeError: that was loud"
    assert len(failure["output"]) < 10_000
    assert len(result.err) == 100_000_000


def test_command_that_fails_is_told_with_its_output(tmp_path: Path) -> None:
    """The text summary names task, attempt, cause, output and what waits; with --trace also the molecules."""
    text = one_task("shell: 'echo some trouble >&2; exit 3'", policy=", retries: 1, backoff: 0.01")
    result = solvent("run", put(tmp_path, "flow.yaml", text))
    assert (result.code, result.out) == (1, "")
    assert "task `odd` failed at attempt 2: exit code 3: some trouble\n" in result.err
    assert "  │ some trouble\n" in result.err
    assert "not done:\n  `last` waits for `odd`, which failed\n" in result.err
    assert result.err.splitlines()[-1].startswith("failed after ")
    assert "<ERR:" not in result.err
    assert "  molecules of the task: <ERR:" in solvent("run", tmp_path / "flow.yaml", "--trace").err


def test_alternative_that_fails_too(tmp_path: Path) -> None:
    """Where the alternative fails as well, both are told and the rest is kept."""
    result = run(tmp_path, one_task("python: own:broken", more=WORSE))
    found = result.json
    assert result.code == 1
    assert found["states"] == {"first": "done", "odd": "replaced", "last": "waiting", "spare": "failed"}
    assert [one["task"] for one in found["failures"]] == ["spare"]
    assert [one["because"] for one in found["adaptations"]] == ["odd"]
    assert calls(tmp_path) == ["broken", "broken", "start"]


@pytest.mark.parametrize(
    "service,policy,on",
    [
        ("python: own:broken", "", "on: failure"),
        ("python: own:hang", ", timeout: 0.2", "on: timeout"),
        ("python: own:total", "", 'on: condition, when: "result < 100"'),
        ("python: own:total", "", "on: condition, predicate: 'own:is_small'"),
        ("shell: exit 1", "", "on: [failure, timeout]"),
    ],
)
def test_each_reason_for_an_alternative(tmp_path: Path, service: str, policy: str, on: str) -> None:
    """A failure, a time-out and a condition on the result each let the alternative take over."""
    result = run(tmp_path, one_task(service, policy=policy, more=f"{SPARE}, {on}}}\n"))
    assert (result.code, result.json["results"]) == (0, {"last": 42})
    assert result.json["calls"] == {"first": 1, "odd": 1, "last": 1, "spare": 1}


@pytest.mark.parametrize("argument", ["{from: first, item: 4}", "{from: first, item: 1}"])
def test_item_that_is_not_there(tmp_path: Path, argument: str) -> None:
    """An item beyond the end of a list, or the items of what is no list, fail the one task that wants them."""
    each = "" if "4" in argument else ", each: {dot: [0]}"
    text = one_task("python: own:double").replace("odd, from: [first]", f"odd, in: [{argument}]{each}")
    failure = failed(run(tmp_path, text))
    assert failure["cause"] in {
        "item 4 is taken of a list of 3",
        "it is called for each item of an integer, which is not a list",
    }


def test_limit_on_seconds(tmp_path: Path) -> None:
    """A run that takes too long ends with exit code 3; what is done is kept."""
    result = run(tmp_path, one_task("python: own:hang"), "--max-seconds", "3")
    assert (result.code, result.json["error"]["code"]) == (3, "H502")
    assert result.json["states"] == {"first": "done", "odd": "interrupted", "last": "waiting"}
