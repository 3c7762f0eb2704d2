"""`solvent run`: a program's final solution, or a workflow's results.

A program pays nothing for workflows: what these need is imported when the file is known to be one.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from solvent.cli.arguments import (
    add_agents,
    add_deadline,
    add_format,
    add_functions,
    add_limits,
    add_log,
    add_no_sync,
    add_otel,
    add_seed,
    add_shards,
    add_store,
    add_tls,
    add_wfformat,
    any_file,
    at_least,
    load_program_to_run,
    parser_for,
)
from solvent.cli.interrupt import begin, raise_if_interrupted
from solvent.cli.progress import Watch
from solvent.cli.render import counted, show_error, write, write_json, write_program
from solvent.cli.workflows import add_inputs, add_scale, add_signals, is_workflow, refuse, refuse_for_program
from solvent.errors import NameProblem, ReactionFailed, SolventError, TooLarge
from solvent.hocl.embedded import Run
from solvent.hocl.json_fields import error_as_json
from solvent.hocl.process_settings import deep_stack
from solvent.lang.printer import print_whole

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable

    from solvent.lang.solution import Solution

_FOR_WORKFLOWS = (
    "input", "signal", "jobs", "processes", "cache", "explain", "scale", "wfformat", "name", "store", "no_record",
    "no_sync", "otel", "log_format", "log_level", "deadline",
)  # fmt: skip
_FOR_AGENTS = ("shards",)
_FOR_NODES = (
    "state", "secret_file", "spares", "transport", "listen", "no_local", "tls_ca", "tls_cert", "tls_key",
)  # fmt: skip


def main(arguments: list[str]) -> int:
    """Run a program or a workflow; print what there is, however the run ended."""
    reader = parser()
    options = reader.parse_args(arguments)
    if any(one is not None for one in (options.nodes, options.peers, options.resume, options.attach)):
        from solvent.cli.run_nodes import run_over_nodes

        begin()
        return run_over_nodes(options)
    if options.file is None:
        reader.error("the following arguments are required: FILE")
    refuse(options, _FOR_NODES, "needs --nodes N, which runs a HOCL program over several processes")
    if options.agents is not None:
        from solvent.cli.run_agents import run_by_agents

        begin()
        return run_by_agents(options)
    refuse(options, (*_FOR_AGENTS, "ttl"), "needs --agents N, which runs a workflow with several processes")
    if options.services is not None and not is_workflow(options.file):
        from solvent.cli.run_workflow import run_concrete

        begin(remembers=True)
        return run_concrete(options)
    if is_workflow(options.file):
        from solvent.cli.run_workflow import run_workflow

        begin(remembers=True)
        return run_workflow(options)
    begin(remembers=True)
    if options.store is not None:
        hint = "leave it out; with --nodes N the run of a program is kept in the store"
        refuse_for_program(options, ("store",), hint)
    refuse_for_program(options, _FOR_WORKFLOWS)
    with deep_stack():
        return _run_program(options)


def _run_program(options: Namespace) -> int:
    solution = _load(options)
    observe = _tracer(solution) if options.trace else None
    error: SolventError | None = None
    with Watch(lambda: run.reactor.reactions) as watch:
        run = Run(
            solution,
            seed=options.seed,
            max_reactions=options.max_reactions,
            max_seconds=options.max_seconds,
            observe=observe,
            should_stop=watch.should_stop,
        )
        try:
            raise_if_interrupted()
            run.to_inertia()
        except SolventError as raised:
            error = raised
    # Saved first: printing may fail where the reader has gone away.
    try:
        _save(solution, options.save)
    finally:
        _report(run, error, options)
    return error.exit_code if error is not None else 0


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    parser = parser_for(
        "run",
        "Run a workflow and print its results, or a program until it is inert and print its solution.\n"
        "With --agents, the run continues if this command is killed. Ctrl-C stops it; `solvent resume` continues it.",
        example="solvent run pipeline.yaml --input url=http://localhost/ --jobs 8\n"
        "  solvent run pipeline.yaml --agents 4 --store runs.db\n"
        "  solvent run max.hocl --seed 7\n"
        "  solvent run max.hocl --nodes 8",
        usage="solvent run [OPTIONS] [FILE]",
    )
    what = "a program (`-`: standard input), or a workflow: .yaml, .json, .hocl, .py[:NAME]"
    parser.add_argument("file", metavar="FILE", nargs="?", type=any_file, help=what)
    _add_for_workflows(parser)
    group = parser.add_argument_group("limits")
    add_limits(group)
    group = parser.add_argument_group("output")
    add_format(group)
    group.add_argument("--trace", action="store_true", help="write every reaction to standard error")
    add_wfformat(group)
    add_log(group)
    add_otel(group)
    group = parser.add_argument_group("programs")
    add_functions(group)
    add_seed(group)
    group.add_argument("--stats", action="store_true", help="write the cost of the run to standard error")
    group.add_argument("--save", metavar="FILE", help="write the solution as a program that can be run again")
    _add_for_nodes(parser)
    return parser


def _add_for_workflows(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("inputs of a workflow")
    add_inputs(group)
    add_signals(group)
    add_scale(group)
    group = parser.add_argument_group("how a workflow is run")
    group.add_argument("--processes", action="store_true", help="call Python services in worker processes")
    says = "use results of earlier calls again, of all services: those of the same code, called with the same arguments"
    group.add_argument("--cache", action="store_true", help=says)
    says = "say of each call whose service has a cache whether it is reused, and why not"
    group.add_argument("--explain", action="store_true", help=says)
    says = "FILE is a concrete workflow: call the services of this workflow"
    group.add_argument("--services", type=any_file, metavar="WORKFLOW", help=says)
    add_agents(group)
    add_shards(group)
    add_deadline(group)
    group = parser.add_argument_group("the record of a run")
    group.add_argument("--name", metavar="RUN", help="the name of the run (default: a new name)")
    add_store(group)
    group.add_argument("--no-record", action="store_true", help="do not record the run: it cannot be resumed")
    add_no_sync(group)


def _add_for_nodes(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("programs over nodes")
    says = "run a program over N processes of this machine"
    group.add_argument("--nodes", type=at_least(1), metavar="N", help=says)
    says = "run it over nodes that `solvent lab serve capture` has started"
    group.add_argument("--peers", metavar="HOST:PORT,...", help=says)
    group.add_argument("--secret-file", metavar="FILE", help="the secret that nodes elsewhere require")
    group.add_argument("--state", metavar="DIR", help="keep the run in this folder")
    group.add_argument("--resume", metavar="DIR", help="resume the run in this folder")
    says = "wait for a run in a store, and print its solution"
    group.add_argument("--attach", metavar="RUN", help=says)
    says = "of a run in a store: start K more processes, which take over for those that die"
    group.add_argument("--spares", type=at_least(0), metavar="K", help=says)
    says = "of a run in a store: how nodes communicate, by tcp or by the NATS servers of the store (default: tcp)"
    group.add_argument("--transport", choices=("tcp", "nats"), help=says)
    says = "of a run in a store: where processes of this machine listen (default: 127.0.0.1, for this machine only)"
    group.add_argument("--listen", metavar="HOST", help=says)
    says = "capture molecules for every reaction, also those within one node"
    group.add_argument("--no-local", action="store_true", help=says)
    add_tls(parser)


def _load(options: Namespace) -> Solution:
    try:
        return load_program_to_run(options).solution()
    except NameProblem as error:
        if error.code == "H204" and options.functions is None:
            from solvent.workflows.translate import workflow_functions

            if workflow_functions().find(error.message.split("`")[1]) is not None:
                error.hint = (
                    "if this is a concrete workflow, name the workflow whose services it calls: --services WORKFLOW"
                )
        raise


def _tracer(solution: Solution) -> Callable[[Any], None]:
    from solvent.cli.trace import writing
    from solvent.engine.trace import Recorder

    return writing(Recorder(solution), to=sys.stderr)


def _save(solution: Solution, path: str | None) -> None:
    if path is not None:
        from solvent.hocl.program_file import save

        save(solution, path)


def _report(run: Run, error: SolventError | None, options: Namespace) -> None:
    outcome = run.outcome()
    try:
        text = print_whole(run.solution)
    except TooLarge:
        if error is not None:
            show_error(error)
        raise
    if options.format == "json":
        found: dict[str, Any] = {
            "solution": text,
            "inert": outcome.inert,
            "reactions": outcome.reactions,
            "seconds": round(outcome.seconds, 6),
        }
        if isinstance(error, ReactionFailed):
            found["error"] = error_as_json(error)
        write_json(found)
    else:
        write_program(f"{text}\n")
    sys.stdout.flush()
    if error is not None:
        show_error(error)
    if options.stats:
        _write_stats(run)


def _write_stats(run: Run) -> None:
    from resource import RUSAGE_SELF, getrusage

    outcome = run.outcome()
    rate = outcome.reactions / outcome.seconds if outcome.seconds else 0
    # Linux counts in kilobytes, macOS in bytes.
    memory = getrusage(RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1024 * 1024)
    for line in (
        f"reactions  {outcome.reactions:,}",
        f"seconds    {outcome.seconds:.3f} ({rate:,.0f} reactions a second)",
        f"solution   {counted(len(run.solution), 'molecule')}, {'inert' if outcome.inert else 'not inert'}",
        f"memory     {memory:.0f} MB at most",
    ):
        write(line, to=sys.stderr)
