"""Every feature in every mode: the same workflows in one process, by three agents over each store, and from Python.

The table of `docs/reference/workflows.md` has the rows of these tests. All runs of an arm share its store and agents.
"""

from __future__ import annotations

import http.server
import json
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

import solvent
from solvent.runs.agents.launch import launch
from solvent.runs.agents.membership import see_agents
from solvent.runs.causality import violations
from solvent.runs.registry import existing, shards_of
from solvent.runs.store_address import VARIABLE
from solvent.store import open_store
from tests.cli.command import solvent as command
from tests.live.agents_world import until
from tests.live.feature_flows import ROWS, Row, of_http
from tests.live.store_servers import served
from tests.patterns.catalogue import FOLDER, Example, examples, statements_of, workflow_in
from tests.patterns.run_orders import happened_in_store, order_of, statements_about_runs
from tests.repo.project import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from solvent.runs.report import Report

AGENTS = 3
PATIENCE = 200.0
PAGE = ROOT / "docs" / "reference" / "workflows.md"
BEGINS, ENDS = "<!-- features: written by tests/live/test_features.py --rewrite -->\n", "<!-- end of features -->\n"


class Ended(NamedTuple):
    """What came of a run."""

    value: Any
    adaptations: int
    cancelled: tuple[str, ...]


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """Serve an address that says hello."""

    class Hello(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = b'{"said": "hello"}'
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:  # type: ignore[override]
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hello) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@contextmanager
def agents_around(url: str) -> Iterator[str]:
    """Start three agents, which run whatever is submitted."""
    more = ["--trust-all", "--folder", str(FOLDER), "--no-sync", "--ttl", "5"]
    launched = launch(
        [str(FOLDER / "sequence.yaml")], AGENTS, variables={VARIABLE: url, "PYTHONPATH": str(ROOT)}, more=more
    )
    try:
        with open_store(url, is_durable=False) as store:
            said = lambda: "\n".join(one.tail() for one in launched)  # noqa: E731
            until(lambda: len(see_agents(store, patience=0.0)) == AGENTS, said)
        yield url
    finally:
        for one in launched:
            one.stop()
        for one in launched:
            one.wait()
            one.log.unlink(missing_ok=True)


@pytest.fixture(scope="module")
def sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of an SQLite store with agents."""
    with agents_around(str(tmp_path_factory.mktemp("features") / "runs.db")) as url:
        yield url


@pytest.fixture(scope="module")
def nats() -> Iterator[str]:
    """Return the address of a NATS server with agents."""
    with served() as server, agents_around(server) as url:
        yield url


def ended(report: Report) -> Ended:
    """Return what came of a run, from its report."""
    cancelled = tuple(name for name, state in report.states.items() if state == "cancelled")
    return Ended(report.value, len(report.adaptations), cancelled)


def by_agents(url: str, row: Row, inputs: dict[str, Any]) -> Ended:
    """Have a row run by the agents of a store."""
    with solvent.submit(row.workflow, inputs, store=url, agents=0, signals=row.signals, folder=FOLDER) as run:
        return ended(run.wait(PATIENCE))


def from_python(_: str, row: Row, inputs: dict[str, Any]) -> Ended:
    """Run a row here, without a store."""
    return ended(solvent.run(row.workflow, inputs, signals=row.signals, folder=FOLDER))


def by_command(url: str, row: Row, inputs: dict[str, Any]) -> Ended:
    """Run a row by `solvent run`, recorded."""
    given = [f"--input={name}={value}" for name, value in inputs.items()]
    sent = [f"--signal={name}={json.dumps(value)}@{at}" for at, name, value in row.signals]
    done = command("run", row.file, "--store", url, "--format", "json", *given, *sent)
    assert done.code == 0, done.err
    (value,) = done.json["results"].values()
    cancelled = tuple(name for name, state in done.json["states"].items() if state == "cancelled")
    return Ended(value, len(done.json["adaptations"]), cancelled)


ARMS: dict[str, Callable[[str, Row, dict[str, Any]], Ended]] = {
    "`solvent run`": by_command,
    "agents, SQLite": by_agents,
    "agents, NATS": by_agents,
    "`solvent.run`": from_python,
}


@pytest.fixture(scope="module")
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the address of an arm's store."""
    if request.param.startswith("agents"):
        return str(request.getfixturevalue("nats" if request.param.endswith("NATS") else "sqlite"))
    return str(tmp_path_factory.mktemp("features") / "runs.db")


@pytest.mark.parametrize("place,arm", [(one, one) for one in ARMS], indirect=["place"], ids=[*ARMS])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_feature(row: Row, arm: str, place: str, port: int) -> None:
    """The workflow returns the same in every arm, by as many alternatives."""
    inputs = {"port": port} if row.flow is of_http else {}
    assert ARMS[arm](place, row, inputs) == Ended(row.value, row.adaptations, row.cancelled)


@pytest.mark.parametrize("arm", ["sqlite", "nats", "python"])
@pytest.mark.parametrize("example", examples(), ids=lambda one: one.name)
def test_pattern(example: Example, arm: str, request: pytest.FixtureRequest) -> None:
    """Each example of a pattern ends by agents and from Python as its header says, in an order that it allows.

    What `solvent run` makes of it is in `tests/examples/test_pattern_examples.py`.
    """
    workflow, case = workflow_in(example.file), example.cases[0]
    shards: list[frozenset[str]] = []
    if arm == "python":
        report = solvent.run(workflow, case.inputs, folder=FOLDER, check=False)
        happened = [(one.task, one.kind) for one in report.trace or ()]
    else:
        url = request.getfixturevalue(arm)
        with solvent.submit(workflow, case.inputs, store=url, agents=0, folder=FOLDER) as run:
            report = run.wait(PATIENCE, check=False)
        with open_store(url, is_durable=False) as store:
            record = existing(store, run.name)
            happened, (shards, _) = happened_in_store(store, record), shards_of(workflow, record)
    assert report.stuck == []
    assert (0 if report.succeeded else 1) == example.code, report.states
    assert report.is_cancelled == (example.ends == "cancelled")
    assert {task: report.calls.get(task, 0) for task in example.calls} == example.calls
    if arm == "python" and report.trace is None:
        # Without control flow every task is called, in the order that its data asks for.
        assert set(report.states.values()) == {"done"}
        return
    order = order_of(
        workflow, happened, stuck=report.stuck, is_ended=bool(report.ended_by), is_cancelled=report.is_cancelled
    )
    assert violations(order, statements_about_runs(workflow, statements_of(example, case), shards)) == []


def table() -> str:
    """Return the table of features."""
    patterns = Row("all forty-three [control-flow patterns](patterns.md)", None, None)
    lines = [f"| feature | {' | '.join(ARMS)} |", f"|---|{'---|' * len(ARMS)}"]
    lines += [f"| {row.name} | {' | '.join('yes' for _ in ARMS)} |" for row in (*ROWS, patterns)]
    return "\n".join(lines) + "\n"


def test_table_has_the_rows_of_these_tests(*, rewrite: bool) -> None:
    """The table in the documentation is written from the rows, by `--rewrite`."""
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGINS)
    seen, after = rest.split(ENDS)
    if rewrite:
        PAGE.write_text(f"{before}{BEGINS}{table()}{ENDS}{after}", encoding="utf-8")
    else:
        assert seen == table(), "run `pytest tests/live/test_features.py -k table --rewrite`"
