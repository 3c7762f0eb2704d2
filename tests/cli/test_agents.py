"""`solvent agents up|down|list`: agents on several machines, with a program that stands for `ssh`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from solvent.store import open_store
from tests.cli.agent_processes import DONE, calls, put_flow
from tests.cli.command import Result, environment, solvent

if TYPE_CHECKING:
    from pathlib import Path


# It runs the command here, in the folder of the host and in surroundings of its own, as `ssh` would there.
FAKE = """\
#!/bin/sh
while [ $# -gt 0 ]; do case "$1" in -o|-p) shift 2 ;; --) shift; break ;; esac; done
case "$1" in *nowhere*) echo "ssh: Could not resolve hostname" >&2; exit 255 ;; esac
cd "{root}/$1" || exit 1
shift
exec env -i HOME="$PWD" PATH="$PATH" PYTHONPATH="{sources}" sh -c "$*"
"""
HOSTS = """\
services: flow.yaml
ttl: 2
hosts:
  - {{address: localhost, count: 2, folder: work, python: {python}}}
  - {{address: 127.0.0.1, folder: ~/work, command: {python} -m solvent, jobs: 2}}
"""


def prepared(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make two machines, and a file that lists them."""
    fake = folder / "bin" / "ssh"
    fake.parent.mkdir()
    sources = environment()["PYTHONPATH"]
    fake.write_text(FAKE.format(root=folder, sources=sources), encoding="utf-8")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}{os.pathsep}{os.environ['PATH']}")
    for host in ("localhost", "127.0.0.1"):
        (folder / host).mkdir()
        put_flow(folder / host / "work")
        (folder / host / "work" / "open").touch()
    put_flow(folder)
    (folder / "hosts.yaml").write_text(HOSTS.format(python=sys.executable), encoding="utf-8")


def test_agents_on_hosts_run_a_workflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are started, seen, given a workflow, and ended; calls are made on the hosts."""
    prepared(tmp_path, monkeypatch)
    store = ("--store", "runs.db")
    try:
        up = solvent("agents", "up", "hosts.yaml", *store, "--format", "json", cwd=tmp_path)
        assert up.code == 0, up.err
        assert [(one["host"], one["agents"]) for one in up.json["hosts"]] == [("localhost", 2), ("127.0.0.1", 1)]
        assert all(one["alive"] for one in up.json["agents"])
        found = solvent("agents", "list", *store, "--format", "json", cwd=tmp_path).json["agents"]
        names = sorted(one["agent"].rpartition("-")[0] for one in found)
        assert names == ["127-0-0-1.up", "localhost.up", "localhost.up"]
        assert all(one["alive"] for one in found)
        solvent("submit", "flow.yaml", *store, "--name", "r1", cwd=tmp_path)
        result = solvent("resume", "r1", *store, cwd=tmp_path)
        assert (result.code, result.out) == (0, "sum: 17\n")
        made = [calls(tmp_path / host / "work") for host in ("localhost", "127.0.0.1")]
        assert sorted(made[0] + made[1]) == DONE
    finally:
        down = solvent("agents", "down", "hosts.yaml", *store, cwd=tmp_path)
    assert (down.code, down.out) == (0, "3 agents ended\n")
    assert solvent("agents", "list", *store, cwd=tmp_path).out == "there are no agents\n"
    logs = list((tmp_path / "localhost" / "work" / ".solvent").iterdir())
    assert len(logs) == 2
    assert all(log.stat().st_mode & 0o077 == 0 for log in logs)


def test_hosts_that_do_not_answer_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that cannot be reached, and one on which the agent does not start, are told with the reason."""
    prepared(tmp_path, monkeypatch)
    hosts = f"hosts:\n  - {{address: localhost, folder: work, services: [gone.yaml], python: {sys.executable}}}\n"
    (tmp_path / "near.yaml").write_text(hosts, encoding="utf-8")
    near = solvent("agents", "up", "near.yaml", "--store", "runs.db", "--wait", "3", cwd=tmp_path)
    assert near.code == 1
    assert "localhost: 1 agent of 1 did not start: error[W100]: cannot read `gone.yaml`" in near.err
    (tmp_path / "far.yaml").write_text("services: flow.yaml\nhosts: [{address: nowhere}]\n", encoding="utf-8")
    far = solvent("agents", "up", "far.yaml", "--store", "runs.db", cwd=tmp_path)
    assert (far.code, "error[A104]: a store in a file" in far.err) == (2, True), far.err


@pytest.mark.parametrize(
    "hosts, said",
    [
        ("hosts: []\n", "it names no hosts"),
        ("hosts:\n  - {address: a, count: two}\n", "wrong.yaml:2:18"),
        ("hosts:\n  - {address: a, cuont: 2}\n", "`cuont` means nothing here"),
    ],
)
def test_a_wrong_file_of_hosts_is_told_with_its_place(hosts: str, said: str, tmp_path: Path) -> None:
    """What is wrong is said, and where."""
    (tmp_path / "wrong.yaml").write_text(hosts, encoding="utf-8")
    result = solvent("agents", "up", "wrong.yaml", "--store", "runs.db", cwd=tmp_path)
    assert (result.code, said in result.err) == (2, True), result.err


def test_an_agent_that_is_not_there_cannot_be_ended(tmp_path: Path) -> None:
    """To end nobody is an error."""
    open_store(str(tmp_path / "runs.db")).close()
    result = solvent("agents", "down", "--agent", "nope", "--store", "runs.db", cwd=tmp_path)
    assert (result.code, "there is no agent `nope`" in result.err) == (2, True), result.err


def test_silent_agents_are_forgotten(tmp_path: Path) -> None:
    """What an agent that was killed has left behind is taken away by `down --all`."""
    from solvent.store import open_store
    from solvent.store.leases import Heartbeat

    with open_store(str(tmp_path / "runs.db")) as store:
        heartbeat = Heartbeat(store, "gone-1", ttl=0.5).start()
        entry = store.get("agents/gone-1")
        assert entry is not None
        heartbeat.stop()
        store.put("agents/gone-1", entry.value)
    result: Result = solvent("agents", "down", "--all", "--store", "runs.db", cwd=tmp_path)
    assert (result.code, result.out.splitlines()[0]) == (0, "0 agents ended")
    assert "gone-1 was silent already" in result.out
    assert solvent("agents", "list", "--store", "runs.db", cwd=tmp_path).out == "there are no agents\n"
