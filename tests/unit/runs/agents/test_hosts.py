"""Files of hosts, and what is said to a host."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from solvent.errors import AgentProblem
from solvent.runs.agents.hosts import read_hosts, start_on, start_on_all

if TYPE_CHECKING:
    from pathlib import Path

URL = "nats://me:secret@10.0.0.1:4222"


def hosts_file(folder: Path, text: str) -> str:
    """Write a file of hosts."""
    file = folder / "hosts.yaml"
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_a_file_of_hosts_is_read(tmp_path: Path) -> None:
    """What is said for all counts for each host that says nothing else."""
    text = """\
store: nats://10.0.0.1:4222
services: pipeline.yaml
ttl: 3
hosts:
  - {address: node1, user: me, count: 4, folder: work}
  - {address: node2, services: [other.py], ttl: 9, name: big}
"""
    found = read_hosts(hosts_file(tmp_path, text))
    first, second = found.hosts
    assert (found.store, first.services, first.ttl, first.count, first.label) == (
        "nats://10.0.0.1:4222", ["pipeline.yaml"], 3, 4, "node1.up",
    )  # fmt: skip
    assert (second.services, second.ttl, second.label) == (["other.py"], 9, "big.up")


@pytest.mark.parametrize(
    "text,words",
    [
        ("hosts: [{address: a, services: [x], cuont: 2}]", "cuont"),
        ("hosts: [{services: [x]}]", "address"),
        ("hosts: [{address: -oProxyCommand=id, services: [x]}]", "neither an address"),
        ("hosts: [{address: a, user: '-x', services: [x]}]", "neither an address"),
        ("hosts: [{address: 'a b', services: [x]}]", "neither an address"),
        ("hosts: [{address: a, count: 0, services: [x]}]", "at least 1"),
        ("hosts: [{address: a}]", "which services"),
        ("hosts: [{address: a, services: [x]}, {address: a, services: [x]}]", "two hosts"),
        ("hosts: 3", "hosts"),
        ("hosts: [", "hosts.yaml"),
        ("!!python/object/apply:os.abort []", "hosts.yaml"),
    ],
)
def test_a_wrong_file_says_what_is_wrong(tmp_path: Path, text: str, words: str) -> None:
    """Each mistake is named, and nothing of the file is run."""
    with pytest.raises(AgentProblem, match=words) as caught:
        read_hosts(hosts_file(tmp_path, text))
    assert caught.value.code == "A108"


def test_the_words_of_ssh_have_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The address of the store goes by standard input; what is said to the host has it nowhere, nor has a complaint."""
    fake = tmp_path / "ssh"
    fake.write_text(
        '#!/bin/sh\nprintf "%s\\n" "$@" >"$0.words"\ncat >"$0.given"\necho "no: $(cat $0.given)" >&2\nexit 255\n'
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    text = "hosts: [{address: node1, user: me, port: 2222, services: [it's.yaml], folder: a b}]"
    answer = start_on(read_hosts(hosts_file(tmp_path, text)).hosts[0], URL)
    words = (tmp_path / "ssh.words").read_text()
    assert "secret" not in words
    assert words.splitlines()[:8] == ["-o", "BatchMode=yes", "-o", "ConnectTimeout=15", "-p", "2222", "--", "me@node1"]
    assert (tmp_path / "ssh.given").read_text() == f"{URL}\n"
    assert answer.problem
    assert "secret" not in answer.problem


def test_without_ssh_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that has no `ssh` says so for each host."""
    monkeypatch.setenv("PATH", str(tmp_path))
    hosts = read_hosts(hosts_file(tmp_path, "hosts: [{address: node1, services: [x]}]"))
    assert [one.problem for one in start_on_all(hosts, URL)] == ["there is no program `ssh` on this machine"]
