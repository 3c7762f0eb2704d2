"""`solvent run PROGRAM --nodes N`: a program over many processes, here or elsewhere."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, Any, TypeAlias

from solvent.cli.arguments import checked_ttl, load_functions, load_program_to_run, tls_of
from solvent.cli.render import complain, counted, show_error, write, write_json
from solvent.cli.secrecy import VARIABLE
from solvent.cli.workflows import is_given, is_workflow
from solvent.errors import Misuse, ReactionFailed, SolventError
from solvent.hocl.json_fields import error_as_json
from solvent.lang.printer import print_whole
from solvent.runs.store_address import NOWHERE

if TYPE_CHECKING:
    from argparse import Namespace

    from solvent.lang.solution import Solution
    from solvent.runs.nodes.members import Manner
    from solvent.runs.nodes.running import NodesRun
    from solvent.runs.nodes.sharing import SharedNodes

    AnyRun: TypeAlias = NodesRun | SharedNodes

MAX_NODES = 1000
_REFUSED = {
    "seed": "the order of reactions over nodes cannot be repeated",
    "max_reactions": "the reactions of all nodes are not counted while they run; use --max-seconds",
    "trace": "reactions over nodes have no common order",
}
_FOR_WORKFLOWS = (
    "input", "signal", "jobs", "processes", "scale", "wfformat", "services", "agents", "shards", "name", "no_record",
    "otel", "log_format", "log_level",
)  # fmt: skip
_OUTSIDE_STORE = ("peers", "state", "resume", "secret_file")


def run_over_nodes(options: Namespace) -> int:
    """Run a program over nodes; print what there is, however the run ended."""
    for name, why in _REFUSED.items():
        if is_given(options, name):
            raise Misuse("H344", f"`--{name.replace('_', '-')}` cannot be used over nodes", hint=why)
    for name in _FOR_WORKFLOWS:
        if is_given(options, name):
            raise Misuse("H316", f"`--{name.replace('_', '-')}` is for workflows, and only programs run over nodes")
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
        # Nothing has begun that could be shown or resumed.
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
        write(f"{nodes} did not answer: their molecules are missing from this solution{unsaved}", to=sys.stderr)
    if not run.ended.is_inert:
        write(run.how_to_go_on, to=sys.stderr)
    if interrupted:
        raise KeyboardInterrupt
    return error.exit_code if error is not None else 0


def _prepared(options: Namespace) -> AnyRun:
    if _is_in_store(options):
        return _in_store(options)
    from pathlib import Path

    from solvent.runs.nodes.running import deal_out, take_up

    if options.resume is not None:
        if options.nodes is not None or options.peers is not None or options.file is not None:
            message = "a run that is resumed already has its program and its nodes"
            raise Misuse("H344", message, hint=f"`solvent run --resume {options.resume}`")
        return take_up(Path(options.resume).resolve(), load_functions, tls=tls_of(options))
    if options.file is None:
        raise Misuse("H344", "no program is given", hint="`solvent run PROGRAM.hocl --nodes 4`")
    _refuse_workflow(options)
    peers = _peers(options)
    nodes = len(peers) or options.nodes
    if nodes > MAX_NODES:
        raise Misuse("H344", f"at most {MAX_NODES:,} nodes can be processes of one machine")
    return deal_out(
        load_program_to_run(options),
        nodes,
        functions=options.functions,
        state=options.state,
        peers=peers,
        secret=_secret(options, peers) if peers else b"",
        reacts_locally=not options.no_local,
        tls=tls_of(options),
    )


def _peers(options: Namespace) -> tuple[tuple[str, int], ...]:
    if options.peers is None:
        return ()
    if options.nodes is not None:
        raise Misuse("H344", "`--peers` already names the nodes", hint="leave out --nodes")
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
        # Nodes elsewhere that require a secret refuse a launcher without one.
        secret = own_secret() if all(is_loopback(host) for host, _ in peers) else b""
    return secret


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


def _is_in_store(options: Namespace) -> bool:
    """Return whether the run is, or will be, in a store."""
    elsewhere = [name for name in _OUTSIDE_STORE if getattr(options, name) is not None]
    is_meant = any(one is not None for one in (options.store, options.attach, options.spares, options.transport))
    # An option that names another place goes before the variable.
    if not is_meant and (elsewhere or not _url(options)):
        for name in ("ttl", "listen"):
            if getattr(options, name) is not None:
                raise Misuse("H344", f"`--{name}` is for runs in a store", hint="give --store URL")
        return False
    for name in elsewhere:
        raise Misuse("H344", f"`--{name.replace('_', '-')}` is not for runs in a store", hint="leave it out")
    return True


def _url(options: Namespace) -> str:
    """Return the address of the store, if the options or the environment name one."""
    url = options.store or os.environ.get(VARIABLE, "")
    return "" if url == NOWHERE else url


def _refuse_workflow(options: Namespace) -> None:
    """Raise `Misuse` for a workflow."""
    if is_workflow(options.file):
        hint = "leave out --nodes; `solvent run --agents N` runs a workflow by several processes"
        raise Misuse("H344", "workflows do not run over nodes, only programs do", hint=hint)


def _in_store(options: Namespace) -> SharedNodes:
    """Return a run in a store: a new one, or one that exists."""
    from solvent.runs.nodes.sharing import attach, share_out
    from solvent.store import is_on_servers

    manner = _manner(options)
    if options.attach is not None:
        if options.file is not None or options.nodes is not None or options.transport is not None:
            message = "a run in a store already has its program and its nodes"
            raise Misuse("H344", message, hint=f"`solvent run --attach {options.attach} --store URL`")
        functions = None if options.functions is None else load_functions(options.functions)
        return attach(options.attach, manner, functions, spares=options.spares or 0)
    if options.file is None or options.nodes is None:
        raise Misuse(
            "H344", "the program and --nodes are missing", hint="`solvent run PROGRAM.hocl --nodes 4 --store URL`"
        )
    _refuse_workflow(options)
    if options.transport == "nats" and not is_on_servers(manner.url):
        hint = "`solvent store serve` starts one; then --store nats://127.0.0.1:4222"
        raise Misuse("H344", "`--transport nats` needs a store on NATS servers", hint=hint)
    run = share_out(
        load_program_to_run(options),
        options.nodes,
        manner,
        ttl=checked_ttl(options.ttl),
        transport=options.transport or "tcp",
        spares=options.spares or 0,
        functions=options.functions,
        reacts_locally=not options.no_local,
    )
    if options.format == "text":
        write(f"the run is {run.record.run}", to=sys.stderr)
    return run


def _manner(options: Namespace) -> Manner:
    from solvent.runs.nodes.members import Manner

    url = _url(options)
    if not url:
        raise Misuse("H344", "no store is named for the run", hint=f"--store URL, or the variable {VARIABLE}")
    host = options.listen or "127.0.0.1"
    return Manner(url=url, is_durable=not options.no_sync, host=host, tls=tls_of(options))
