"""Spans for OpenTelemetry: a run, its tasks, and every attempt of a call.

    run morning ── task fetch ── call fetch (attempt 1, failed)
                 │             └ call fetch (attempt 2)
                 └ task count ── call count

A run's trace follows from its name and the moment it was made, so that all agents that take part in it, and whoever
goes on with it, add to one trace without asking each other. Its span is written by who ends it. A run that nobody
records has a trace by chance, or that of whoever started it (`TRACEPARENT`).

Where spans go the environment says, by the variables that OpenTelemetry has for that.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from functools import partial, wraps
from hashlib import sha256
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.trace import NonRecordingSpan, Span, SpanContext, Status, StatusCode, TraceFlags
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from solvent.errors import Misuse
from solvent.runs.observing.tasks import OpenTasks
from solvent.services.observer import CallSeen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from opentelemetry.context import Context
    from opentelemetry.sdk.trace.export import SpanExporter

    from solvent.services.current_call import CallIdentity
    from solvent.services.failure import Failure
    from solvent.services.observer import CallObserver

_EXPORTERS = "opentelemetry_traces_exporter"
_MAX_TEXT = 2_000
_PROPAGATOR = TraceContextTextMapPropagator()


class Tracing:
    """Where the spans of a process go."""

    def __init__(
        self,
        *,
        agent: str = "",
        version: str = "",
        exporter: SpanExporter | None = None,
        clean: Callable[[str], str] = str,
    ) -> None:
        """`clean` takes what is secret out of a text."""
        own = {} if _is_named() else {"service.name": "solvent"}
        if agent:
            own["service.instance.id"] = agent
        self.agent = agent
        self.clean = clean
        self._ids = _Ids()
        self._provider = TracerProvider(resource=Resource.create(own), id_generator=self._ids)
        self._provider.add_span_processor(BatchSpanProcessor(exporter or exporter_of_environment()))
        self._tracer = self._provider.get_tracer("solvent", version)

    def close(self) -> None:
        """Send what is left."""
        self._provider.shutdown()

    def run(self, run: str, workflow: str, created: float) -> RunTrace:
        """Give the trace of a run that other processes may take part in."""
        digest = sha256(f"solvent {run} {created!r}".encode()).digest()
        known = SpanContext(
            int.from_bytes(digest[:16], "big"),
            int.from_bytes(digest[16:24], "big"),
            is_remote=True,
            # All processes draw alike, since what is drawn depends on the trace alone.
            trace_flags=TraceFlags(TraceFlags.SAMPLED if self._is_sampled(digest) else TraceFlags.DEFAULT),
        )
        return RunTrace(self, run, workflow, known=known, created=created)

    def _is_sampled(self, digest: bytes) -> bool:
        trace_id = int.from_bytes(digest[:16], "big")
        return self._provider.sampler.should_sample(None, trace_id, "run").decision is Decision.RECORD_AND_SAMPLE

    def run_alone(self, workflow: str) -> RunTrace:
        """Give the trace of a run that only this process knows of."""
        return RunTrace(self, "", workflow)

    def start(
        self,
        name: str,
        context: Context | None,
        said: dict[str, Any],
        *,
        known: SpanContext | None = None,
        at: float | None = None,
    ) -> Span:
        """Begin a span; one that is `known` has the identity that all expect."""
        attributes = {f"solvent.{key}": value for key, value in said.items() if value != ""}
        if self.agent:
            attributes["solvent.agent"] = self.agent
        began = None if at is None else int(at * 1e9)
        if known is None:
            return self._tracer.start_span(name, context, attributes=attributes, start_time=began)
        with self._ids.forced(known):
            return self._tracer.start_span(name, context, attributes=attributes, start_time=began)

    def end(self, span: Span, state: str, problem: str = "") -> None:
        """End a span, with the state of what it stands for and what went wrong."""
        span.set_attribute("solvent.state", state)
        if problem:
            said = self.clean(problem[:_MAX_TEXT])
            span.add_event("exception", {"exception.type": state, "exception.message": said})
            span.set_status(Status(StatusCode.ERROR, said))
        span.end()


class RunTrace:
    """The trace of one run; hears of its calls."""

    def __init__(
        self, tracing: Tracing, run: str, workflow: str, *, known: SpanContext | None = None, created: float = 0.0
    ) -> None:
        self.tracing = tracing
        self.tasks = OpenTasks[Span]()
        self.said: dict[str, Any] = {"run": run, "workflow": workflow}
        self._known = known
        self._created = created
        self._span: Span | None = None
        self.context: Context = contexts.Context()
        if known is None:
            self._span = tracing.start(f"run {workflow}", _context_of_environment(), self.said)
            self.context = trace.set_span_in_context(self._span, self.context)
        else:
            self.context = trace.set_span_in_context(NonRecordingSpan(known), self.context)

    def end(self, state: str, problem: str = "") -> None:
        """End the run's span; of a run of several processes that is for one of them to do."""
        span = self._span
        if span is None:
            name, root = f"run {self.said['workflow']}", contexts.Context()
            span = self.tracing.start(name, root, self.said, known=self._known, at=self._created)
        self.tracing.end(span, state, problem)

    def call(self, service: str, task: str, _identity: CallIdentity | None) -> CallSeen:
        """Hear that a service is called for a task."""
        return _TracedCall(self, service, task)


class _InnerTrace(RunTrace):
    """The tasks of a workflow that is called as a service: below the attempt that calls it."""

    def __init__(self, outer: RunTrace, workflow: str, span: Span) -> None:
        self.tracing = outer.tracing
        self.tasks = OpenTasks[Span]()
        self.said = {**outer.said, "workflow": workflow}
        self.context = trace.set_span_in_context(span, contexts.Context())


class _TracedCall(CallSeen):
    """A call, one span for each of its attempts below that of its task."""

    def __init__(self, run: RunTrace, service: str, task: str) -> None:
        self._run = run
        self._service = service
        self._task = task
        begin = partial(run.tracing.start, f"task {task}", run.context, {**run.said, "task": task})
        self._span = run.tasks.enter(task, begin)
        self._lock = threading.Lock()
        self._attempt: Span | None = None
        self._is_over = False

    def attempt(self, number: int) -> str:
        run = self._run
        parent = trace.set_span_in_context(self._span, run.context)
        said = {**run.said, "task": self._task, "service": self._service, "attempt": number}
        span = run.tracing.start(f"call {self._service}", parent, said)
        with self._lock:
            if self._is_over:
                # It was cancelled at this very moment.
                return ""
            self._attempt = span
        carrier: dict[str, str] = {}
        _PROPAGATOR.inject(carrier, trace.set_span_in_context(span))
        return carrier.get("traceparent", "")

    def began(self) -> None:
        span = self._attempt
        if span is not None:
            span.add_event("began")

    def attempted(self, failure: Failure | None) -> None:
        with self._lock:
            span, self._attempt = self._attempt, None
        if span is not None:
            self._run.tracing.end(span, *_outcome(failure))

    def ended(self, failure: Failure | None, attempts: int) -> None:  # noqa: ARG002 - each has a span
        with self._lock:
            self._is_over = True
        if self._run.tasks.leave(self._task):
            self._run.tracing.end(self._span, *_outcome(failure))

    def inner(self, workflow: str) -> CallObserver | None:
        span = self._attempt
        return None if span is None else _InnerTrace(self._run, workflow, span)

    def within(self, function: Callable[..., Any]) -> Callable[..., Any]:
        span = self._attempt
        if span is None:
            return function
        context = trace.set_span_in_context(span)

        @wraps(function)
        def traced(*arguments: Any, **keywords: Any) -> Any:
            before = contexts.attach(context)
            try:
                return function(*arguments, **keywords)
            finally:
                contexts.detach(before)

        return traced


class _Ids(RandomIdGenerator):
    """Identities by chance, but for spans that have one already."""

    def __init__(self) -> None:
        self._here = threading.local()

    @contextmanager
    def forced(self, known: SpanContext) -> Iterator[None]:
        """Let the next span of this thread have an identity."""
        self._here.known = known
        try:
            yield
        finally:
            self._here.known = None

    def generate_span_id(self) -> int:
        known: SpanContext | None = getattr(self._here, "known", None)
        return super().generate_span_id() if known is None else known.span_id

    def generate_trace_id(self) -> int:
        known: SpanContext | None = getattr(self._here, "known", None)
        return super().generate_trace_id() if known is None else known.trace_id


def _outcome(failure: Failure | None) -> tuple[str, str]:
    if failure is None:
        return "done", ""
    state = failure.kind.lower()
    # That somebody did not want it any more is no error of it.
    return state, "" if failure.kind == "CANCELLED" else failure.text or state


def _is_named() -> bool:
    return bool(os.environ.get("OTEL_SERVICE_NAME")) or "service.name=" in os.environ.get(
        "OTEL_RESOURCE_ATTRIBUTES", ""
    )


def _context_of_environment() -> Context:
    """Give the span that whoever started this process has handed on, if any."""
    known = {name: os.environ[name.upper()] for name in ("traceparent", "tracestate") if name.upper() in os.environ}
    return _PROPAGATOR.extract(known, contexts.Context())


def exporter_of_environment() -> SpanExporter:
    """Give what sends spans, by OTEL_TRACES_EXPORTER and OTEL_EXPORTER_OTLP_PROTOCOL."""
    name = os.environ.get("OTEL_TRACES_EXPORTER", "").strip() or "otlp"
    if name == "otlp":
        common = os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL", "")
        protocol = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", common).strip() or "http/protobuf"
        name = {"http/protobuf": "otlp_proto_http", "grpc": "otlp_proto_grpc"}.get(protocol, protocol)
    found = [*entry_points(group=_EXPORTERS, name=name)]
    if not found:
        known = ", ".join(sorted({one.name for one in entry_points(group=_EXPORTERS)}))
        raise Misuse("H355", f"there is no exporter of spans `{name}` installed", hint=f"installed: {known}")
    made: SpanExporter = found[0].load()()
    return made


__all__ = ["RunTrace", "Tracing"]
