"""`solvent run PROGRAM --nodes N`: a program over many processes, here or elsewhere."""

from __future__ import annotations

import signal
import sys
from argparse import SUPPRESS, Action
from typing import TYPE_CHECKING, Any

from solvent.cli.arguments import add_format, at_least, load_functions, load_to_run, parser_for, seconds
from solvent.cli.finding import any_file
from solvent.cli.render import complain, counted, show_error, write, write_json
from solvent.cli.run_shared import add_shared, add_tls, is_shared, refuse_workflow, shared, tls_of
from solvent.errors import Misuse, ReactionFailed, SolventError
from solvent.hocl.json_fields import error_as_json
from solvent.lang.printer import print_whole

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from solvent.cli.run_shared import AnyRun
    from solvent.lang.solution import Solution

MAX_NODES = 1000
_PROTOCOLS = ("better", "adaptive", "optimistic", "pessimistic")
_ELSEWHERE = {
    "seed": "the order of reactions over nodes cannot be repeated",
    "max-reactions": "nobody counts the reactions of all nodes while they run; give --max-seconds",
    "trace": "reactions over nodes have no common order",
}
_FOR_WORKFLOWS = ("input", "signal", "jobs", "processes", "scale", "wfformat", "services")


def _add_nodes(parser: Any) -> None:
    """Add the options of a run over nodes."""
    says = "run a program over so many processes of this machine"
    parser.add_argument("--nodes", type=at_least(1), metavar="N", help=says)
    says = "run it over nodes that `solvent lab serve capture` has started there"
    parser.add_argument("--peers", metavar="HOST:PORT,...", help=says)
    parser.add_argument("--state", metavar="DIR", help="keep the run in this folder")
    parser.add_argument("--resume", metavar="DIR", help="go on with the run in this folder")
    parser.add_argument("--secret-file", metavar="FILE", help="the secret that nodes elsewhere ask for")


def main(arguments: list[str]) -> int:
    """Run a program over nodes; print what there is, however the run ended."""
    options = parser().parse_args(arguments)
    run = _prepared(options)
    if run.why_together and options.format == "text":
        complain(f"everything is at node 0: {run.why_together}")
    error: SolventError | None = None
    interrupted = False
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        run.run(max_seconds=options.max_seconds, tell=complain)
    except SolventError as raised:
        error = raised
    except KeyboardInterrupt:
        interrupted = True
    if error is not None and not run.ended.statuses:
        # It never came so far that there would be anything to show, or to go on with.
        run.discard()
        raise error
    if interrupted and run.is_only_watched:
        raise KeyboardInterrupt
    solution = run.solution()
    try:
        if options.save is not None and not run.ended.missing:
            from solvent.hocl.program_file import save

            save(solution, options.save)
    finally:
        _report(run, solution, error, options)
    if run.ended.missing:
        nodes = " and ".join(f"node {node}" for node in run.ended.missing)
        unsaved = "; it was not saved" if options.save is not None else ""
        write(f"{nodes} did not answer: what is there is missing from this solution{unsaved}", to=sys.stderr)
    if not run.ended.is_inert:
        write(run.how_to_go_on, to=sys.stderr)
    if interrupted:
        raise KeyboardInterrupt
    return error.exit_code if error is not None else 0


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    parser = parser_for(
        "run",
        "Run a program over many processes until all of it is inert, and print its solution.",
        example="solvent run max.hocl --nodes 8\n"
        "  solvent run max.hocl --peers 10.0.0.1:7000,10.0.0.2:7000 --secret-file secret",
    )
    parser.add_argument("file", nargs="?", type=any_file, metavar="FILE", help="a program (`-`: standard input)")
    parser.add_argument("--functions", metavar="MODULE.py", help="Python functions that the program calls")
    _add_nodes(parser)
    add_shared(parser)
    add_tls(parser)
    parser.add_argument("--max-seconds", type=seconds, metavar="S", help="stop after so many seconds")
    parser.add_argument("--stats", action="store_true", help="say on standard error what each node has done")
    parser.add_argument("--save", metavar="FILE", help="write the solution as a program that can be run on")
    says = "how molecules are captured (default: better)"
    parser.add_argument("--protocol", choices=_PROTOCOLS, default="better", help=says)
    says = "let every reaction go through the protocol, also those among a node's own molecules"
    parser.add_argument("--no-local", action="store_true", help=says)
    add_format(parser)
    _add_refused(parser)
    return parser


def _add_refused(parser: ArgumentParser) -> None:
    """Add the options of a run in one process, to say why they are not for this one."""
    for name in (*_ELSEWHERE, *_FOR_WORKFLOWS):
        kind = "?" if name in ("trace", "processes") else None
        parser.add_argument(f"--{name}", nargs=kind, action=_Refused, help=SUPPRESS)


class _Refused(Action):
    """Says why an option cannot be used over nodes."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:  # noqa: ARG002
        """Refuse."""
        name = (option_string or "").lstrip("-")
        if name in _ELSEWHERE:
            raise Misuse("H344", f"`--{name}` cannot be used over nodes", hint=_ELSEWHERE[name])
        raise Misuse("H316", f"`--{name}` is for workflows, and only programs run over nodes")


def _prepared(options: Namespace) -> AnyRun:
    if is_shared(options):
        return shared(options)
    from pathlib import Path

    from solvent.runs.nodes.running import deal_out, take_up

    if options.resume is not None:
        if options.nodes is not None or options.peers is not None or options.file is not None:
            message = "a run that is taken up again has its program and its nodes"
            raise Misuse("H344", message, hint=f"`solvent run --resume {options.resume}`")
        return take_up(Path(options.resume).resolve(), load_functions, tls=tls_of(options))
    if options.file is None:
        raise Misuse("H344", "no program is given", hint="`solvent run PROGRAM.hocl --nodes 4`")
    refuse_workflow(options)
    peers = _peers(options)
    nodes = len(peers) or options.nodes
    if nodes > MAX_NODES:
        raise Misuse("H344", f"at most {MAX_NODES:,} nodes can be processes of one machine")
    return deal_out(
        load_to_run(options),
        nodes,
        functions=options.functions,
        state=options.state,
        peers=peers,
        secret=_secret(options, peers) if peers else b"",
        reacts_locally=not options.no_local,
        protocol=options.protocol,
        tls=tls_of(options),
    )


def _peers(options: Namespace) -> tuple[tuple[str, int], ...]:
    if options.peers is None:
        return ()
    if options.nodes is not None:
        raise Misuse("H344", "`--peers` says which nodes there are", hint="leave out --nodes")
    from solvent.net.addresses import address_from_text

    peers = tuple(map(address_from_text, options.peers.replace(",", " ").split()))
    if not peers or len(set(peers)) < len(peers):
        raise Misuse("H344", "`--peers` needs the address of each node, once", hint="`--peers HOST:PORT,HOST:PORT`")
    return peers


def _secret(options: Namespace, peers: tuple[tuple[str, int], ...]) -> bytes:
    from solvent.cli.secrecy import secret_from
    from solvent.net.secrecy import is_loopback, own_secret

    secret = secret_from(options.secret_file)
    if secret is None:
        # Nodes elsewhere that want a secret refuse a launcher that has none.
        secret = own_secret() if all(is_loopback(host) for host, _ in peers) else b""
    return secret


# --- What is printed.


def _report(run: AnyRun, solution: Solution, error: SolventError | None, options: Namespace) -> None:
    ended = run.ended
    text = print_whole(solution)
    if options.format == "json":
        found: dict[str, Any] = {
            "solution": text,
            "inert": ended.is_inert,
            "reactions": ended.reactions,
            "seconds": round(ended.seconds, 6),
            "nodes": run.nodes_count,
            "messages": ended.messages,
            "restarts": ended.restarts,
            **({"missing": ended.missing} if ended.missing else {}),
        }
        if run.why_together:
            found["together"] = run.why_together
        if isinstance(error, ReactionFailed):
            found["error"] = error_as_json(error)
        write_json(found)
    else:
        print(text)
    sys.stdout.flush()
    if error is not None:
        show_error(error)
    if options.stats:
        _write_stats(run)


def _write_stats(run: AnyRun) -> None:
    ended = run.ended
    rate = ended.reactions / ended.seconds if ended.seconds else 0
    write(f"reactions  {ended.reactions:,}", to=sys.stderr)
    write(f"seconds    {ended.seconds:.3f} ({rate:,.0f} reactions a second)", to=sys.stderr)
    for node, status in sorted(ended.statuses.items()):
        what = [
            counted(status.reactions, "reaction"),
            counted(status.messages_sent, "message"),
            counted(status.molecules, "molecule"),
        ]
        write(f"node {node:<5} {', '.join(what)}", to=sys.stderr)


__all__ = ["main", "parser"]
