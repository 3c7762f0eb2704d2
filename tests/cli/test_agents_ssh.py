"""`solvent agents up` over a real SSH server, on loopback with keys of its own; skipped where there is none."""

from __future__ import annotations

import getpass
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from solvent.store.server import free_port
from tests.cli.agent_processes import DONE, calls, put_flow, until
from tests.cli.command import environment, solvent
from tests.live.store_servers import served

if TYPE_CHECKING:
    from collections.abc import Iterator

SSHD = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")
SSH, KEYGEN = shutil.which("ssh"), shutil.which("ssh-keygen")
pytestmark = pytest.mark.skipif(not (SSHD and SSH and KEYGEN), reason="there is no SSH server to try it with")

SERVER = """\
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
PidFile {folder}/pid
AuthorizedKeysFile {folder}/mine.pub
PasswordAuthentication no
UsePAM no
StrictModes no
"""
CLIENT = """\
IdentityFile {folder}/mine
IdentitiesOnly yes
UserKnownHostsFile {folder}/known
StrictHostKeyChecking accept-new
"""
HOSTS = """\
store: {store}
services: flow.yaml
ttl: 2
hosts:
  - {{address: 127.0.0.1, user: {user}, port: {port}, count: 2, folder: {folder}/work, command: "{command}"}}
"""


@contextmanager
def ssh_server(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Start a server that lets in who has its key, and have `ssh` use it; give its port."""
    for name in ("host", "mine"):
        words = [str(KEYGEN), "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(words, check=True, stdin=subprocess.DEVNULL)
    port = free_port()
    (folder / "server.conf").write_text(SERVER.format(folder=folder, port=port), encoding="utf-8")
    (folder / "client.conf").write_text(CLIENT.format(folder=folder), encoding="utf-8")
    # The real client, with a configuration as a user has one in `~/.ssh/config`.
    (folder / "bin").mkdir()
    client = folder / "bin" / "ssh"
    client.write_text(f'#!/bin/sh\nexec {SSH} -F {folder}/client.conf "$@"\n', encoding="utf-8")
    client.chmod(0o755)
    monkeypatch.setenv("PATH", f"{client.parent}{os.pathsep}{os.environ['PATH']}")
    if os.geteuid() == 0:
        # Where root serves, the server wants an empty folder of this name.
        Path("/run/sshd").mkdir(exist_ok=True)
    with (folder / "server.log").open("wb") as log:
        words = [str(SSHD), "-D", "-e", "-f", str(folder / "server.conf")]
        server = subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=log)
    try:
        until(lambda: b"listening on" in (folder / "server.log").read_bytes() or server.poll() is not None)
        if server.poll() is not None:
            pytest.skip("no SSH server can be started here: " + (folder / "server.log").read_text()[-200:])
        yield port
    finally:
        server.terminate()
        server.wait()


def test_agents_are_started_over_ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They outlive the connection, share a workflow around a server's store, and end by a word in it."""
    work = tmp_path / "work"
    put_flow(work)
    (work / "open").touch()
    with ssh_server(tmp_path, monkeypatch) as port, served() as store:
        command = f"env PYTHONPATH={environment()['PYTHONPATH']} {sys.executable} -m solvent"
        hosts = HOSTS.format(store=store, user=getpass.getuser(), port=port, folder=tmp_path, command=command)
        (tmp_path / "hosts.yaml").write_text(hosts, encoding="utf-8")
        monkeypatch.delenv("SOLVENT_STORE", raising=False)
        try:
            up = solvent("agents", "up", "hosts.yaml", cwd=tmp_path)
            assert (up.code, up.out) == (0, "127.0.0.1: 2 agents\n"), up.err
            submitted = solvent("submit", "work/flow.yaml", "--store", store, "--name", "r1", cwd=tmp_path)
            assert submitted.code == 0, submitted.err
            done = solvent("resume", "r1", "--store", store, cwd=tmp_path)
            assert (done.code, done.out) == (0, "sum: 17\n"), done.err
            assert calls(work) == DONE
        finally:
            down = solvent("agents", "down", "hosts.yaml", cwd=tmp_path)
        assert (down.code, down.out) == (0, "2 agents ended\n"), down.err


def test_a_key_that_is_refused_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is not let in gets what `ssh` says about it, and no question."""
    with ssh_server(tmp_path, monkeypatch) as port, served() as store:
        (tmp_path / "mine.pub").write_text("", encoding="utf-8")
        hosts = HOSTS.format(store=store, user=getpass.getuser(), port=port, folder=tmp_path, command="solvent")
        (tmp_path / "hosts.yaml").write_text(hosts, encoding="utf-8")
        up = solvent("agents", "up", "hosts.yaml", cwd=tmp_path)
        assert up.code == 1
        assert "Permission denied" in up.err
