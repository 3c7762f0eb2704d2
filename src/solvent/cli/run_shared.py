"""`solvent run PROGRAM --nodes N --store URL`: a program over processes that anybody may kill; TLS for nodes."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, TypeAlias

from solvent.cli.arguments import at_least, load_functions, load_to_run, seconds
from solvent.cli.records import NOWHERE
from solvent.cli.render import write
from solvent.cli.secrecy import VARIABLE
from solvent.cli.workflows import is_workflow
from solvent.errors import Misuse

if TYPE_CHECKING:
    from argparse import Namespace

    from solvent.net.tls import Tls
    from solvent.runs.nodes.members import Manner
    from solvent.runs.nodes.running import NodesRun
    from solvent.runs.nodes.sharing import SharedNodes

    AnyRun: TypeAlias = NodesRun | SharedNodes

TTL = 5.0
_MIN_TTL = 0.5
_ELSEWHERE = ("peers", "state", "resume", "secret_file")


def add_shared(parser: Any) -> None:
    """Add the options of a run that is kept in a store."""
    says = f"keep the run in a store (default: {VARIABLE}): any of its processes may be killed"
    group = parser.add_argument_group("in a store")
    group.add_argument("--store", metavar="URL", help=says)
    says = "wait for a run that is in the store, and print its solution"
    group.add_argument("--attach", metavar="RUN", help=says)
    says = "start so many more processes, that take over for those that die"
    group.add_argument("--spares", type=at_least(0), metavar="K", help=says)
    says = "how nodes talk to each other: tcp, or nats by the servers of the store (default: tcp)"
    group.add_argument("--transport", choices=("tcp", "nats"), help=says)
    says = f"after how many seconds of silence a process is taken for dead (default: {TTL:g})"
    group.add_argument("--ttl", type=seconds, metavar="S", help=says)
    says = "where processes of this machine listen for nodes elsewhere (default: 127.0.0.1, for none)"
    group.add_argument("--listen", metavar="HOST", help=says)
    group.add_argument(
        "--no-sync", action="store_true", help="do not wait for the disk: a loss of power may cost the run"
    )


def add_tls(parser: Any) -> None:
    """Add the options of TLS between nodes."""
    group = parser.add_argument_group("TLS between nodes (or SOLVENT_TLS_CA, SOLVENT_TLS_CERT, SOLVENT_TLS_KEY)")
    group.add_argument("--tls-ca", metavar="FILE", help="the certificate of the authority that signs for all nodes")
    group.add_argument("--tls-cert", metavar="FILE", help="the certificate of nodes here, and of this command")
    group.add_argument("--tls-key", metavar="FILE", help="its key")


def tls_of(options: Namespace) -> Tls | None:
    """Give what the options or the environment say."""
    from solvent.net.tls import tls_from

    return tls_from(options.tls_ca, options.tls_cert, options.tls_key)


def is_shared(options: Namespace) -> bool:
    """Say whether the run is, or is to be, in a store."""
    elsewhere = [name for name in _ELSEWHERE if getattr(options, name) is not None]
    is_meant = any(one is not None for one in (options.store, options.attach, options.spares, options.transport))
    # Who says otherwise where the run is does not mean the variable.
    if not is_meant and (elsewhere or not _url(options)):
        for name in ("ttl", "listen"):
            if getattr(options, name) is not None:
                raise Misuse("H344", f"`--{name}` is for runs in a store", hint="give --store URL")
        return False
    for name in elsewhere:
        raise Misuse("H344", f"`--{name.replace('_', '-')}` is not for runs in a store", hint="leave it out")
    return True


def _url(options: Namespace) -> str:
    """Give the address that was said, or that the environment has, if any."""
    url = options.store or os.environ.get(VARIABLE, "")
    return "" if url == NOWHERE else url


def refuse_workflow(options: Namespace) -> None:
    """Raise `Misuse` for a workflow."""
    if is_workflow(options.file):
        hint = "leave out --nodes; `solvent run --agents N` runs a workflow by several processes"
        raise Misuse("H344", "workflows do not run over nodes, only programs do", hint=hint)


def shared(options: Namespace) -> SharedNodes:
    """Give a run in a store: a new one, or one that is there."""
    from solvent.runs.nodes.sharing import attach, share_out
    from solvent.store import is_on_servers

    manner = _manner(options)
    if options.attach is not None:
        if options.file is not None or options.nodes is not None or options.transport is not None:
            message = "a run that is in the store has its program and its nodes"
            raise Misuse("H344", message, hint=f"`solvent run --attach {options.attach} --store URL`")
        functions = None if options.functions is None else load_functions(options.functions)
        return attach(options.attach, manner, functions, spares=options.spares or 0)
    if options.file is None or options.nodes is None:
        raise Misuse(
            "H344", "a program and --nodes are wanted", hint="`solvent run PROGRAM.hocl --nodes 4 --store URL`"
        )
    refuse_workflow(options)
    if options.transport == "nats" and not is_on_servers(manner.url):
        hint = "`solvent store serve` starts one; then --store nats://127.0.0.1:4222"
        raise Misuse("H344", "`--transport nats` needs a store that is kept by NATS servers", hint=hint)
    ttl = options.ttl or TTL
    if ttl < _MIN_TTL:
        raise Misuse("H344", f"`--ttl` must be at least {_MIN_TTL:g}")
    run = share_out(
        load_to_run(options),
        options.nodes,
        manner,
        ttl=ttl,
        transport=options.transport or "tcp",
        spares=options.spares or 0,
        functions=options.functions,
        reacts_locally=not options.no_local,
        protocol=options.protocol,
    )
    if options.format == "text":
        write(f"the run is {run.record.run}", to=sys.stderr)
    return run


def _manner(options: Namespace) -> Manner:
    from solvent.runs.nodes.members import Manner

    url = _url(options)
    if not url:
        raise Misuse("H344", "it is not said where the run is kept", hint=f"--store URL, or the variable {VARIABLE}")
    host = options.listen or "127.0.0.1"
    return Manner(url=url, is_durable=not options.no_sync, host=host, tls=tls_of(options))


__all__ = ["add_shared", "add_tls", "is_shared", "refuse_workflow", "shared", "tls_of"]
