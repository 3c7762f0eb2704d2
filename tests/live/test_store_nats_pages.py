"""What the page about clusters says is true: its configuration starts, and its commands make a cluster."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import pytest

from solvent.store import open_store
from solvent.store.server import LOOPBACK, free_ports, server_program
from tests.cli.command import environment
from tests.repo.project import ROOT
from tests.repo.snippets import blocks_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

PAGE = (ROOT / "docs" / "how-to" / "cluster.md").read_text(encoding="utf-8")
TOKEN = "of-the-page"  # noqa: S105 - of this test


@contextmanager
def _running(words: Sequence[str], **more: str) -> Iterator[subprocess.Popen[str]]:
    everything = environment() | more
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=everything
    ) as started:
        try:
            yield started
        finally:
            started.send_signal(signal.SIGTERM)
            started.wait()


def _use(ports: Sequence[int]) -> None:
    """Append to the store of a cluster, by its address as the page has it."""
    shown = next(block.text for block in blocks_of(PAGE) if "replicas=3" in block.text).strip()
    servers = ",".join(f"{LOOPBACK}:{port}" for port in ports)
    address = re.sub(r"10\.0\.0\.1:4222.*:4222", servers, shown.replace("TOKEN", TOKEN))
    with open_store(address) as store:
        assert store.replicas == 3  # type: ignore[attr-defined]
        position = store.append("log", b"kept by three")
        assert [(record.position, record.data) for record in store.read("log")] == [(position, b"kept by three")]
        assert TOKEN not in store.url


def test_the_configuration_of_the_page_makes_a_cluster(tmp_path: Path) -> None:
    """Three servers with the page's file, on loopback, keep three copies."""
    shown = next(block.text for block in blocks_of(PAGE) if block.file == "node1.conf")
    clients, routes = (ports := free_ports(6))[:3], ports[3:]
    with ExitStack() as stack:
        for number in range(3):
            text = shown.replace("node1", f"node{number + 1}").replace("/srv/store", str(tmp_path / str(number)))
            text = text.replace("port: 4222", f"port: {clients[number]}").replace(
                "port: 6222", f"port: {routes[number]}"
            )
            for other in range(3):
                text = text.replace(f"TOKEN@10.0.0.{other + 1}:6222", f"{TOKEN}@{LOOPBACK}:{routes[other]}")
            file = tmp_path / f"node{number}.conf"
            file.write_text(text.replace("10.0.0.1", LOOPBACK))
            stack.enter_context(_running([server_program(), "-c", str(file)], STORE_TOKEN=TOKEN))
        _use(clients)


def test_the_commands_of_the_page_make_a_cluster(tmp_path: Path) -> None:
    """Three times `solvent store serve`, with the page's options, keep three copies; Ctrl-C ends each."""
    shown = [line for line in PAGE.splitlines() if re.match(r"host\d\$ ", line)]
    assert len(shown) == 3
    clients, routes = (ports := free_ports(6))[:3], ports[3:]
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    with ExitStack() as stack:
        started = []
        for number, line in enumerate(shown):
            words = line.split()[2:]
            for option, value in (
                ("--host", LOOPBACK),
                ("--cluster-port", str(routes[number])),
                ("--routes", ",".join(f"{LOOPBACK}:{port}" for port in routes)),
                ("--token-file", str(tmp_path / "token")),
                ("--folder", str(tmp_path / str(number))),
            ):
                words[words.index(option) + 1] = value
            words += ["--port", str(clients[number]), "--format", "json"]
            started.append(stack.enter_context(_running([sys.executable, "-m", "solvent", *words])))
        pids = []
        for process in started:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert TOKEN not in line
            pids.append(json.loads(line)["pid"])
        _use(clients)
        for process in started:
            process.send_signal(signal.SIGINT)
        assert [process.wait() for process in started] == [0, 0, 0]
        for pid in pids:
            with pytest.raises(ProcessLookupError):
                os.kill(pid, 0)
