"""Tasks that come into the solution late and leave it early change nothing about a run."""

from __future__ import annotations

import random

import pytest

from solvent.running import lean, workflow
from solvent.running.making import run_workflow
from solvent.workflow.model import Result, Service, Task, Value, Workflow


@pytest.mark.parametrize("awake_max", [1, 2, 1_000])
def test_every_task_is_called_once_however_few_are_awake(awake_max: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one task let in at a time a random graph gives what plain evaluation gives, and failures wait behind."""
    monkeypatch.setattr(lean, "AWAKE_MAX", awake_max)
    monkeypatch.setattr(workflow, "AWAKE_MAX", awake_max)
    chance = random.Random(7)
    sources = {at: sorted(chance.sample(range(at), min(at, chance.randrange(4)))) for at in range(80)}
    tasks = [Task(f"T{at}", "add", (Value(at), *[Result(f"T{one}") for one in sources[at]])) for at in sources]
    tasks += [Task("bad", "fail"), Task("behind", "add", (Result("bad"), Result("T3")))]

    def fail() -> int:
        raise ValueError("on purpose")

    services = (Service("add", function=lambda *numbers: sum(numbers)), Service("fail", function=fail))
    report = run_workflow(Workflow("w", tuple(tasks), services), seconds_max=60)
    expected: dict[int, int] = {}
    for at, needed in sources.items():
        expected[at] = at + sum(expected[one] for one in needed)
    used = {one for needed in sources.values() for one in needed} | {3}
    assert report.results == {f"T{at}": value for at, value in expected.items() if at not in used}
    assert report.calls == {**{f"T{at}": 1 for at in sources}, "bad": 1}
    assert (report.states["bad"], report.states["behind"]) == ("failed", "waiting")
