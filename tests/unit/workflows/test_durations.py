"""Durations, and tasks that only wait for one."""

from __future__ import annotations

import pytest

from solvent.errors import WorkflowProblem
from solvent.runs.embedded import run_workflow
from solvent.workflows.checks import check
from solvent.workflows.durations import seconds_of
from solvent.workflows.formats.files import load_text, write
from solvent.workflows.formats.yaml.writer import write_json
from solvent.workflows.model import Control


@pytest.mark.parametrize(
    "said,seconds",
    [(90, 90), ("90", 90), (0.5, 0.5), ("30s", 30), ("15m", 900), ("1.5h", 5400), ("7 d", 604_800), ("", None),
     ("soon", None), ("-1s", None), (-1, None), (True, None), (None, None), ("1e400d", None), ("99999d", None)],
)  # fmt: skip
def test_durations_are_numbers_with_a_unit(said: object, seconds: float | None) -> None:
    """Seconds, minutes, hours or days; anything else is none."""
    assert seconds_of(said) == seconds


def test_a_task_that_waits_is_written_as_it_was_read() -> None:
    """In JSON as in YAML; it passes its argument on."""
    flow = load_text("tasks: {a: {delay: 0.01s, in: [7]}, b: {delay: 0.01, from: a}}\n", name="w.yaml").workflow
    assert load_text(write_json(flow), name="w.json").workflow == flow
    assert run_workflow(flow).results == {"b": 7}


@pytest.mark.parametrize("suffix", [".yaml", ".json", ".hocl"])
def test_a_wait_with_a_limit_is_written_as_it_was_read(suffix: str) -> None:
    """In each format; not where the task waits for something else as well."""
    text = "services: {s: {shell: date}}\ntasks: {a: {service: s, signal: {persistent: go, timeout: 1h}}}\n"
    flow = load_text(text, name="w.yaml").workflow
    assert flow.signals_from_outside == ("go",)
    assert flow.task("a").control == Control(signal="go", timeout=3600.0)
    assert load_text(write(flow, suffix=suffix), name=f"w{suffix}").workflow.tasks == flow.tasks
    assert check(flow) == []
    wrong = load_text(text.replace("service: s,", "service: s, lock: L,"), name="w.yaml").workflow
    assert [one.code for one in check(wrong)] == ["W137"]


@pytest.mark.parametrize(
    "words",
    ["{delay: soon}", "{delay: 1h, service: s}", "{delay: -1}", "{service: s, signal: {persistent: a, timeout: soon}}"],
)
def test_what_is_no_delay_is_refused(words: str) -> None:
    """Where it stands in the file."""
    with pytest.raises(WorkflowProblem) as caught:
        load_text(f"tasks: {{a: {words}}}\n", name="w.yaml")
    assert caught.value.code == "W105"
