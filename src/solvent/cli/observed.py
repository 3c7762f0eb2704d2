"""Who hears what an agent does: its log, and, where they are wanted, metrics and spans."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Self

from solvent.cli.spans import tracing_for
from solvent.services.observer import observers_as_one

if TYPE_CHECKING:
    from argparse import Namespace

    from solvent.cli.log import Log
    from solvent.runs.agents.agent import Agent
    from solvent.runs.agents.plans import Plan
    from solvent.runs.agents.telling import Told
    from solvent.runs.observing.agent import AgentMetrics
    from solvent.runs.observing.tracing import RunTrace
    from solvent.services.observer import CallObserver
    from solvent.store import Store


class Observed:
    """What is told of an agent, and to whom; a context for the time that it lives."""

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
        """Give the store that the agent is to use."""
        return store if self._metrics is None else self._metrics.measured(store)

    def watch(self, agent: Agent) -> None:
        """Look at the agent when somebody asks for its numbers."""
        if self._metrics is not None:
            self._metrics.watch(agent)

    def hear(self, told: Told) -> None:
        """Hear what the agent tells."""
        self._log.hear(told)
        if self._metrics is not None:
            self._metrics.hear(told)
        if told.event in {"done", "failed", "over"}:
            trace = self._traces.pop(told.run, None)
            # Whoever has ended a run writes its span; the others only hear that it is over.
            if trace is not None and told.event != "over":
                trace.end(told.event, "" if told.event == "done" else told)

    def observe(self, run: str, plan: Plan) -> CallObserver | None:
        """Give who hears of the calls of a run."""
        found: list[CallObserver] = []
        if self._tracing is not None:
            self._traces[run] = trace = self._tracing.run(run, plan.name, plan.created)
            found.append(trace)
        if self._metrics is not None:
            found.append(self._metrics.observer())
        if self._log.tells("debug"):
            found.append(self._log.observer(run))
        return observers_as_one(found)


__all__ = ["Observed"]
