"""`solvent agents up|down|list`: agents on several machines, with a program that stands for `ssh`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from solvent.cli.agent import parser
from solvent.runs.agents.hosts import read_hosts
from solvent.store import open_store
from tests.cli.agent_processes import DONE, calls, put_flow, until
from tests.cli.command import Result, environment, solvent
from tests.cli.forking import ROOT

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
    assert "localhost: 1 agent of 1 did not start: error[W100]: there is no file `gone.yaml`" in near.err
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


EXAMPLES = ROOT / "examples" / "agents"
# Starts the script once for each index, with the variables of a job, ends the jobs by their signal, and waits for them.
SCHEDULER = """\
#!/bin/bash
range=${1#--array=}
for index in $(seq ${range%-*} ${range#*-}); do
  SLURM_ARRAY_JOB_ID=42 SLURM_ARRAY_TASK_ID=$index SLURM_CPUS_PER_TASK=2 bash "$2" >agent-42_$index.log 2>&1 &
  jobs="$jobs $!"
done
trap 'kill -TERM $jobs' TERM
wait; wait
"""


def test_an_array_of_a_batch_system_is_agents(tmp_path: Path) -> None:
    """Jobs of an array are agents, which run what is submitted, and leave when the scheduler ends them."""
    for name in ("pipeline.yaml", "agents.slurm"):
        shutil.copy(EXAMPLES / name, tmp_path)
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "sbatch").write_text(SCHEDULER, encoding="utf-8")
    (programs / "solvent").write_text(f'#!/bin/sh\nexec {sys.executable} -m solvent "$@"\n', encoding="utf-8")
    for one in programs.iterdir():
        one.chmod(0o755)
    around = {
        **environment(),
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "SOLVENT_STORE": str(tmp_path / "runs.db"),
    }
    words = ["sbatch", "--array=1-2", "agents.slurm"]
    with subprocess.Popen(words, cwd=tmp_path, env=around, executable=programs / "sbatch") as scheduler:
        try:
            logs = [tmp_path / f"agent-42_{index}.log" for index in (1, 2)]
            until(lambda: all(log.exists() and "offers" in log.read_text() for log in logs))
            submitted = solvent("submit", "pipeline.yaml", "--store", "runs.db", "--name", "r1", cwd=tmp_path)
            assert submitted.out == "r1\n"
            assert solvent("resume", "r1", "--store", "runs.db", cwd=tmp_path).out == "sum: 85\n"
        finally:
            scheduler.terminate()
            scheduler.wait(200)
    for log in logs:
        assert "job42-" in log.read_text()
        assert log.read_text().endswith("ends; other agents take over its work\n")


def test_the_manifest_starts_agents_as_they_are_started() -> None:
    """The manifest for Kubernetes is YAML of the kinds it says; its words are the command's, without a secret."""
    secret, deployment = yaml.safe_load_all((EXAMPLES / "kubernetes.yaml").read_text(encoding="utf-8"))
    assert (secret["kind"], deployment["kind"], deployment["apiVersion"]) == ("Secret", "Deployment", "apps/v1")
    template: dict[str, Any] = deployment["spec"]["template"]
    assert deployment["spec"]["selector"]["matchLabels"].items() <= template["metadata"]["labels"].items()
    (container,) = template["spec"]["containers"]
    program, command, *words = container["command"]
    assert (program, command) == ("solvent", "agent")
    assert parser().parse_args(words).services == ["pipeline.yaml"]
    (variable,) = container["env"]
    assert variable == {
        "name": "SOLVENT_STORE",
        "valueFrom": {"secretKeyRef": {"name": secret["metadata"]["name"], "key": "url"}},
    }
    assert "url" in secret["stringData"]


def test_the_file_of_hosts_reads() -> None:
    """The example of hosts is one that `solvent agents up` takes."""
    found = read_hosts(str(EXAMPLES / "hosts.yaml"))
    assert [(one.label, one.count) for one in found.hosts] == [("node1.up", 4), ("node2.up", 4), ("big.up", 1)]
