"""Metrics, spans and logs of real agents and runs: read over HTTP, received over HTTP, and line by line."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from prometheus_client.parser import text_string_to_metric_families

from solvent.cli.log import Log
from tests.cli.agent_processes import Command, put_flow, until
from tests.cli.command import environment, solvent

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STORE = ("--store", "runs.db", "--no-sync")
AGENT = ("agent", *STORE, "--services", "flow.yaml", "--ttl", "1")
RETRY = """\
workflow: tries
services:
  once: {shell: "test -e tried || { touch tried; exit 3; }; echo $TRACEPARENT > parent", retries: 1, backoff: 0.01}
  ask: {http: "http://127.0.0.1:PORT/ask", method: GET}
tasks:
  try: {service: once}
  ask: {service: ask, after: [try]}
"""


class Receiver:
    """Receives spans by OTLP, and notes the headers of other requests; in a context."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.headers: list[dict[str, str]] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = ExportTraceServiceRequest()
                request.ParseFromString(self.rfile.read(int(self.headers["Content-Length"])))
                for resource in request.resource_spans:
                    about = {one.key: one.value.string_value for one in resource.resource.attributes}
                    found = [(about, span) for scope in resource.scope_spans for span in scope.spans]
                    receiver.spans += found
                self.send_response(200)
                self.end_headers()

            def do_GET(self) -> None:
                receiver.headers.append({name.lower(): value for name, value in self.headers.items()})
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]

    @contextmanager
    def listening(self) -> Iterator[Receiver]:
        """Listen."""
        thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()

    @property
    def variables(self) -> dict[str, str]:
        """The environment of a process whose spans go here."""
        return {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{self.port}", "OTEL_BSP_SCHEDULE_DELAY": "100"}


def _said(span: Any) -> dict[str, Any]:
    return {one.key.removeprefix("solvent."): one.value.int_value or one.value.string_value for one in span.attributes}


def _numbers(agent: Command) -> dict[str, float]:
    agent.wait_for("metrics at ")
    address = agent.said().split("metrics at ")[1].split()[0].strip('"}')
    with urlopen(address) as answer:  # noqa: S310 - of this machine
        text = answer.read().decode()
    return {
        ",".join([sample.name, *sorted(sample.labels.values())]): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if not sample.name.endswith("_bucket")
    }


def test_numbers_of_an_agent_are_read_over_http(tmp_path: Path) -> None:
    """Calls, tasks, turns, journals, messages, shards and the process can be read while an agent works."""
    put_flow(tmp_path)
    solvent("submit", "flow.yaml", *STORE[:2], "--name", "r1", cwd=tmp_path)
    with Command(*AGENT, "--metrics", "0", cwd=tmp_path) as agent:
        agent.wait_for("took shard")
        until(lambda: _numbers(agent).get("solvent_calls_running") == 2)
        assert _numbers(agent)["solvent_shards"] > 1
        (tmp_path / "open").touch()
        until(lambda: "solvent_runs_total,done" in _numbers(agent))
        found = _numbers(agent)
    expected = {
        "solvent_calls_total,done,start": 1,
        "solvent_calls_total,done,gate": 2,
        "solvent_calls_total,broken,failed": 1,
        "solvent_tasks_total,done": 4,
        "solvent_tasks_total,failed": 1,
        "solvent_attempts_total,gate": 2,
        "solvent_call_seconds_count,gate": 2,
        "solvent_calls_running": 0,
        "solvent_runs_total,done": 1,
        "solvent_take_overs_total": 0,
        "solvent_queue_length,calls": 0,
    }
    assert {name: found.get(name) for name in expected} == expected
    for name in ("turns_total", "journal_records_total", "messages_total", "shards_taken_total"):
        assert found[f"solvent_{name}"] > 1
    assert found["solvent_append_seconds_count,journal"] > 1
    assert found["process_cpu_seconds_total"] > 0
    assert found["process_resident_memory_bytes"] > 1e6


@pytest.mark.parametrize("name,code", [("evil.example", 403), ("localhost", 200), ("[::1]:80", 200), ("", 403)])
def test_numbers_are_given_only_under_a_name_of_the_agent(tmp_path: Path, name: str, code: int) -> None:
    """A page whose name was made to point to this machine (DNS rebinding) reads no metrics."""
    put_flow(tmp_path)
    with Command(*AGENT, "--metrics", "0", cwd=tmp_path) as agent:
        agent.wait_for("metrics at ")
        address = urlsplit(agent.said().split("metrics at ")[1].split()[0].strip('"}'))
        asking = HTTPConnection(str(address.hostname), address.port)
        asking.request("GET", "/metrics", headers={"Host": name})
        answer = asking.getresponse()
        assert (answer.status, b"solvent_" in answer.read()) == (code, code == 200)


def test_take_overs_are_counted(tmp_path: Path) -> None:
    """An agent that goes on for one that was killed counts what it took over."""
    put_flow(tmp_path)
    solvent("submit", "flow.yaml", *STORE[:2], "--name", "r1", cwd=tmp_path)
    with Command(*AGENT, cwd=tmp_path) as first:
        first.wait_for("took shard")
    with Command(*AGENT, "--metrics", "127.0.0.1:0", cwd=tmp_path) as second:
        until(lambda: _numbers(second)["solvent_take_overs_total"] > 0)
        assert _numbers(second)["solvent_take_overs_total"] <= _numbers(second)["solvent_shards_taken_total"]


@pytest.mark.parametrize("address", ["x", "127.0.0.1:", "1:70000"])
def test_an_address_that_is_none_is_refused(tmp_path: Path, address: str) -> None:
    """What is no port is told before anything is done."""
    put_flow(tmp_path)
    result = solvent(*AGENT, "--metrics", address, cwd=tmp_path)
    assert result.code == 2
    assert f"`--metrics` must be HOST:PORT or a port, not `{address}`" in result.err


def test_all_agents_add_to_one_trace(tmp_path: Path) -> None:
    """Two agents send the spans of a run: one trace, one span of the run, tasks below it, each said by its agent."""
    put_flow(tmp_path)
    (tmp_path / "open").touch()
    with Receiver().listening() as receiver:
        solvent("submit", "flow.yaml", *STORE[:2], "--name", "r1", cwd=tmp_path)
        words = (*AGENT, "--otel", "--until", "r1")
        with (
            Command(*words, "--name", "a", cwd=tmp_path, more=receiver.variables) as one,
            Command(*words, "--name", "b", cwd=tmp_path, more=receiver.variables) as two,
        ):
            assert (one.process.wait(200), two.process.wait(200)) == (0, 0)
        spans = receiver.spans
    assert len({span.trace_id for _, span in spans}) == 1
    (run,) = [span for _, span in spans if span.name == "run numbers"]
    tasks = {_said(span)["task"]: span for _, span in spans if span.name.startswith("task ")}
    assert tasks.keys() == {"first", "held", "odd", "spare", "sum"}
    assert {span.parent_span_id for span in tasks.values()} == {run.span_id}
    assert {name: _said(span)["state"] for name, span in tasks.items()} == {
        **dict.fromkeys(tasks, "done"),
        "odd": "failed",
    }
    assert tasks["odd"].status.code == 2
    calls = [span for _, span in spans if span.name.startswith("call ")]
    assert {span.parent_span_id for span in calls} == {span.span_id for span in tasks.values()}
    assert _said(run) == {"run": "r1", "workflow": "numbers", "state": "done", "agent": _said(run)["agent"]}
    assert {about["service.name"] for about, _ in spans} == {"solvent"}


def test_services_are_handed_the_span(tmp_path: Path) -> None:
    """A command has its attempt's span in its environment and an HTTP request in a header; retries have their own."""
    with Receiver().listening() as receiver:
        (tmp_path / "flow.yaml").write_text(RETRY.replace("PORT", str(receiver.port)))
        with Command(
            "run", "flow.yaml", "--no-record", "--format", "json", cwd=tmp_path, more=receiver.variables
        ) as run:
            assert run.process.wait(200) == 0, run.said()
        spans = {f"{span.name} {_said(span).get('attempt', '')}".strip(): span for _, span in receiver.spans}
        (headers,) = receiver.headers
    assert spans.keys() == {"run tries", "task try", "task ask", "call once 1", "call once 2", "call ask 1"}
    ask = spans["call ask 1"]
    assert headers["traceparent"].startswith(f"00-{ask.trace_id.hex()}-{ask.span_id.hex()}-")
    once = spans["call once 2"]
    assert f"00-{once.trace_id.hex()}-{once.span_id.hex()}-" in (tmp_path / "parent").read_text()
    assert spans["call once 1"].status.code == 2
    assert not spans["run tries"].parent_span_id


def test_nothing_is_imported_unless_it_is_wanted(tmp_path: Path) -> None:
    """A run without spans does not load OpenTelemetry, nor the metrics of agents."""
    put_flow(tmp_path)
    (tmp_path / "open").touch()
    code = (
        "import sys; from solvent.cli.main import main; main(['run', 'flow.yaml', '--no-record'])\n"
        "sys.exit(any(name.startswith(('opentelemetry', 'solvent.runs.observing')) for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment(), check=False)
    assert done.returncode == 0


def test_spans_that_cannot_be_sent_as_asked_are_an_error(tmp_path: Path) -> None:
    """An exporter that is not installed is told, with those that are."""
    put_flow(tmp_path)
    with Command("run", "flow.yaml", "--otel", cwd=tmp_path, more={"OTEL_TRACES_EXPORTER": "pigeon"}) as run:
        assert run.process.wait(200) == 2
        assert "error[H355]: there is no exporter of spans `pigeon` installed" in run.said()


def test_a_collector_that_is_not_there_stops_nothing(tmp_path: Path) -> None:
    """The results are printed, the exit code is that of the run, and one line says that the spans are lost."""
    put_flow(tmp_path)
    (tmp_path / "open").touch()
    nobody = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_EXPORTER_OTLP_TIMEOUT": "0.5"}
    with Command("run", "flow.yaml", "--no-record", "--log-level", "error", cwd=tmp_path, more=nobody) as run:
        assert run.process.wait(200) == 0
        lines = run.said().splitlines()
    assert "sum: 17" in lines
    (said,) = [line for line in lines if "spans" in line]
    assert said.startswith("warning: spans: Failed to export")


def test_an_agent_logs_json(tmp_path: Path) -> None:
    """Each line is an object with time, level, event, agent and words; with debug also of each call."""
    put_flow(tmp_path)
    (tmp_path / "open").touch()
    solvent("submit", "flow.yaml", *STORE[:2], "--name", "r1", cwd=tmp_path)
    words = (*AGENT, "--until", "r1", "--log-format", "json", "--log-level", "debug")
    with Command(*words, cwd=tmp_path) as agent:
        assert agent.process.wait(200) == 0
        lines = [json.loads(line) for line in agent.said().splitlines()]
    assert all({"time", "level", "event", "agent", "says"} <= line.keys() for line in lines)
    (failed,) = [line for line in lines if line.get("task") == "odd" and line["event"] == "answered"]
    about = {"run": "r1", "service": "broken", "attempt": 1, "state": "failed", "level": "debug"}
    assert {key: failed[key] for key in about} == about
    assert {"begun", "taken", "called", "done", "over", "ended"} <= {line["event"] for line in lines}


def test_only_what_is_grave_enough_is_logged(tmp_path: Path) -> None:
    """A level keeps out what is below it."""
    put_flow(tmp_path)
    (tmp_path / "open").touch()
    result = solvent("run", "flow.yaml", "--no-record", "--log-format", "json", "--log-level", "warning", cwd=tmp_path)
    lines = [json.loads(line) for line in result.err.splitlines()]
    assert [(line["level"], line["event"], line["task"]) for line in lines] == [
        ("warning", "task.failed", "odd"),
        ("warning", "task.adapted", "odd"),
    ]


def test_a_run_logs_its_tasks(tmp_path: Path) -> None:
    """With a format for logs a run writes a line for each event, and how it ended; the results stay as they are."""
    put_flow(tmp_path)
    (tmp_path / "open").touch()
    words = ("run", "flow.yaml", "--store", "runs.db", "--name", "r1", "--log-format", "json")
    result = solvent(*words, cwd=tmp_path)
    assert result.out == "sum: 17\n"
    lines = [json.loads(line) for line in result.err.splitlines()]
    assert {line["run"] for line in lines} == {"r1"}
    assert {(line["event"], line.get("task")) for line in lines} >= {("task.started", "sum"), ("task.done", "sum")}
    assert (lines[-1]["event"], lines[-1]["state"]) == ("run.done", "done")


def test_who_watches_agents_logs_what_they_do(tmp_path: Path) -> None:
    """A run by agents that were started here is told in the same way, as far as it can be seen from outside."""
    put_flow(tmp_path)
    (tmp_path / "open").touch()
    words = ("run", "flow.yaml", *STORE, "--name", "r1", "--agents", "1", "--log-format", "json")
    result = solvent(*words, cwd=tmp_path)
    assert result.out == "sum: 17\n"
    lines = [json.loads(line) for line in result.err.splitlines()]
    assert ("task.failed", "odd") in {(line["event"], line.get("task")) for line in lines}
    assert (lines[-1]["event"], lines[-1]["run"]) == ("run.done", "r1")


def test_logs_are_for_workflows(tmp_path: Path) -> None:
    """A program has no tasks to tell of."""
    (tmp_path / "max.hocl").write_text("<1>")
    result = solvent("run", "max.hocl", "--log-format", "json", cwd=tmp_path)
    assert (result.code, "`--log-format` is for workflows" in result.err) == (2, True)


def test_a_line_is_an_object_with_its_fields() -> None:
    """Fields that mean nothing are left out; the time is in UTC, to the millisecond."""
    out = StringIO()
    Log(out, is_json=True, agent="a1").tell("taken", "took it", run="r1", place=0, task="")
    found = json.loads(out.getvalue())
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", found.pop("time"))
    assert found == {
        "level": "info",
        "event": "taken",
        "agent": "a1",
        "run": "r1",
        "place": 0,
        "says": "took it",
    }


def test_secrets_and_signs_of_terminals_are_not_shown() -> None:
    """A password in an address, and what would change a terminal, is in neither format, nor in any field."""
    for is_json in (True, False):
        out = StringIO()
        text = "at nats://me:secret@host\x1b[2J"
        Log(out, is_json=is_json).tell("away", text, task=text)
        assert "nats://***@host" in out.getvalue()
        assert "secret" not in out.getvalue()
        assert "\x1b" not in out.getvalue()
        assert "u001b" not in out.getvalue()


def test_a_reader_that_went_away_ends_nothing() -> None:
    """Where nobody reads any more, nothing is written any more."""
    out = StringIO()
    log = Log(out, is_json=False)
    out.close()
    log.tell("one", "first")
    log.tell("two", "second")
