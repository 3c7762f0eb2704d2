"""`solvent run WORKFLOW --agents N`: start agents on this machine, submit the workflow, watch it, print its results.

This process only watches. Killing it, or any of the agents, does not end the run; Ctrl-C asks the agents that were
started here to end, and prints how to continue.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from solvent.cli.agent import offers_from
from solvent.cli.agent_runs import refuse_without_agents, tell_end, watch_run
from solvent.cli.arguments import checked_ttl, log_words
from solvent.cli.records import hints_with_store, open_patiently, said_store, url_of
from solvent.cli.render import write
from solvent.cli.workflows import (
    folder_of,
    inputs_of,
    is_workflow,
    load_workflow_to_run,
    refuse,
    refuse_for_program,
    refuse_uncallable,
)
from solvent.errors import INTERRUPTED, AgentProblem

if TYPE_CHECKING:
    from argparse import Namespace

    from solvent.runs.registry import RunRecord
    from solvent.store import Store

_ALONE = (
    "seed", "max_reactions", "max_seconds", "stats", "trace", "save", "processes", "cache", "explain", "no_record",
    "functions",
    "services",
)  # fmt: skip
_ALONE_RESUMED = ("take_over", "processes", "max_seconds", "trace")


def run_by_agents(options: Namespace) -> int:
    """Start agents on this machine, submit a workflow, watch it, and print its results."""
    refuse(options, _ALONE, "cannot be used with --agents")
    checked_ttl(options.ttl)
    from solvent.runs.agents.submission import give_to_agents
    from solvent.runs.registry import new_name

    if not is_workflow(options.file):
        refuse_for_program(options, ("agents",), "use --nodes N for a program")
    loaded = load_workflow_to_run(options.file, scale=options.scale)
    workflow = loaded.workflow
    # Problems with services are shown here, and not in the logs of agents.
    refuse_uncallable([loaded], folder_of(options.file))
    with open_patiently(url_of(options), is_durable=not options.no_sync) as store:
        run = options.name or new_name(workflow.name)
        with hints_with_store(options):
            inputs = inputs_of(options, workflow)
            give_to_agents(store, run, workflow, inputs, max_shards=options.shards, signals=options.signal,
                           deadline=options.deadline)  # fmt: skip
        return watch_with_agents(store, run, options)


def watch_with_agents(store: Store, run: str, options: Namespace) -> int:
    """Start the agents that the options ask for, and watch a run; Ctrl-C asks those started here to end."""
    from solvent.runs.agents.launch import launch_for

    more = [*(["--otel"] if options.otel else []), *log_words(options)]
    # The scale changes how long the services of a trace take, so agents with another scale would offer other services.
    more += ["--scale", repr(options.scale)] if options.scale is not None else []
    launched = launch_for(
        run,
        url_of(options),
        [options.file],
        options.agents or 0,
        ttl=checked_ttl(options.ttl),
        jobs=options.jobs,
        is_durable=not getattr(options, "no_sync", False),
        more=more,
    )
    try:
        code = watch_run(store, run, options, launched=launched)
    finally:
        for one in launched:
            one.stop()
        for one in launched:
            one.wait()
    if code == INTERRUPTED:
        _tell(run, options, is_stopped=bool(launched))
    return code


def _tell(run: str, options: Namespace, *, is_stopped: bool) -> None:
    where = said_store(options)
    if is_stopped:
        how = f"solvent resume {run}{where} --agents {options.agents} --file {options.file}"
        write("the agents that were started here have ended; to continue: ", (how, "bold"), to=sys.stderr)
    else:
        how = f"solvent resume {run}{where}"
        write("the run continues; to watch it: ", (how, "bold"), to=sys.stderr)


def resume_by_agents(store: Store, record: RunRecord, options: Namespace) -> int:
    """Watch a run of agents again, with new agents if the options ask for some."""
    from solvent.runs.registry import tell_agents

    refuse(options, _ALONE_RESUMED, "cannot be used here: agents execute this run")
    if record.has_ended:
        return tell_end(store, record, options)
    if options.agents:
        if not options.file:
            hint = "--file WORKFLOW: an agent offers the services of a file"
            raise AgentProblem("A103", "the agents have no services to offer", hint=hint)
    else:
        refuse_without_agents(store, record.run)
    # Problems with services are shown here, and not in the logs of agents.
    if options.file:
        offers_from([options.file], scale=options.scale)
    # Whoever made this version of it may have died before agents were told.
    tell_agents(store, record)
    return watch_with_agents(store, record.run, options)
