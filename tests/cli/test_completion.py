"""`solvent completion`: scripts that complete words, tried in real shells."""

from __future__ import annotations

import shutil
import subprocess
import sys
from shlex import join, quote
from typing import TYPE_CHECKING

import pytest

from solvent.cli.main import COMMANDS
from solvent.store import open_store
from tests.cli.command import environment, solvent

if TYPE_CHECKING:
    from pathlib import Path

_MAX_SECONDS = 200
_OPTIONS = {"bash": ["--norc", "--noprofile"], "zsh": ["-f"], "fish": ["--no-config"]}


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the scripts of all shells, and a `solvent` that they can call."""
    folder = tmp_path_factory.mktemp("scripts")
    for shell in _OPTIONS:
        result = solvent("completion", shell)
        assert (result.code, result.err) == (0, "")
        (folder / shell).write_text(result.out)
    (folder / "solvent").write_text(f'#!/bin/sh\nexec {quote(sys.executable)} -m solvent "$@"\n')
    (folder / "solvent").chmod(0o755)
    return folder


def _run(shell: str, script: str, folder: Path, cwd: Path, store: str = "none") -> list[str]:
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"there is no {shell} here: its completion is not tried")
    known = environment()
    done = subprocess.run(
        [path, *_OPTIONS[shell], "-c", f"source {quote(str(folder / shell))}\n{script}"],
        cwd=cwd,
        env={**known, "SOLVENT_STORE": store, "PATH": f"{folder}:{known['PATH']}"},
        capture_output=True,
        text=True,
        timeout=_MAX_SECONDS,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def _in_bash(scripts: Path, *words: str, cwd: Path | None = None, store: str = "none") -> list[str]:
    """Return what bash offers for the last of the words behind `solvent`."""
    state = f"COMP_WORDS=({join(['solvent', *words])}); COMP_CWORD={len(words)}\n"
    show = '_shtab_solvent; ((${#COMPREPLY[@]})) && printf "%s\\n" "${COMPREPLY[@]}"; true'
    return _run("bash", state + show, scripts, cwd or scripts, store)


@pytest.mark.parametrize(
    "words,found",
    [
        (("re",), ["replay", "resume", "repl"]),
        (("agents", "u"), ["up"]),
        (("agents", "up", "--wa"), ["--wait"]),
        (("run", "--attac"), ["--attach"]),
        (("status", "--format", "j"), ["json"]),
        (("completion", "z"), ["zsh"]),
        (("run", "--seed", ""), []),
    ],
)
def test_words_options_and_values_are_completed(scripts: Path, words: tuple[str, ...], found: list[str]) -> None:
    """Commands, their words, options and the values of an option are offered; for a number nothing is."""
    assert _in_bash(scripts, *words) == found


def test_files_are_completed(scripts: Path, tmp_path: Path) -> None:
    """Where a file is meant, files are offered, also such with a blank in their names."""
    (tmp_path / "max 1.hocl").touch()
    assert _in_bash(scripts, "run", "ma", cwd=tmp_path) == ["max 1.hocl"]


@pytest.mark.parametrize("command", ["status", "logs", "cancel", "resume", "replay", "timeline"])
def test_runs_are_completed(command: str, scripts: Path, tmp_path: Path) -> None:
    """Where a run is meant, those of the store are offered, of one process and of agents."""
    with open_store(str(tmp_path / "store.db")) as store:
        for key in ("runs/pipe-1", "runs/pipe-2", "runs/pipe-2/lease/0", "runs/other", "runs/other/cancel"):
            store.put(key, b"")
    assert _in_bash(scripts, command, "pi", store=str(tmp_path / "store.db")) == ["pipe-1", "pipe-2"]


def test_fish_completes(scripts: Path) -> None:
    """The script of fish offers commands."""
    found = _run("fish", "complete -C 'solvent re'", scripts, scripts)
    assert {one.split("\t")[0] for one in found} == {one for one in COMMANDS if one.startswith("re")}


def test_zsh_reads_its_script(scripts: Path) -> None:
    """The script of zsh can be loaded."""
    assert _run("zsh", "true", scripts, scripts) == []


@pytest.mark.parametrize("url", ["none", "/none/store.db", "nats://127.0.0.1:1", "http://nowhere.invalid"])
def test_typing_is_not_disturbed(url: str) -> None:
    """A store that cannot be opened has no runs; no error is shown, and nothing is created."""
    result = solvent("completion", "--runs", "--store", url)
    assert (result.code, result.out, result.err) == (0, "", "")


@pytest.mark.parametrize("words", [(), ("tcsh",)])
def test_another_shell_is_refused(words: tuple[str, ...]) -> None:
    """An unknown shell, or none, is wrong usage."""
    assert solvent("completion", *words).code == 2
