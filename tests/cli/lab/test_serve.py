"""`solvent lab serve`: nodes in processes of their own."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from solvent.cli.main import main
from solvent.net.ports import free_ports
from solvent_lab.cli.serve import PROTOCOLS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Process = subprocess.Popen[str]

ANYWHERE = ("--listen", "0.0.0.0:0")
NO_JOURNAL = ("--journal", "/nowhere/at/all")
NO_FOLDER = ("--state", "/dev/null/node")


@pytest.fixture
def processes() -> Iterator[list[Process]]:
    started = list[Process]()
    yield started
    for process in started:
        process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            assert stream is not None
            stream.close()


def _serve(processes: list[Process], *arguments: str) -> Process:
    command = [sys.executable, "-m", "solvent", "lab", "serve", "link", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    processes.append(process)
    return process


def _hears(process: Process) -> str:
    """Wait for the first line of a node's output."""
    assert process.stdout is not None
    return process.stdout.readline()


def test_nodes_hear_each_other(processes: list[Process], tmp_path: Path) -> None:
    """Nodes that share a secret talk over TCP; one that is killed goes on from its journal; a signal stops them."""
    secret, journal = tmp_path / "secret", str(tmp_path / "journal")
    secret.write_text("a secret\n")
    peers = ",".join(f"{node}=127.0.0.1:{port}" for node, port in enumerate(free_ports(2)))
    common = ["--words", "50", "--run", "tests", "--secret-file", str(secret), "--peers", peers]
    first = _serve(processes, *common)
    second = _serve(processes, *common, "--node", "1", "--journal", journal)
    assert "all 50 words heard by 1 nodes" in _hears(first)
    assert "all 50 words heard by 1 nodes" in _hears(second)
    second.kill()
    second.wait()
    second = _serve(processes, *common, "--node", "1", "--journal", journal)
    assert "all 50 words heard by 1 nodes" in _hears(second)
    for process in (first, second):
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 130


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_protocol_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each protocol tells its own options and those of all."""
    assert main(["lab", "serve", name, "--help"]) == 0
    said = capsys.readouterr().out
    assert "--journal FILE" in said or "--journal DIR" in said or "--state DIR" in said
    assert f"solvent lab serve {name}" in said


@pytest.mark.parametrize(
    "arguments,said",
    [
        (["lnk"], "did you mean `link`?"),
        (["link", "--listen", "here"], "error[N104]"),
        (["link", "--listen", "127.0.0.1:99999"], "error[N104]"),
        (["link", "--peers", "here"], "error[N105]"),
        (["link", "--secret-file", "/nowhere/at/all"], "error[N120]"),
        (["link", "--journal", "/nowhere/at/all"], "error[N110]"),
        ([], "usage: solvent lab serve"),
        # What is wrong beside that keeps a node that should not start from starting.
        (["link", *ANYWHERE, *NO_JOURNAL], "error[S210]"),
        (["link", "--peers", "0=127.0.0.1:7000,1=example.org:7000", *NO_JOURNAL], "error[S210]"),
        (["link", *ANYWHERE, *NO_JOURNAL, "--no-secret"], "error[N110]"),
        (["capture", *ANYWHERE, *NO_FOLDER], "error[S210]"),
        (["capture", *ANYWHERE, *NO_FOLDER, "--no-secret"], "error[N140]"),
    ],
)
def test_bad_input_is_a_clear_error(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is wrong is told in one line, with exit code 2."""
    monkeypatch.delenv("SOLVENT_SECRET", raising=False)
    assert main(["lab", "serve", *arguments]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["link", *ANYWHERE, *NO_JOURNAL],
        ["capture", *ANYWHERE, *NO_FOLDER],
        ["token", "--join", "example.org:7000"],
    ],
)
def test_a_missing_secret_is_asked_for_by_its_options(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever serves beyond this machine without a secret reads which options of the command help."""
    monkeypatch.delenv("SOLVENT_SECRET", raising=False)
    assert main(["lab", "serve", *arguments]) == 2
    said = capsys.readouterr().err
    assert "`--secret-file FILE`" in said
    assert "`--no-secret`" in said
    assert "secret=" not in said
