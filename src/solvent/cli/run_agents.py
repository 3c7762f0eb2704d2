"""`solvent run WORKFLOW --agents N`: start agents on this machine, submit the workflow, watch it, print its results.

This process only watches. Killing it, or any of the agents, does not end the run; Ctrl-C asks the agents that were
started here to end, and tells how to go on.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from solvent.cli.agent import check_ttl, refuse_uncallable
from solvent.cli.agent_runs import INTERRUPTED, find_run_of_agents, refuse_without_agents, tell_end, watch_run
from solvent.cli.loading import add_format, add_log, add_otel, at_least, log_words, parser_for, seconds
from solvent.cli.recording import hints_with_space, said_space, space_for, url_of
from solvent.cli.render import write
from solvent.cli.secrecy import VARIABLE
from solvent.cli.submit import add_place
from solvent.cli.workflows import add_inputs, add_workflow, folder_of, inputs_of, is_workflow, load_sound
from solvent.errors import AgentProblem, Misuse

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from solvent.live.space import Space
    from solvent.running.agents.offers import Offers

_SAYS = (
    "Run a workflow by agents of this machine: N processes, which share its tasks, and go on for each other when they "
    "are killed.\nKilling this command does not end the run; Ctrl-C does, until `solvent resume` goes on with it."
)
TTL = 5.0


def main(arguments: list[str]) -> int:
    """Run a workflow by agents."""
    options = _options(arguments)
    from solvent.running.agents.submitting import give_to_agents
    from solvent.running.records.runs import new_name

    if not is_workflow(options.file):
        raise Misuse("H313", "`--agents` is for workflows, and this is a program", hint="`--nodes N` runs a program")
    loaded = load_sound(options.file, scale=options.scale)
    workflow = loaded.workflow
    # What is wrong with a service is said here, and not in the logs of agents.
    refuse_uncallable([loaded], folder_of(options.file))
    with space_for(options) as space:
        run = options.name or new_name(workflow.name)
        with hints_with_space(options):
            give_to_agents(space, run, workflow, inputs_of(options), places_max=options.places)
        return watch_with_agents(space, run, options)


def _options(arguments: list[str]) -> Namespace:
    from solvent.running.agents.partition import PLACES_MAX

    parser = parser_for("run", _SAYS, example="solvent run pipeline.yaml --agents 4 --space runs.db --input n=3")
    add_workflow(parser)
    add_agents(parser)
    add_inputs(parser)
    add_place(parser, PLACES_MAX)
    add_otel(parser)
    add_log(parser)
    add_format(parser)
    options = parser.parse_args(arguments)
    check_ttl(options)
    return options


def add_agents(parser: ArgumentParser) -> None:
    """Add --agents, --jobs and --ttl."""
    parser.add_argument("--agents", type=at_least(1), metavar="N", help="how many agents to start here")
    parser.add_argument("--jobs", type=at_least(1), metavar="N", help="calls of Python services at the same time, each")
    says = f"seconds of silence after which other agents take over (default: {TTL:g})"
    parser.add_argument("--ttl", type=seconds, default=TTL, metavar="S", help=says)


def watch_with_agents(space: Space, run: str, options: Namespace) -> int:
    """Start agents, if that is wanted, and watch a run; Ctrl-C asks those that were started here to end."""
    from solvent.running.agents.launching import launch

    url = url_of(options)
    more = ["--ttl", f"{options.ttl:g}", "--until", run]
    more += ["--jobs", str(options.jobs)] if options.jobs else []
    more += [*(["--otel"] if options.otel else []), *log_words(options)]
    more += ["--no-sync"] if getattr(options, "no_sync", False) else []
    launched = launch([options.file], options.agents, variables={VARIABLE: url}, more=more) if options.agents else []
    try:
        code = watch_run(space, run, options, launched=launched)
    finally:
        for one in launched:
            one.stop()
        for one in launched:
            one.wait()
    if code == INTERRUPTED:
        _tell(run, options, is_stopped=bool(launched))
    return code


def _tell(run: str, options: Namespace, *, is_stopped: bool) -> None:
    where = said_space(options)
    if is_stopped:
        how = f"solvent resume {run}{where} --agents {options.agents} --file {options.file}"
        write("the agents that were started here have ended; to go on: ", (how, "bold"), to=sys.stderr)
    else:
        how = f"solvent resume {run}{where}"
        write("the run goes on; to watch it: ", (how, "bold"), to=sys.stderr)


def resume_by_agents(space: Space, options: Namespace) -> int | None:
    """Watch a run of agents again, and start some if that is wanted; nothing if it is no run of agents."""
    from solvent.running.agents.looking import existing
    from solvent.running.agents.plans import ending_of, successor_of
    from solvent.running.agents.reviving import announce, lost_tasks, revive

    run = find_run_of_agents(space, options.run) if options.run else None
    if run is None:
        if options.agents:
            raise AgentProblem("A104", "`--agents` goes on with runs that were given to agents, and this is none")
        return None
    while successor := successor_of(space, run):
        announce(space, run, existing(space, run), successor)
        run = successor
    plan, is_over = existing(space, run), ending_of(space, run) is not None
    tasks = lost_tasks(space, run, plan)
    if is_over and not tasks:
        return tell_end(space, run, options)
    if options.agents:
        if not options.file:
            hint = "--file WORKFLOW: an agent offers the services of a file, not what a run says"
            raise AgentProblem("A103", "it is not said whose services the agents offer", hint=hint)
    else:
        refuse_without_agents(space, run)
    offers = _offers(options)
    if is_over:
        before, run = run, revive(space, run, plan, tasks, offers)
        said = f"agents died under calls of {before}, more often than is allowed; it goes on as "
        write(said, (run, "bold"), to=sys.stderr)
    return watch_with_agents(space, run, options)


def _offers(options: Namespace) -> Offers:
    """Read whose services are to be offered; what is wrong with one is said here, and not in the logs of agents."""
    from solvent.cli.agent import offers_from
    from solvent.running.agents.offers import Offers

    return offers_from([options.file]) if options.file else Offers({})


__all__ = ["add_agents", "main", "resume_by_agents", "watch_with_agents"]
