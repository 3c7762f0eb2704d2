"""The examples of where agents run: the script for a batch system is run by one that stands for it; manifests read."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import yaml

from solvent.cli.agent import parser
from solvent.runs.agents.hosts import read_hosts
from tests.cli.agent_processes import until
from tests.cli.command import environment, solvent
from tests.cli.forking import ROOT

if TYPE_CHECKING:
    from pathlib import Path

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
