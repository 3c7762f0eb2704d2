"""`solvent agent`: runs tasks of workflows that were submitted to a store, together with other agents.

It calls only the services of the files that it was started with. Ctrl-C, or SIGTERM, lets others have what it has; it
may as well be killed. What it does is said on standard output, one line each; what services print goes to standard
error.
"""

from __future__ import annotations

import os
import signal
import sys
from argparse import ArgumentTypeError
from typing import IO, TYPE_CHECKING

from solvent.cli.arguments import MAX_PORT, add_log, add_otel, at_least, parser_for, seconds
from solvent.cli.finding import any_file
from solvent.cli.interrupt import begin
from solvent.cli.log import Log
from solvent.cli.observed import Observed
from solvent.cli.records import NOWHERE, open_patiently
from solvent.cli.secrecy import VARIABLE, redacted
from solvent.cli.workflows import add_scale
from solvent.errors import AgentProblem, Misuse, StoreError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterable
    from pathlib import Path

    from solvent.runs.agents.agent import Agent
    from solvent.runs.agents.offers import Offers
    from solvent.workflows.places import Loaded

MIN_TTL = 0.5
_SAYS = (
    "Run tasks of workflows that were submitted to a store, together with other agents; Ctrl-C ends it, and others go "
    "on.\nAn agent calls only the services of the files that it was started with, whatever somebody submits."
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
        check_ttl(options)
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        return _run(options)
    except KeyboardInterrupt:
        return 0


def _run(options: Namespace) -> int:
    from solvent.store import open_store
    from solvent.store.heartbeat import split_off

    url = _store(options)
    # Before anything else: services and their modules may start threads.
    heartbeat = split_off(url, is_durable=not options.no_sync)
    from solvent.hocl.process_settings import few_collections
    from solvent.runs.agents.agent import Agent
    from solvent.runs.agents.stopping import Stopper

    offers = offers_from(options.services, trusts_all=options.trust_all, scale=options.scale)
    name = _name(options.name)
    log = Log(
        _own_output(), is_json="json" in (options.log_format, options.format), level=options.log_level, agent=name
    )
    # Who started it for a run has reached the store a moment ago.
    open_ = open_patiently if options.until else open_store
    with open_(url, is_durable=not options.no_sync) as store, Observed(options, name, log) as observed:
        agent = Agent(
            observed.store(store),
            name,
            offers,
            ttl=options.ttl,
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
            said = "--trust-all: it runs every command that anybody submits to this store"
            log.tell("trusting", said, level="warning")
        with few_collections(), Stopper(store, name, agent.stop, until=options.until or ""):
            agent.run()
        log.tell("ended", "ends; others go on with what it had")
    return 0


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    parser = parser_for("agent", _SAYS, example=_EXAMPLE)
    says = f"where runs are (default: {VARIABLE}; there an address with a password is better kept)"
    parser.add_argument("--store", metavar="URL", help=says)
    says = "workflow files whose services it offers: .yaml, .json, .hocl, .py[:NAME]; all in one folder"
    parser.add_argument("--services", type=any_file, nargs="+", action="extend", default=[], metavar="FILE", help=says)
    add_scale(parser)
    says = "what it is called; some letters are added, so that no two are alike (default: this machine's name)"
    parser.add_argument("--name", metavar="NAME", help=says)
    parser.add_argument("--jobs", type=at_least(1), metavar="N", help="calls of Python services at the same time")
    says = "seconds of silence after which others take what it has (default: %(default)s)"
    parser.add_argument("--ttl", type=seconds, default=5.0, metavar="S", help=says)
    says = "run whatever a submitted workflow names: any command, as this user. For a store that only you can write to"
    parser.add_argument("--trust-all", action="store_true", help=says)
    parser.add_argument("--until", metavar="RUN", help="end when this run is over")
    parser.add_argument("--no-sync", action="store_true", help="do not wait for the disk: a power cut may lose seconds")
    says = "offer numbers for Prometheus at http://HOST:PORT/metrics (HOST: this machine only, if none is named)"
    parser.add_argument("--metrics", type=_address, metavar="[HOST:]PORT", help=says)
    add_otel(parser)
    add_log(parser)
    parser.add_argument("--format", choices=("text", "json"), default="text", help="the same as --log-format")
    return parser


def _address(text: str) -> tuple[str, int]:
    """Read where metrics are offered."""
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > MAX_PORT:
        raise ArgumentTypeError(f"`{text}` is not HOST:PORT, or a port")
    return host.strip("[]"), int(port)


def check_ttl(options: Namespace) -> None:
    """Refuse a lease that is too short, or longer than others wait, before anything is begun."""
    from solvent.store.leases import MAX_TTL

    if options.ttl < MIN_TTL:
        raise Misuse("H313", f"`--ttl` is at least {MIN_TTL} seconds")
    if options.ttl > MAX_TTL:
        raise Misuse("H313", f"`--ttl` is at most {MAX_TTL:.0f} seconds")


def offers_from(files: list[str], *, trusts_all: bool = False, scale: float | None = None) -> Offers:
    """Read workflow files and offer their services; one that cannot be called here is an error."""
    from solvent.cli.workflows import folder_of, load_sound
    from solvent.runs.agents.offers import offers_of

    if not files and not trusts_all:
        hint = "--services WORKFLOW names files whose services it offers"
        raise AgentProblem("A103", "this agent would have nothing to offer", hint=hint)
    folders: dict[Path, str] = {}
    loaded = []
    for file in files:
        folders.setdefault(folder_of(file).resolve(), file)
        loaded.append(load_sound(file, scale=scale))
    if len(folders) > 1:
        said = f"{' and '.join([*folders.values()][:2])} are in different folders; their programs are looked for in one"
        raise AgentProblem("A103", said, hint="start an agent for each folder")
    folder = next(iter(folders), None)
    offers = offers_of((one.workflow for one in loaded), folder, trusts_all=trusts_all)
    if files:
        refuse_uncallable(loaded, folder_of(files[0]))
    return offers


def refuse_uncallable(loaded: Iterable[Loaded], folder: Path) -> None:
    """Show which services of files cannot be called here, and end with 2 if there are any."""
    from solvent.cli.services import service_problems
    from solvent.cli.workflows import show_problems

    problems = [problem for one in loaded for problem in service_problems(one, folder)]
    if problems:
        show_problems(problems)
        raise SystemExit(2)


def _store(options: Namespace) -> str:
    # Programs that services start need not know how one is let in.
    url = options.store or os.environ.get(VARIABLE, "")
    os.environ.pop(VARIABLE, None)
    if url in ("", NOWHERE):
        raise StoreError("E401", "it is not said where runs are", hint=f"--store URL, or the variable {VARIABLE}")
    return url


def _name(given: str | None) -> str:
    """Make a name that no other agent has had: what one of the same name had would never be given up."""
    import re
    import secrets
    import socket

    base = re.sub(r"[^A-Za-z0-9_.=-]+", "-", given or socket.gethostname().partition(".")[0]).strip("-")[:60]
    return f"{base or 'agent'}-{secrets.token_hex(3)}"


def _stop(agent: Agent) -> None:
    # A second Ctrl-C ends at once, should a service not be ended.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    agent.stop()


def _own_output() -> IO[str]:
    """Keep standard output for what the agent tells; what services print goes to standard error."""
    sys.stdout.flush()
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="backslashreplace")
    os.dup2(2, 1)
    return out


__all__ = ["main", "offers_from", "parser", "refuse_uncallable"]
