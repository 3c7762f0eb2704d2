"""`solvent agents up|down|list`: agents on several machines, started over SSH, and ended through the store."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from solvent.cli.agent_runs import agent_as_json, write_agents
from solvent.cli.arguments import add_format, add_words, parser_for, parser_settings, seconds
from solvent.cli.render import complain, counted, write, write_json
from solvent.cli.secrecy import VARIABLE, shown
from solvent.errors import AgentProblem, Misuse, StoreError
from solvent.runs.store_address import NOWHERE, absolute

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from solvent.runs.agents.hosts import Answer
    from solvent.runs.agents.membership import AgentSeen
    from solvent.store import Store

_WAIT_SECONDS = 30.0
_LOOK_SECONDS = 0.2
_EXAMPLE = "solvent agents up hosts.yaml\n  solvent agents list hosts.yaml\n  solvent agents down hosts.yaml"
_WHAT = {
    "up": "Start agents on the hosts of a file, over SSH, and wait until they are alive.",
    "down": "Ask agents to end: those of the hosts of a file, those named, or all; other agents take over their tasks.",
    "list": "List the agents of a store, and the services that they offer.",
}


def main(arguments: list[str]) -> int:
    """Start, end or list agents."""
    options = parser().parse_args(arguments)
    return {"up": _up, "down": _down, "list": _list}[options.what](options)


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    parser = parser_for("agents", "Agents on several machines.", example=_EXAMPLE)
    words = add_words(parser, "what to do")
    for name, add in (("up", _add_up), ("down", _add_down), ("list", _add_list)):
        add(words.add_parser(name, help=_WHAT[name], description=_WHAT[name], **parser_settings(_EXAMPLE)))
    return parser


def _add_up(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="HOSTS.yaml", help="the hosts, and how agents are started on them")
    _add_store(parser)
    says = "how long to wait until they are alive, in seconds (default: %(default)g)"
    parser.add_argument("--wait", type=seconds, default=_WAIT_SECONDS, metavar="S", help=says)


def _up(options: Namespace) -> int:
    from solvent.runs.agents.hosts import read_hosts, start_on_all
    from solvent.runs.agents.membership import see_agents
    from solvent.store import open_store

    hosts = read_hosts(options.file)
    url = _url(options, hosts.store)
    with open_store(url) as store:
        before = {one.name for one in see_agents(store, patience=0.0)}
        answers = start_on_all(hosts, url)
        until, missing = time.monotonic() + options.wait, dict[str, int]()
        while True:
            fresh = [one for one in see_agents(store, patience=0.0) if one.name not in before]
            missing = {
                one.host.label: one.host.count - sum(agent.name.startswith(f"{one.host.label}-") for agent in fresh)
                for one in answers
                if not one.problem
            }
            if not any(many > 0 for many in missing.values()) or time.monotonic() >= until:
                break
            time.sleep(_LOOK_SECONDS)
    return _tell_up(answers, fresh, missing, is_json=options.format == "json")


def _tell_up(answers: list[Answer], fresh: list[AgentSeen], missing: dict[str, int], *, is_json: bool) -> int:
    from solvent.runs.agents.hosts import last_words

    is_well = True
    found = []
    for one in answers:
        problem, many, hint = one.problem, missing.get(one.host.label, one.host.count), one.hint
        if not problem and many > 0:
            hint = "the logs of its agents are in .solvent, in its folder there; --wait S waits longer"
            problem = (
                f"{counted(many, 'agent')} of {one.host.count} did not start: {last_words(one.host) or 'no output'}"
            )
        is_well = is_well and not problem
        found.append({"host": one.host.address, "agents": max(0, one.host.count - many), "problem": shown(problem)})
        if not is_json and problem:
            complain(f"{one.host.address}: {shown(problem)}", hint=hint)
        elif not is_json:
            write(f"{one.host.address}: {counted(one.host.count, 'agent')}")
    if is_json:
        # Their heartbeats began during this command.
        alive = [agent_as_json(one) | {"alive": True} for one in fresh]
        write_json({"hosts": found, "agents": alive})
    return 0 if is_well else 1


def _add_down(parser: ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", metavar="HOSTS.yaml", help="the hosts whose agents, started by `up`, end")
    parser.add_argument("--agent", action="append", default=[], metavar="NAME", help="an agent by its name")
    parser.add_argument("--all", action="store_true", help="all agents of the store")
    _add_store(parser)
    says = "how long to wait until they have ended, in seconds (default: %(default)g)"
    parser.add_argument("--wait", type=seconds, default=_WAIT_SECONDS, metavar="S", help=says)


def _down(options: Namespace) -> int:
    if not (options.file or options.agent or options.all):
        raise Misuse("H319", "no agents are named", hint="HOSTS.yaml, --agent NAME or --all")
    from solvent.runs.agents.hosts import read_hosts
    from solvent.runs.agents.membership import SURE_PART_OF_TTL, see_agents
    from solvent.runs.holders import ask_to_stop
    from solvent.store import open_store

    hosts = read_hosts(options.file) if options.file else None
    labels = tuple(f"{host.label}-" for host in hosts.hosts) if hosts is not None else ()
    with open_store(_url(options, "" if hosts is None else hosts.store), is_made=False) as store:
        there = see_agents(store, part=SURE_PART_OF_TTL)
        unknown = set(options.agent) - {one.name for one in there}
        if unknown:
            said = f"there is no agent `{shown(min(unknown))}`"
            raise AgentProblem("A104", said, hint="`solvent agents list` lists the agents; none was asked to end")
        wanted = [
            one for one in there if options.all or one.name in options.agent or (labels and one.name.startswith(labels))
        ]
        for one in wanted:
            ask_to_stop(store, one.name)
        left = _wait_for_end(store, {one.name for one in wanted if one.is_alive}, options.wait)
        silent = [one for one in wanted if not one.is_alive]
        for one in silent:
            _forget(store, one.name)
    if options.format == "json":
        ended = sorted({one.name for one in wanted if one.is_alive} - left)
        write_json({"ended": ended, "silent": [one.name for one in silent], "left": sorted(left)})
    else:
        write(f"{counted(sum(one.is_alive for one in wanted) - len(left), 'agent')} ended")
        for one in silent:
            write(f"{shown(one.name)} was silent already: process {one.pid} of {shown(one.host)}")
        for name in sorted(left):
            complain(f"{shown(name)} was asked to end, and has not ended yet")
    return 1 if left else 0


def _wait_for_end(store: Store, names: set[str], wait: float) -> set[str]:
    from solvent.store.leases import AGENTS

    until = time.monotonic() + wait
    while True:
        left = names & {key.removeprefix(AGENTS) for key in store.keys(AGENTS)}
        if not left or time.monotonic() >= until:
            return left
        time.sleep(_LOOK_SECONDS)


def _forget(store: Store, name: str) -> None:
    """Remove the heartbeat of a silent agent: one that is alive writes it again, and reads that it has to end."""
    from solvent.store.leases import AGENTS

    store.delete(AGENTS + name)


def _add_list(parser: ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", metavar="HOSTS.yaml", help="the file that names the store")
    _add_store(parser)


def _list(options: Namespace) -> int:
    from solvent.runs.agents.hosts import read_hosts
    from solvent.runs.agents.membership import see_agents
    from solvent.store import open_store

    where = read_hosts(options.file).store if options.file else ""
    with open_store(_url(options, where), is_made=False) as store:
        found = see_agents(store)
    if options.format == "json":
        write_json({"agents": [agent_as_json(one) for one in found]})
    else:
        write_agents(found)
    return 0


def _add_store(parser: ArgumentParser) -> None:
    parser.add_argument("--store", metavar="URL", help=f"where runs are (default: that of HOSTS.yaml, or {VARIABLE})")
    add_format(parser)


def _url(options: Namespace, otherwise: str) -> str:
    url = options.store or otherwise or os.environ.get(VARIABLE, "")
    if url in ("", NOWHERE):
        hint = f"--store URL, the variable {VARIABLE}, or `store:` in the file of hosts"
        raise StoreError("E401", "no store is named", hint=hint)
    return absolute(url)
