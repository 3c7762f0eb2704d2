"""A password in the address of a store is seen by nobody: in no list of processes, output, log, error or status."""

from __future__ import annotations

import os
import pty
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from solvent.cli.secrecy import has_secret, redacted, shown
from solvent.store import open_store
from tests.cli.agent_processes import Command, put_flow, until
from tests.cli.command import arguments, environment, solvent, started
from tests.live.store_servers import server

if TYPE_CHECKING:
    from collections.abc import Iterator

JSON = ("--format", "json")
PASSWORD = "Tr0ub4dor"  # noqa: S105 - of a server that lives for a test


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Give the address of a server that lets in only who knows the password."""
    with server(user="me", password=PASSWORD) as one:
        yield one.url.replace("://", f"://me:{PASSWORD}@", 1)


@pytest.mark.parametrize(
    "text,said",
    [
        ("nats://me:secret@10.0.0.1:4222/x", "nats://***@10.0.0.1:4222/x"),
        ("see tls://token@a,b?replicas=3 there", "see tls://***@a,b?replicas=3 there"),
        ("nats://10.0.0.1:4222", "nats://10.0.0.1:4222"),
        ("me@example.org", "me@example.org"),
        ("nats://a:p@ss@host", "nats://***@host"),
    ],
)
def test_secrets_are_taken_out(text: str, said: str) -> None:
    """Whatever stands before the host of an address is left out."""
    assert (redacted(text), has_secret(text)) == (said, said != text)


def test_what_others_write_does_not_change_the_terminal() -> None:
    """Control signs in what came from the store are not given to the terminal."""
    assert shown("a\x1b[2Jb\r\nc") == "a\ufffd[2Jb\ufffd\ufffdc"


def test_nobody_sees_the_password(tmp_path: Path, url: str) -> None:
    """An agent, a launcher and their children run with it; what others can see of them has it nowhere."""
    put_flow(tmp_path)
    (tmp_path / "env.yaml").write_text("workflow: env\nservices: {env: {shell: env}}\ntasks: {t: {service: env}}\n")
    seen: list[str] = []
    words = ("agent", "--store", url, "--services", str(tmp_path / "flow.yaml"), str(tmp_path / "env.yaml"))
    with Command(*words, cwd=tmp_path) as agent:
        # Its words are seen for a moment before it starts itself anew; what is seen from then on is looked at.
        agent.wait_for("offers")
        seen += [Path(f"/proc/{one}/cmdline").read_text() for one in processes_of(agent.pid)]
        assert all("agent" in one for one in seen)
        submitted = started("submit", str(tmp_path / "env.yaml"), "--store", url, "--name", "env")
        result = started("resume", "env", "--store", url, "--format", "json")
        assert result.code == 0, result.err
        with Command("run", "flow.yaml", "--store", url, "--agents", "1", "--name", "r1", cwd=tmp_path) as launcher:
            until(lambda: (tmp_path / "calls").exists() and "gate" in (tmp_path / "calls").read_text(), launcher.said())
            seen += [Path(f"/proc/{one}/cmdline").read_text() for one in processes_of(launcher.pid)]
            status = started("status", "r1", "--store", url)
            (tmp_path / "open").touch()
            assert launcher.process.wait(200) == 0, launcher.said()
            seen.append(launcher.said())
        listed = started("agents", "list", "--store", url)
        seen += [one.out + one.err for one in (submitted, result, status, listed)] + [agent.said()]
    assert "alive" in status.out
    assert result.json["results"]["t"]
    assert len(seen) >= 8
    assert not [one for one in seen if PASSWORD in one]


def test_errors_do_not_tell_the_password(tmp_path: Path, url: str) -> None:
    """A server that is not there, a wrong password, an address that is wrong: none repeats what was given."""
    put_flow(tmp_path)
    for wrong in (
        f"nats://me:{PASSWORD}@127.0.0.1:1",
        url.replace(PASSWORD, PASSWORD[::-1]),
        f"nats://me:{PASSWORD}@a b",
        f"{url}?password={PASSWORD}",
        f"nat://me:{PASSWORD}@127.0.0.1:1",
        f"HTTP://me:{PASSWORD}@127.0.0.1:1",
    ):
        result = started("submit", str(tmp_path / "flow.yaml"), "--store", wrong)
        assert result.code == 2
        assert "error[E40" in result.err
        assert PASSWORD not in result.out + result.err
        assert PASSWORD[::-1] not in result.out + result.err


def test_the_scheme_of_an_address_may_be_in_capitals(url: str) -> None:
    """`NATS://` means the same as `nats://`."""
    with open_store(url.replace("nats", "NATS", 1)) as store:
        assert store.url.startswith("nats://")


def test_errors_of_services_do_not_change_the_terminal(tmp_path: Path) -> None:
    """What a service says is shown by every command without control signs, also as JSON."""
    file = tmp_path / "bad.py"
    file.write_text(
        "from solvent import service, workflow\n"
        "@service\ndef bad():\n    raise ValueError('bad \\x1b[31m \\x9b2J')\n"
        "@workflow\ndef flow():\n    return bad()\n"
    )
    where = ("--store", str(tmp_path / "s.db"))
    seen = [started("run", str(file), *where, "--name", "r")]
    seen += [started(one, "r", *where, *more) for one in ("logs", "status", "resume", "replay") for more in ((), JSON)]
    said = [one.out + one.err for one in seen]
    assert [one for one in said if "bad" in one]
    assert not [one for one in said if "\x1b" in one or "\x9b" in one]


_NAMES = """workflow: "flow\\e[31m\\x9b"
services: {"svc\\e[32m": {shell: "printf 'x\\\\033[31m'"}}
tasks: {"task\\e[33m\\r": {service: "svc\\e[32m"}, "next\\e[34m": {service: "svc\\e[32m", after: ["task\\e[33m\\r"]}}
"""
_OF_FILES = [
    ("check",), ("show",), ("show", "--format", "dot"), ("show", "--format", "svg"), ("show", "-o", "OUT.txt"),
    ("convert", "--to", "json"), ("convert", "--to", "yaml"), ("convert", "--to", "hocl"), ("run",),
    ("convert", "--to", "hoclflow"),
]  # fmt: skip
_OF_RUNS = [
    ("status",), ("logs",), ("replay",), ("timeline",), ("timeline", "--format", "svg"),
    ("timeline", "--format", "json"), ("timeline", "-o", "OUT.txt"),
]  # fmt: skip


@pytest.mark.parametrize("words", [*_OF_FILES, *_OF_RUNS], ids=" ".join)
def test_names_in_files_do_not_change_the_terminal(tmp_path: Path, words: tuple[str, ...]) -> None:
    """No command passes control signs of names in a workflow on, whatever it writes them into."""
    (tmp_path / "bad.yaml").write_text(_NAMES)
    where = ("--store", str(tmp_path / "s.db"))
    if words in _OF_RUNS:
        assert solvent("run", "bad.yaml", *where, "--name", "r", cwd=tmp_path).code == 0
        result = solvent(words[0], "r", *where, *words[1:], cwd=tmp_path)
    else:
        result = solvent(words[0], "bad.yaml", *words[1:], cwd=tmp_path)
    drawn = tmp_path / "OUT.txt"
    said = result.out + result.err + (drawn.read_bytes().decode() if drawn.exists() else "")
    assert (result.code, bool(said) or words == ("check",)) == (0, True), said
    assert not [sign for sign in said if sign in "\x1b\x9b\r"], said


def test_comments_do_not_change_the_terminal(tmp_path: Path) -> None:
    """`fmt` shows control signs of a comment on a terminal as such, and passes them on to a file or a pipe."""
    file = tmp_path / "p.hocl"
    file.write_text("# red \x1b[2J\n<1>\n")
    assert "\x1b[2J" in solvent("fmt", file).out
    master, slave = pty.openpty()
    with (
        open(master, "rb", buffering=0) as terminal,  # noqa: PTH123
        subprocess.Popen(arguments("fmt", file), stdin=slave, stdout=slave, stderr=slave, env=environment()),
    ):
        os.close(slave)
        seen = b""
        # A terminal whose last process has ended cannot be read any more.
        with suppress(OSError):
            while piece := terminal.read(4096):
                seen += piece
    assert b"red" in seen
    assert b"\x1b[2J" not in seen


def processes_of(parent: int) -> list[int]:
    """Give a process and its children."""
    found = [parent]
    deadline = time.monotonic() + 200
    while len(found) < 2 and time.monotonic() < deadline:
        for one in Path("/proc").iterdir():
            if one.name.isdecimal():
                try:
                    about = (one / "stat").read_text().rpartition(")")[2].split()
                except OSError:
                    continue
                if int(about[1]) == parent:
                    found.append(int(one.name))
    assert len(found) > 1
    return found
