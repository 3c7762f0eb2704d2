"""`solvent agent`: runs tasks of workflows that were submitted to a store, together with other agents.

It calls only the services of the files that it was started with. When it ends, by Ctrl-C, SIGTERM or SIGKILL, other
agents take over its work. Its log goes to standard output; what services print goes to standard error.
"""

from __future__ import annotations

import os
import signal
import sys
from argparse import ArgumentTypeError
from contextlib import ExitStack
from typing import IO, TYPE_CHECKING, Self

from solvent.cli.arguments import (
    MAX_PORT,
    TTL,
    add_log,
    add_no_sync,
    add_otel,
    add_store,
    any_file,
    at_least,
    checked_ttl,
    parser_for,
    seconds,
)
from solvent.cli.interrupt import begin
from solvent.cli.log import Log
from solvent.cli.records import open_patiently, url_of
from solvent.cli.secrecy import redacted
from solvent.cli.spans import tracing_for
from solvent.cli.workflows import add_scale, refuse_uncallable
from solvent.errors import AgentProblem
from solvent.services.observer import observers_as_one

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from pathlib import Path

    from solvent.runs.agents.agent import Agent
    from solvent.runs.agents.log import Told
    from solvent.runs.agents.offers import Offers
    from solvent.runs.observing.agent import AgentMetrics
    from solvent.runs.observing.tracing import RunTrace
    from solvent.runs.registry import RunRecord
    from solvent.services.observer import CallObserver
    from solvent.store import Store

_SAYS = (
    "Run tasks of workflows that were submitted to a store, together with other agents. When it ends, by Ctrl-C or a\n"
    "crash, the others take over its work. An agent calls only the services of the files that it was started with."
)
_EXAMPLE = (
    "solvent agent --store runs.db --services pipeline.yaml\n"
    "  SOLVENT_STORE=nats://10.0.0.1:4222 solvent agent --services pipeline.yaml other.py --jobs 8"
)


def main(arguments: list[str]) -> int:
    """Work until Ctrl-C or SIGTERM (0)."""
    try:
        begin()
        options = parser().parse_args(arguments)
        ttl = checked_ttl(options.ttl)
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        return _run(options, ttl)
    except KeyboardInterrupt:
        return 0


def _run(options: Namespace, ttl: float) -> int:
    from solvent.store import open_store
    from solvent.store.heartbeat import split_off

    url = url_of(options)
    # Before anything else: services and their modules may start threads.
    heartbeat = split_off(url, is_durable=not options.no_sync)
    from solvent.hocl.process_settings import few_collections
    from solvent.runs.agents.agent import Agent
    from solvent.runs.holders import Stopper

    offers = offers_from(options.services, trusts_all=options.trust_all, scale=options.scale, folder=options.folder)
    name = _name(options.name)
    log = Log(
        _own_output(), is_json="json" in (options.log_format, options.format), level=options.log_level, agent=name
    )
    # An agent that was started for a run waits: the store could be reached a moment ago.
    open_ = open_patiently if options.until else open_store
    with open_(url, is_durable=not options.no_sync) as store, Observed(options, name, log) as observed:
        agent = Agent(
            observed.store(store),
            name,
            offers,
            ttl=ttl,
            jobs=options.jobs,
            tell=observed.hear,
            observe=observed.observe,
            heartbeat=heartbeat,
        )
        observed.watch(agent)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: _stop(agent))
        what = ", ".join(sorted(offers.services)) or "nothing of its own"
        log.tell("begun", f"agent at {redacted(url)}, process {os.getpid()}; offers {what}")
        if options.trust_all:
            said = "--trust-all: it runs every command that is submitted to this store"
            log.tell("trusting", said, level="warning")
        with few_collections(), Stopper(store, name, agent.stop, until=options.until or ""):
            agent.run()
        log.tell("ended", "ends; other agents take over its work")
    return 0


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    parser = parser_for("agent", _SAYS, example=_EXAMPLE)
    add_store(parser)
    says = "workflow files whose services it offers: .yaml, .json, .hocl, .py[:NAME]; all in one folder"
    parser.add_argument("--services", type=any_file, nargs="+", action="extend", default=[], metavar="FILE", help=says)
    says = "the folder of the programs and modules that they name (default: that of the files)"
    parser.add_argument("--folder", metavar="DIR", help=says)
    add_scale(parser)
    says = "its name; some letters are added to make it unique (default: this machine's name)"
    parser.add_argument("--name", metavar="NAME", help=says)
    parser.add_argument("--jobs", type=at_least(1), metavar="N", help="call at most N Python services at a time")
    says = f"seconds of silence after which other agents take over its work (default: {TTL:g})"
    parser.add_argument("--ttl", type=seconds, metavar="S", help=says)
    says = (
        "run any command that a submitted workflow names, as this user; only for a store that nobody else can write to"
    )
    parser.add_argument("--trust-all", action="store_true", help=says)
    parser.add_argument("--until", metavar="RUN", help="end when this run is over")
    add_no_sync(parser)
    says = "serve metrics for Prometheus at http://HOST:PORT/metrics (default of HOST: this machine only)"
    parser.add_argument("--metrics", type=_address, metavar="[HOST:]PORT", help=says)
    add_otel(parser)
    add_log(parser)
    parser.add_argument("--format", choices=("text", "json"), default="text", help="the same as --log-format")
    return parser


def _address(text: str) -> tuple[str, int]:
    """Read where metrics are offered."""
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > MAX_PORT:
        raise ArgumentTypeError(f"must be HOST:PORT or a port, not `{text}`")
    return host.strip("[]"), int(port)


def offers_from(
    files: list[str], *, trusts_all: bool = False, scale: float | None = None, folder: str | None = None
) -> Offers:
    """Read workflow files and return their services; fail if one cannot be called here."""
    from pathlib import Path

    from solvent.cli.workflows import folder_of, load_sound
    from solvent.runs.agents.offers import offers_of

    if not files and not trusts_all:
        hint = "name files whose services it offers: --services WORKFLOW"
        raise AgentProblem("A103", "this agent would have no services to offer", hint=hint)
    folders: dict[Path, str] = {}
    loaded = []
    for file in files:
        folders.setdefault(folder_of(file).resolve(), file)
        loaded.append(load_sound(file, scale=scale))
    if folder is None and len(folders) > 1:
        said = (
            f"{' and '.join([*folders.values()][:2])} are in different folders, and the programs of an agent are in one"
        )
        raise AgentProblem("A103", said, hint="start an agent for each folder")
    place = Path(folder) if folder is not None else next(iter(folders), None)
    offers = offers_of((one.workflow for one in loaded), place, trusts_all=trusts_all)
    if files:
        refuse_uncallable(loaded, folder_of(files[0]) if folder is None else Path(folder))
    return offers


def _name(given: str | None) -> str:
    """Return a name that no other agent has had: work of an agent with the same name would never be taken over."""
    import socket

    from solvent.runs.holders import agent_name

    return agent_name(given or socket.gethostname().partition(".")[0])


def _stop(agent: Agent) -> None:
    # A second Ctrl-C ends at once, in case a service does not end.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    agent.stop()


def _own_output() -> IO[str]:
    """Keep standard output for the log; what services print goes to standard error."""
    sys.stdout.flush()
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="backslashreplace")
    os.dup2(2, 1)
    return out


class Observed:
    """The log of an agent and, where they are wanted, its metrics and spans; a context for the time that it lives."""

    def __init__(self, options: Namespace, name: str, log: Log) -> None:
        self._log = log
        self._address: tuple[str, int] | None = options.metrics
        self._stack = ExitStack()
        self._metrics: AgentMetrics | None = None
        if self._address is not None:
            from solvent import __version__
            from solvent.runs.observing.agent import AgentMetrics

            self._metrics = AgentMetrics(name, __version__)
        self._tracing = tracing_for(
            options, agent=name, tell=lambda said: log.tell("spans", f"spans: {said}", level="warning")
        )
        self._traces: dict[str, RunTrace] = {}

    def __enter__(self) -> Self:
        if self._tracing is not None:
            self._stack.callback(self._tracing.close)
        if self._address is not None and self._metrics is not None:
            from solvent.runs.observing.endpoint import HOST, Endpoint

            host, port = self._address
            endpoint = self._stack.enter_context(Endpoint(self._metrics.metrics, host or HOST, port))
            self._log.tell("metrics", f"metrics at {endpoint.address}")
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def store(self, store: Store) -> Store:
        """Return the store for the agent, measured if there are metrics."""
        return store if self._metrics is None else self._metrics.measured(store)

    def watch(self, agent: Agent) -> None:
        """Read the metrics of an agent when they are asked for."""
        if self._metrics is not None:
            self._metrics.watch(agent)

    def hear(self, told: Told) -> None:
        """Pass on what the agent reports."""
        self._log.hear(told)
        if self._metrics is not None:
            self._metrics.hear(told)
        if told.event in {"done", "failed", "over"}:
            trace = self._traces.pop(told.run, None)
            # The agent that ended a run writes its span; the others only hear that it is over.
            if trace is not None and told.event != "over":
                trace.end(told.event, "" if told.event == "done" else told)

    def observe(self, record: RunRecord) -> CallObserver | None:
        """Return the call observer of a run."""
        run = record.run
        found: list[CallObserver] = []
        if self._tracing is not None:
            self._traces[run] = trace = self._tracing.run(run, record.workflow, record.created)
            found.append(trace)
        if self._metrics is not None:
            found.append(self._metrics.observer())
        if self._log.tells("debug"):
            found.append(self._log.observer(run))
        return observers_as_one(found)
