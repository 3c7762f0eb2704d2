"""`solvent run WORKFLOW --agents N`: start agents on this machine, submit the workflow, watch it, print its results.

This process only watches. Killing it, or any of the agents, does not end the run; Ctrl-C asks the agents that were
started here to end, and tells how to go on.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from solvent.cli.agent import check_ttl, refuse_uncallable
from solvent.cli.agent_runs import find_run_of_agents, refuse_without_agents, tell_end, watch_run
from solvent.cli.arguments import add_format, add_log, add_otel, at_least, log_words, parser_for, seconds
from solvent.cli.records import hints_with_store, open_patiently, said_store, url_of
from solvent.cli.render import write
from solvent.cli.secrecy import VARIABLE
from solvent.cli.submit import add_place
from solvent.cli.workflows import (
    add_inputs,
    add_workflow,
    folder_of,
    inputs_of,
    is_workflow,
    load_to_run,
    refuse,
)
from solvent.errors import INTERRUPTED, AgentProblem, Misuse

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from solvent.runs.agents.offers import Offers
    from solvent.store import Store

_SAYS = (
    "Run a workflow by agents of this machine: N processes, which share its tasks, and go on for each other when they "
    "are killed.\nKilling this command does not end the run; Ctrl-C does, until `solvent resume` goes on with it."
)
TTL = 5.0
_ALONE = frozenset({
    "--seed", "--max-reactions", "--max-seconds", "--stats", "--trace", "--save", "--signal", "--processes",
    "--no-record", "--functions",
})  # fmt: skip
"""Options of `solvent run` for runs of one process."""
_ALONE_RESUMED = ("take_over", "processes", "max_seconds", "trace")


def main(arguments: list[str]) -> int:
    """Run a workflow by agents."""
    options = _options(arguments)
    from solvent.runs.agents.submitting import give_to_agents
    from solvent.runs.records.runs import new_name

    if not is_workflow(options.file):
        raise Misuse("H313", "`--agents` is for workflows, and this is a program", hint="`--nodes N` runs a program")
    loaded = load_to_run(options.file, scale=options.scale)
    workflow = loaded.workflow
    # What is wrong with a service is said here, and not in the logs of agents.
    refuse_uncallable([loaded], folder_of(options.file))
    with open_patiently(url_of(options), is_durable=not options.no_sync) as store:
        run = options.name or new_name(workflow.name)
        with hints_with_store(options):
            give_to_agents(store, run, workflow, inputs_of(options), max_places=options.places)
        return watch_with_agents(store, run, options)


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    from solvent.runs.agents.partition import MAX_PLACES

    parser = parser_for("run", _SAYS, example="solvent run pipeline.yaml --agents 4 --store runs.db --input n=3")
    add_workflow(parser)
    add_agents(parser)
    add_inputs(parser)
    add_place(parser, MAX_PLACES)
    add_otel(parser)
    add_log(parser)
    add_format(parser)
    add_wfformat(parser)
    return parser


def _options(arguments: list[str]) -> Namespace:
    reader = parser()
    options, unknown = reader.parse_known_args(arguments)
    for one in unknown:
        if one.split("=", 1)[0] in _ALONE:
            raise Misuse("H313", f"`{one.split('=', 1)[0]}` is for runs of one process, and not for `--agents`")
    if unknown:
        reader.error(f"unrecognized arguments: {' '.join(unknown)}")
    check_ttl(options)
    return options


def add_wfformat(parser: ArgumentParser) -> None:
    """Add --wfformat."""
    parser.add_argument("--wfformat", metavar="OUT.json", help="write the run as a trace in WfFormat")


def add_agents(parser: ArgumentParser) -> None:
    """Add --agents, --jobs and --ttl."""
    parser.add_argument("--agents", type=at_least(1), metavar="N", help="how many agents to start here")
    parser.add_argument("--jobs", type=at_least(1), metavar="N", help="calls of Python services at the same time, each")
    says = f"seconds of silence after which other agents take over (default: {TTL:g})"
    parser.add_argument("--ttl", type=seconds, default=TTL, metavar="S", help=says)


def watch_with_agents(store: Store, run: str, options: Namespace) -> int:
    """Start agents, if that is wanted, and watch a run; Ctrl-C asks those that were started here to end."""
    from solvent.runs.agents.launching import launch

    url = url_of(options)
    more = ["--ttl", f"{options.ttl:g}", "--until", run]
    more += ["--jobs", str(options.jobs)] if options.jobs else []
    more += [*(["--otel"] if options.otel else []), *log_words(options)]
    more += ["--no-sync"] if getattr(options, "no_sync", False) else []
    # The services of a trace last as long as its scale says: agents of another scale would offer others.
    more += ["--scale", repr(options.scale)] if options.scale is not None else []
    launched = launch([options.file], options.agents, variables={VARIABLE: url}, more=more) if options.agents else []
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
        write("the agents that were started here have ended; to go on: ", (how, "bold"), to=sys.stderr)
    else:
        how = f"solvent resume {run}{where}"
        write("the run goes on; to watch it: ", (how, "bold"), to=sys.stderr)


def resume_by_agents(store: Store, options: Namespace) -> int | None:
    """Watch a run of agents again, and start some if that is wanted; nothing if it is no run of agents."""
    from solvent.runs.agents.looking import existing
    from solvent.runs.agents.plans import ending_of, successor_of
    from solvent.runs.agents.reviving import announce, lost_tasks, revive

    run = find_run_of_agents(store, options.run) if options.run else None
    if run is None:
        if options.agents:
            raise AgentProblem("A104", "`--agents` goes on with runs that were given to agents, and this is none")
        return None
    refuse(options, _ALONE_RESUMED, "is for runs of one process, and agents have this one")
    while successor := successor_of(store, run):
        announce(store, run, existing(store, run), successor)
        run = successor
    plan, is_over = existing(store, run), ending_of(store, run) is not None
    tasks = lost_tasks(store, run, plan)
    if is_over and not tasks:
        return tell_end(store, run, options)
    if options.agents:
        if not options.file:
            hint = "--file WORKFLOW: an agent offers the services of a file, not what a run says"
            raise AgentProblem("A103", "it is not said whose services the agents offer", hint=hint)
    else:
        refuse_without_agents(store, run)
    offers = _offers(options)
    if is_over:
        before, run = run, revive(store, run, plan, tasks, offers)
        said = f"agents died under calls of {before}, more often than is allowed; it goes on as "
        write(said, (run, "bold"), to=sys.stderr)
    return watch_with_agents(store, run, options)


def _offers(options: Namespace) -> Offers:
    """Read whose services are to be offered; what is wrong with one is said here, and not in the logs of agents."""
    from solvent.cli.agent import offers_from
    from solvent.runs.agents.offers import Offers

    return offers_from([options.file], scale=options.scale) if options.file else Offers({})


__all__ = ["add_agents", "main", "parser", "resume_by_agents", "watch_with_agents"]
