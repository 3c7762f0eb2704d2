"""Starts agents on other machines, by the plain `ssh` command, from a list of hosts.

    store: nats://10.0.0.1:4222        # else --store, or SOLVENT_STORE
    services: [pipeline.yaml]          # on each host, in its folder
    hosts:
      - {address: node1, user: me, count: 4, folder: work, command: .venv/bin/solvent}
      - {address: node2, python: /opt/python/bin/python3, services: [other.py], jobs: 8}

Only its heartbeat in the store shows whether an agent is there. The address of the store goes to a host by the standard
input of `ssh`, so that no list of processes has its password.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from solvent.errors import AgentProblem, SolventError
from solvent.source import Source
from solvent.workflows.formats.yaml.tree import tree_of

if TYPE_CHECKING:
    from solvent.workflows.formats.yaml.tree import Tree

SSH = ("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15")
SSH_SECONDS = 60.0
LOGS = ".solvent"
STARTED_BY = "up"
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
_SHOWN = "docs/how-to/agents.md shows such a file"
_STEP = re.compile(r"\.[^.\[]+|\[\d+\]")
_UNKNOWN = re.compile(r"unknown field `([^`]+)`")
_MAX_LINES = 20
"""How many lines of a log are searched for an error."""
_SSH_FAILED = 255
_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:%@-]*")


class AgentHost(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A machine, and how agents are started there."""

    address: str
    user: str = ""
    port: int | None = None
    count: int = 1
    folder: str = ""
    #: What `solvent` is there: words of a command; or `python`, the interpreter that has it.
    command: str = "solvent"
    python: str = ""
    services: list[str] = []
    jobs: int | None = None
    ttl: float | None = None
    #: What its agents are called; its address, if nothing is said.
    name: str = ""

    @property
    def label(self) -> str:
        """What the names of its agents begin with."""
        return re.sub(r"[^A-Za-z0-9_=-]+", "-", self.name or self.address).strip("-") + f".{STARTED_BY}"

    @property
    def is_local(self) -> bool:
        """Whether it is this machine."""
        return self.address in _LOCAL


class Hosts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a file of hosts says."""

    hosts: list[AgentHost]
    store: str = ""
    services: list[str] | str = []
    ttl: float | None = None


class Answer(msgspec.Struct, frozen=True):
    """What came of starting agents on a host: their processes there, or what is wrong."""

    host: AgentHost
    processes: tuple[int, ...] = ()
    problem: str = ""
    #: What to do about it.
    hint: str = ""


def read_hosts(path: str) -> Hosts:
    """Read a file of hosts; raise `AgentProblem` A104 for one that is wrong."""
    try:
        tree = tree_of(Source(Path(path).read_text(encoding="utf-8"), path))
        found = msgspec.convert(tree.data, type=Hosts)
    except (OSError, UnicodeDecodeError) as error:
        why = (error.strerror or str(error)) if isinstance(error, OSError) else "it is no text"
        raise AgentProblem("A108", f"cannot read {path}: {why}") from None
    except msgspec.ValidationError as error:
        raise _wrong(tree, path, str(error)) from None
    except SolventError as error:
        raise AgentProblem("A108", f"{path}: {error.message}", span=error.span) from None
    if not found.hosts:
        raise AgentProblem("A108", f"{path}: it names no hosts", hint=_SHOWN)
    common = [found.services] if isinstance(found.services, str) else found.services
    hosts = [
        msgspec.structs.replace(host, services=host.services or common, ttl=host.ttl or found.ttl)
        for host in found.hosts
    ]
    for host in hosts:
        _check(path, host)
    labels = [host.label for host in hosts]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        hint = "give one of them another `name`"
        raise AgentProblem("A108", f"{path}: two hosts are called `{twice.rpartition('.')[0]}`", hint=hint)
    return msgspec.structs.replace(found, hosts=hosts)


def _wrong(tree: Tree, path: str, said: str) -> AgentProblem:
    """Say what is wrong with a file of hosts, and where; how deep in the data is the last thing that is said."""
    what, _, where = said.partition(" - at `$")
    keys = tuple(int(key[1:-1]) if key.startswith("[") else key[1:] for key in _STEP.findall(where.rstrip("`")))
    unknown = _UNKNOWN.search(what)
    if unknown is not None:
        keys, what = (*keys, unknown[1]), f"`{unknown[1]}` means nothing here"
    elif keys:
        what = f"`{'.'.join(str(key) for key in keys if isinstance(key, str))}`: {what[:1].lower()}{what[1:]}"
    return AgentProblem("A108", f"{path}: {what}", span=tree.span(keys), hint=_SHOWN)


def _check(path: str, host: AgentHost) -> None:
    # A word that begins with a dash would be an option of `ssh`.
    for what in (host.address, host.user):
        if what and not _WORD.fullmatch(what):
            raise AgentProblem("A108", f"{path}: `{what}` can be neither an address nor a user")
    if host.count < 1:
        raise AgentProblem("A108", f"{path}: `count` of `{host.address}` is at least 1")
    if not host.services:
        hint = "`services: [pipeline.yaml]`, for all hosts or for one"
        raise AgentProblem("A108", f"{path}: it is not said which services `{host.address}` offers", hint=hint)


def start_on_all(hosts: Hosts, url: str, *, more: tuple[str, ...] = ()) -> list[Answer]:
    """Start agents on all hosts at once, and say what came of it."""
    if "://" not in url.removeprefix("sqlite://") and not all(one.is_local for one in hosts.hosts):
        hint = "let servers keep it: docs/how-to/cluster.md, or `solvent store serve` for one"
        raise AgentProblem("A104", "a store in a file can be reached from one machine only", hint=hint)
    with ThreadPoolExecutor(min(32, len(hosts.hosts) or 1), thread_name_prefix="ssh") as pool:
        return list(pool.map(lambda host: start_on(host, url, more=more), hosts.hosts))


def start_on(host: AgentHost, url: str, *, more: tuple[str, ...] = ()) -> Answer:
    """Start the agents of a host."""
    code, out, errors = _over_ssh(host, _script(host, more), f"{url}\n")
    found = tuple(int(line) for line in out.split() if line.isdecimal())
    if code or len(found) != host.count:
        last = errors.strip().splitlines()[-1:] or [f"`ssh` ended with code {code}"]
        return Answer(host, problem=last[0].replace(url, "***"), hint=_what_to_do(host, code))
    return Answer(host, found)


def _what_to_do(host: AgentHost, code: int) -> str:
    """Tell a connection that failed from a command that failed at its other end."""
    if code == _SSH_FAILED:
        port = f"-p {host.port} " if host.port else ""
        return f"ssh {port}{_whom(host)} must work without a question"
    return "`folder`, `command`, `python` and `services` of the file must be right on that machine"


def last_words(host: AgentHost) -> str:
    """Return the last error that the agents of a host wrote, or else their last line."""
    folder = f"cd {_folder(host)} && " if host.folder else ""
    script = f"{folder}tail -q -n {_MAX_LINES} $(ls -t {LOGS}/agent-{shlex.quote(host.label)}-*.log | head -n 1)"
    _, out, _ = _over_ssh(host, script, "")
    lines = [line for line in out.splitlines() if line.strip()]
    return next((line for line in reversed(lines) if line.startswith("error[")), lines[-1] if lines else "").strip()


def _script(host: AgentHost, more: tuple[str, ...]) -> str:
    """Give what the shell of a host does: take the address, start agents that go on without it, tell their numbers."""
    command = f"{shlex.quote(host.python)} -P -m solvent" if host.python else host.command
    words = ["agent", "--services", *host.services, "--name", host.label, *more]
    words += ["--jobs", str(host.jobs)] if host.jobs else []
    words += ["--ttl", f"{host.ttl:g}"] if host.ttl else []
    said = " ".join(map(shlex.quote, words))
    folder = f"cd {_folder(host)} || exit 1\n" if host.folder else ""
    log = f"{LOGS}/agent-{shlex.quote(host.label)}-$$-$one.log"
    return (
        f"{folder}IFS= read -r SOLVENT_STORE || exit 1\nexport SOLVENT_STORE\n(umask 077; mkdir -p {LOGS}) || exit 1\n"
        f"one=0\nwhile [ $one -lt {host.count} ]; do\n  one=$((one + 1))\n"
        # What agents say is for their user only; what services write is as they want it.
        f"  (umask 077; : >{log}) || exit 1\n  nohup {command} {said} </dev/null >>{log} 2>&1 &\n  echo $!\ndone\n"
    )


def _folder(host: AgentHost) -> str:
    """Give a folder as the shell reads it; `~` is the user's home there."""
    if host.folder == "~" or host.folder.startswith("~/"):
        return '"$HOME"' + shlex.quote(host.folder[1:])
    return shlex.quote(host.folder)


def _whom(host: AgentHost) -> str:
    return f"{host.user}@{host.address}" if host.user else host.address


def _over_ssh(host: AgentHost, script: str, given: str) -> tuple[int, str, str]:
    port: list[Any] = ["-p", str(host.port)] if host.port else []
    words = [*SSH, *port, "--", _whom(host), f"sh -c {shlex.quote(script)}"]
    try:
        done = subprocess.run(  # noqa: S603 - what the user's file says
            words, input=given, capture_output=True, text=True, errors="replace", timeout=SSH_SECONDS, check=False
        )
    except FileNotFoundError:
        return 127, "", "there is no program `ssh` on this machine"
    except subprocess.TimeoutExpired:
        return 124, "", f"no answer within {SSH_SECONDS:g} seconds"
    return done.returncode, done.stdout, done.stderr


__all__ = ["AgentHost", "Answer", "Hosts", "last_words", "read_hosts", "start_on", "start_on_all"]
