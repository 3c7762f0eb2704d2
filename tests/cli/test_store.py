"""`solvent store serve`: a server of a store, started, used and ended."""

from __future__ import annotations

import json
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from solvent.store import open_store
from tests.cli.command import arguments, environment, solvent

if TYPE_CHECKING:
    from pathlib import Path


def _started(*words: str | Path) -> subprocess.Popen[str]:
    command = arguments("store", "serve", "--port", "0", *words)
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_server_is_started_used_and_ended(tmp_path: Path, how: signal.Signals) -> None:
    """The first line is the address; a signal ends the server in order, and its folder keeps everything."""
    for content in ([], [b"kept"]):
        with _started("--folder", tmp_path / "store") as process:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            with open_store(url) as store:
                assert not store.is_durable
                assert [record.data for record in store.read("log")] == content
                store.append("log", b"kept")
            process.send_signal(how)
            assert process.wait(200) == 0
            assert process.stderr is not None
            assert process.stderr.read() == ""


def test_what_is_printed_as_json(tmp_path: Path) -> None:
    """One line says the address, the folder, the process and whether it is durable; secrets are not in it."""
    (tmp_path / "secret").write_text("quite secret\n")
    words = ("--folder", tmp_path, "--durable", "--user", "ann", "--password-file", tmp_path / "secret")
    with _started(*words, "--format", "json") as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        said = json.loads(line)
        assert (said["durable"], said["folder"], "quite secret" in line) == (True, str(tmp_path), False)
        with open_store(said["url"].replace("://", "://ann:quite%20secret@")) as store:
            assert store.is_durable
        process.send_signal(signal.SIGINT)
        assert process.wait(200) == 0


def test_a_server_that_dies_is_told(tmp_path: Path) -> None:
    """When the server ends by itself the command says so, with exit code 1."""
    with _started("--folder", tmp_path, "--format", "json") as process:
        assert process.stdout is not None
        pid = json.loads(process.stdout.readline())["pid"]
        subprocess.run(["kill", "-9", str(pid)], check=True)
        assert process.wait(200) == 1
        assert process.stderr is not None
        assert "ended by itself" in process.stderr.read()


def test_a_server_that_was_left_alone_is_named(tmp_path: Path) -> None:
    """Whoever starts a second one in its folder is told which process has it."""
    with _started("--folder", tmp_path, "--format", "json") as process:
        assert process.stdout is not None
        pid = json.loads(process.stdout.readline())["pid"]
        process.kill()
    second = solvent("store", "serve", "--port", "0", "--folder", tmp_path)
    subprocess.run(["kill", str(pid)], check=True)
    assert (second.code, f"process {pid} keeps its data" in second.err, f"kill {pid}" in second.err) == (2, True, True)


@pytest.mark.parametrize(
    "words",
    [
        ("--host", "0.0.0.0"),  # noqa: S104 - it is refused
        ("--host", "no.such.host.invalid", "--token-file", "/dev/null"),
        ("--user", "ann"),
        ("--cert", "x"),
        ("--ca", "x"),
        ("--cert", "x", "--key", "y"),
        ("--cluster-port", "1"),
        ("--token-file", "none"),
        ("--folder", "/dev/null/store"),
    ],
)
def test_options_that_cannot_be(words: tuple[str, ...]) -> None:
    """What does not fit together, or is not there, is an error with a code."""
    result = solvent("store", "serve", *words)
    assert (result.code, result.out) == (2, "")
    assert "error[E401]" in result.err
    assert "Traceback" not in result.err
