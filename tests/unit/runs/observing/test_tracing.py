"""Spans of runs, tasks and attempts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry import trace
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from solvent.runs.embedded import run_workflow
from solvent.runs.observing.tracing import Tracing
from solvent.workflows.model import Policy, Result, Service, Task, Value, Workflow

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest
    from opentelemetry.sdk.trace import ReadableSpan


class _Kept(InMemorySpanExporter):
    """Keeps spans, also after the end."""

    def shutdown(self) -> None:
        """Go on keeping them."""


def traced(workflow: Workflow, *, clean: Callable[[str], str] = str) -> dict[str, ReadableSpan]:
    """Run a workflow with spans, and give them by name; of several attempts the number is added."""
    exporter = _Kept()
    tracing = Tracing(exporter=exporter, clean=clean, agent="a1")
    run = tracing.run("r1", workflow.name, 1000.0)
    report = run_workflow(workflow, observer=run)
    run.end("done" if report.succeeded else "failed", "" if report.succeeded else "it failed")
    tracing.close()
    found = {}
    for span in exporter.get_finished_spans():
        attempt = (span.attributes or {}).get("solvent.attempt")
        found[f"{span.name} {attempt}" if attempt else span.name] = span
    return found


def _flow(*services: Service, arguments: tuple[Any, ...] = (Value(1),)) -> Workflow:
    names = [one.name for one in services]
    tasks = [Task("first", names[0], arguments)]
    tasks += [Task("second", name, (Result("first"),)) for name in names[1:]]
    return Workflow("pair", tuple(tasks), services)


def test_a_run_has_tasks_and_these_have_attempts() -> None:
    """The run's span is above those of its tasks, and these above the attempts of their calls."""
    seen = []

    def inside(number: int) -> int:
        seen.append(trace.get_current_span().get_span_context().span_id)
        return number + 1

    spans = traced(_flow(Service("inside", function=inside), Service("plain", function=abs)))
    assert spans.keys() == {"run pair", "task first", "task second", "call inside 1", "call plain 1"}
    run, task, call = spans["run pair"], spans["task first"], spans["call inside 1"]
    assert (run.parent, run.context.trace_id) == (None, task.context.trace_id)
    assert task.parent is not None
    assert call.parent is not None
    assert (task.parent.span_id, call.parent.span_id) == (run.context.span_id, task.context.span_id)
    assert seen == [call.context.span_id]
    assert run.start_time == int(1000.0 * 1e9)


def test_spans_say_what_they_are_of() -> None:
    """A span has the workflow, run, task, service, attempt, agent and state as attributes."""
    spans = traced(_flow(Service("plain", function=abs)))
    assert dict(spans["call plain 1"].attributes or {}) == {
        "solvent.run": "r1",
        "solvent.workflow": "pair",
        "solvent.task": "first",
        "solvent.service": "plain",
        "solvent.attempt": 1,
        "solvent.agent": "a1",
        "solvent.state": "done",
    }


def test_failures_are_recorded() -> None:
    """An attempt that fails has an error and what was raised; one that follows has a span of its own."""
    tried = []

    def shaky(_: int) -> int:
        tried.append(1)
        if len(tried) == 1:
            raise ValueError("at nats://me:secret@host")
        return 1

    service = Service("shaky", function=shaky, policy=Policy(retries=1, backoff=0.0))
    spans = traced(_flow(service), clean=lambda text: text.replace("secret", "***"))
    first, second = spans["call shaky 1"], spans["call shaky 2"]
    assert (first.status.status_code, second.status.status_code) == (StatusCode.ERROR, StatusCode.UNSET)
    assert first.status.description == "ValueError: at nats://me:***@host"
    raised = next(dict(one.attributes or {}) for one in first.events if one.name == "exception")
    assert raised == {"exception.type": "failed", "exception.message": "ValueError: at nats://me:***@host"}
    assert (spans["task first"].attributes or {})["solvent.state"] == "done"


def test_a_workflow_as_a_service_is_below_its_attempt() -> None:
    """The tasks of an inner workflow are below the attempt that calls it, and so on."""
    inner = _flow(Service("plain", function=abs))
    service = Service("inner", kind="workflow", function=inner)
    spans = traced(Workflow("outer", (Task("whole", "inner"),), (service,)))
    assert spans.keys() == {"run outer", "task whole", "call inner 1", "task first", "call plain 1"}
    task = spans["task first"]
    assert task.parent is not None
    assert task.parent.span_id == spans["call inner 1"].context.span_id
    assert (task.attributes or {})["solvent.workflow"] == "pair"


def test_all_processes_agree_on_the_trace_of_a_run() -> None:
    """The same run has the same trace everywhere; another run, or one of the same name at another time, has not."""
    tracing = Tracing(exporter=_Kept())
    found = [
        trace.get_current_span(tracing.run(name, "w", created).context).get_span_context()
        for name, created in (("r1", 1.0), ("r1", 1.0), ("r2", 1.0), ("r1", 2.0))
    ]
    tracing.close()
    assert found[0] == found[1]
    assert len({one.trace_id for one in found}) == 3


def test_a_run_alone_joins_the_span_that_started_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that nobody records belongs to the trace in TRACEPARENT."""
    monkeypatch.setenv("TRACEPARENT", f"00-{'ab' * 16}-{'cd' * 8}-01")
    exporter = _Kept()
    tracing = Tracing(exporter=exporter)
    tracing.run_alone("w").end("done")
    tracing.close()
    (span,) = exporter.get_finished_spans()
    assert span.parent is not None
    assert (span.context.trace_id, span.parent.span_id) == (int("ab" * 16, 16), int("cd" * 8, 16))


def test_a_sampler_keeps_a_run_or_drops_it_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is not drawn has no spans at all, at any agent."""
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
    assert traced(_flow(Service("plain", function=abs))) == {}
