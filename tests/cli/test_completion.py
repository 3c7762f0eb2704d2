"""`solvent completion`: scripts that complete words, tried in real shells."""

from __future__ import annotations

import shutil
import subprocess
import sys
from shlex import join, quote
from typing import TYPE_CHECKING

import pytest

from solvent.cli.completing import what_follows
from solvent.cli.main import COMMANDS
from solvent.store import open_store
from tests.cli.command import environment, solvent

if TYPE_CHECKING:
    from pathlib import Path

SHELLS = ("bash", "zsh", "fish")
_MAX_SECONDS = 200
_IN_ZSH = """
compdef() { : }
compadd() { shift; print -rl -- "$@" }
_files() { print -l -- * }
_describe() { print -rl -- ${(P)2%%:*} }
compset() { : }
"""
"""What zsh's own functions for completion would be given, printed."""


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with the scripts of all shells, and a `solvent` that they can ask."""
    folder = tmp_path_factory.mktemp("scripts")
    for shell in SHELLS:
        result = solvent("completion", shell)
        assert (result.code, result.err) == (0, "")
        (folder / shell).write_text(result.out)
    (folder / "solvent").write_text(f'#!/bin/sh\nexec {quote(sys.executable)} -m solvent "$@"\n')
    (folder / "solvent").chmod(0o755)
    return folder


def _run(shell: str, script: str, cwd: Path, store: str) -> list[str]:
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"there is no {shell} here: its completion is not tried")
    plain = {"bash": ["--norc", "--noprofile"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    done = subprocess.run(
        [path, *plain, "-c", script],
        cwd=cwd,
        env={**environment(), "SOLVENT_STORE": store},
        capture_output=True,
        text=True,
        timeout=_MAX_SECONDS,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def offered(shell: str, scripts: Path, *words: str, cwd: Path | None = None, store: str = "none") -> list[str]:
    """Give what a shell offers for the last of the words behind `solvent`."""
    line = [str(scripts / "solvent"), *words]
    load = f"source {quote(str(scripts / shell))}\n"
    if shell == "bash":
        state = f"COMP_WORDS=({join(line)}); COMP_CWORD={len(words)}; COMP_LINE={quote(' '.join(line))}\n"
        show = '_solvent; ((${#COMPREPLY[@]})) && printf "%s\\n" "${COMPREPLY[@]}"; true'
        return _run(shell, load + state + show, cwd or scripts, store)
    if shell == "zsh":
        state = f"words=({join(line)}); CURRENT={len(line)}\n"
        found = _run(shell, _IN_ZSH + load + state + "_solvent; true", cwd or scripts, store)
        return [one for one in found if one.startswith(words[-1].rpartition("=")[2])]
    typed = " ".join(["solvent", *words])
    path = f"set -x PATH {quote(str(scripts))} $PATH\n"
    found = _run(shell, path + load + f"complete -C {quote(typed)}", cwd or scripts, store)
    return [one.split("\t")[0] for one in found]


@pytest.mark.parametrize("shell", SHELLS)
def test_commands_are_completed(shell: str, scripts: Path) -> None:
    """The first word is a command."""
    assert sorted(offered(shell, scripts, "re")) == sorted(one for one in COMMANDS if one.startswith("re"))


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    "words,found",
    [
        (("agents", "u"), ["up"]),
        (("agents", "up", "--wa"), ["--wait"]),
        (("run", "--attac"), ["--attach"]),
        (("status", "--format", "j"), ["json"]),
        (("completion", "z"), ["zsh"]),
    ],
)
def test_words_options_and_values_are_completed(
    shell: str, scripts: Path, words: tuple[str, ...], found: list[str]
) -> None:
    """First words, options also of a command's variants, and values that an option may have are offered."""
    assert offered(shell, scripts, *words) == found


def test_bash_splits_at_the_equals_sign(scripts: Path) -> None:
    """A value behind `=` is completed, too, although bash takes the sign for a word."""
    assert offered("bash", scripts, "status", "--format", "=", "t") == ["text"]
    assert offered("bash", scripts, "status", "--format", "=") == ["text", "json"]


def test_values_that_nobody_knows_are_left_alone(scripts: Path) -> None:
    """Behind an option that takes a number neither files nor words are offered."""
    assert offered("bash", scripts, "run", "--seed", "") == []


@pytest.mark.parametrize("shell", SHELLS)
def test_files_are_completed(shell: str, scripts: Path, tmp_path: Path) -> None:
    """Where a file is meant, files are offered, also such with a blank in their names."""
    (tmp_path / "max 1.hocl").touch()
    (found,) = offered(shell, scripts, "run", "ma", cwd=tmp_path)
    assert found.replace("\\", "") == "max 1.hocl"


@pytest.mark.parametrize("command", ["status", "logs", "cancel", "resume", "replay", "timeline"])
def test_runs_are_completed(command: str, scripts: Path, tmp_path: Path) -> None:
    """Where a run is meant, those of the store are offered, of one process and of agents."""
    with open_store(str(tmp_path / "store.db")) as store:
        for key in ("runs/pipe-1", "runs/pipe-2/plan", "runs/other", "runs/other/cancel"):
            store.put(key, b"")
    assert offered("bash", scripts, command, "pi", store=str(tmp_path / "store.db")) == ["pipe-1", "pipe-2"]
    assert offered("bash", scripts, command, "--store", str(tmp_path / "store.db"), "o") == ["other"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_ask_for_runs(shell: str, scripts: Path, tmp_path: Path) -> None:
    """The names of runs are asked for in each shell."""
    with open_store(str(tmp_path / "store.db")) as store:
        store.put("runs/pipe-1", b"")
    assert offered(shell, scripts, "logs", "pi", store=str(tmp_path / "store.db")) == ["pipe-1"]


@pytest.mark.parametrize("url", ["none", "/none/store.db", "nats://127.0.0.1:1", "http://nowhere.invalid"])
def test_who_types_is_not_disturbed(url: str) -> None:
    """A store that is not there, or cannot be, has no runs; nothing is said about it, and nothing is made."""
    result = solvent("completion", "--runs", "--store", url)
    assert (result.code, result.out, result.err) == (0, "", "")


def test_real_names_of_runs(tmp_path: Path) -> None:
    """A run that was recorded is listed by its name."""
    (tmp_path / "one.yaml").write_text("services: {say: {shell: echo hello}}\ntasks: {greet: {service: say}}\n")
    words = ("--store", tmp_path / "store.db")
    assert solvent("run", tmp_path / "one.yaml", "--name", "greeting", *words).code == 0
    assert solvent("completion", "--runs", *words).out == "greeting\n"


def test_every_command_has_an_entry() -> None:
    """What may follow is known of all commands, and of the words behind which other options follow."""
    found = what_follows()
    assert set(COMMANDS) <= set(found)
    assert {"agents up", "store serve"} <= set(found)
    assert all("--help" in one.options for one in found.values())


def test_another_shell_is_refused() -> None:
    """A shell that is not known is wrong usage."""
    assert solvent("completion", "tcsh").code == 2
