"""Console blocks of the documentation: what was typed, what must come out, and a shell to try it in.

A line that starts with `$ ` is a command (a backslash at its end continues it on the next line); the lines up
to the next command are its output, standard error included. A line `...` alone stands for any lines.
Durations differ from run to run, so they are made equal before comparing.

The commands of one block run in one shell, so that `$ echo $?` and variables mean what they say; each block
starts in a fresh copy of those of the project's documents and examples that it names, so that nothing it writes lasts.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from tests.repo.project import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

_MAX_SECONDS = 200
_MARK = "==== end of command ===="
_COPIED = ("examples", "docs", "bench", "README.md")

# These set a project up or take minutes; the build itself shows that they work.
_NOT_RUN = re.compile(r"make\b|git clone\b|cd \S+$|(source|\.) \S+$|\S*pip3? install\b|\S*python3? -m (pip|venv)\b")

_NUMBER = r"\d+(?:\.\d+)?(?:e[-+]?\d+)?"
# With what pads it: a column is as wide for 9.99 s as for 10.01 s.
_DURATION = re.compile(rf" *(?<![\w.]){_NUMBER} ?(?:[mµun]?s|seconds?|minutes?)\b")
_DURATION_FIELD = re.compile(rf'("seconds": ?){_NUMBER}')
# The column `seconds` of what `solvent lab check PROTOCOL` prints.
_DURATION_COLUMN = re.compile(r" +\d+\.\d\d(?=  (?:holds|caught|violated|missed|limit reached)\b)")


@dataclass(frozen=True)
class Exchange:
    """One command and the output that the page shows for it."""

    command: str
    expected: tuple[str, ...]

    @property
    def is_run(self) -> bool:
        """Say whether the command is tried, and not only shown."""
        return _NOT_RUN.match(self.command) is None


def exchanges_of(text: str) -> list[Exchange]:
    """Split a console block into its exchanges; output before the first command is an error."""
    commands: list[str] = []
    outputs: list[list[str]] = []
    continues = False
    for line in text.splitlines():
        if continues:
            commands[-1] += "\n" + line
        elif line.startswith("$ "):
            commands.append(line.removeprefix("$ "))
            outputs.append([])
        elif commands:
            outputs[-1].append(line)
            continue
        else:
            raise ValueError(f"output without a command: {line!r}")
        continues = commands[-1].endswith("\\")
    return [Exchange(command, _trimmed(output)) for command, output in zip(commands, outputs, strict=True)]


def is_as_expected(expected: Iterable[str], seen: Iterable[str]) -> bool:
    """Compare output with what the page shows: `...` stands for any lines, durations are all the same."""
    wanted = "".join(
        r"(?:.*\n)*?" if line.strip() == "..." else re.escape(without_durations(line)) + r"\n" for line in expected
    )
    return re.fullmatch(wanted, "".join(without_durations(line) + "\n" for line in seen)) is not None


def without_durations(line: str) -> str:
    """Replace every duration by the same word, and what pads it."""
    line = _DURATION_COLUMN.sub(" DURATION", _DURATION_FIELD.sub(r"\1DURATION", line))
    return _DURATION.sub(" DURATION", line).rstrip()


def prepare_folder(folder: Path, files: Mapping[str, str], *, text: str) -> None:
    """Copy what a text names into a folder; add a page's own files, and this environment as `.venv`."""
    texts = "\n".join([text, *files.values()])
    for name in _COPIED:
        if name not in texts:
            continue
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif (ROOT / name).exists():
            shutil.copy(ROOT / name, folder / name)
    write_files(folder, files)
    (folder / ".venv").symlink_to(sys.prefix, target_is_directory=True)


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write a page's own files."""
    for name, written in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(written, encoding="utf-8")


def run_commands(commands: Sequence[str], folder: Path, *, programs: Path | None = None) -> list[tuple[str, ...]]:
    """Run commands in one shell and give the lines that each has printed; `programs` are another environment's."""
    # The status is put back after the mark, so that the next command still sees it.
    script = "".join(f"{command}\nstatus=$?; printf '\\n%s\\n' '{_MARK}'; (exit $status)\n" for command in commands)
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=_environment(folder, programs),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=_MAX_SECONDS,
        check=False,
        encoding="utf-8",
    )
    *outputs, rest = done.stdout.split(f"\n{_MARK}\n")
    if len(outputs) != len(commands):
        raise ValueError(f"the shell stopped at `{commands[len(outputs)]}`: {rest}")
    return [_trimmed(output.splitlines()) for output in outputs]


def _environment(folder: Path, programs: Path | None) -> dict[str, str]:
    """Build a plain environment: no colours, a fixed width, our commands first, and a home of its own."""
    ours = os.path.dirname(sys.executable)  # noqa: PTH120
    path = os.pathsep.join([str(programs or ours), os.environ.get("PATH", os.defpath)])
    # Sources that this process was told of are no part of another environment, in which nothing was compiled before.
    left_out = set() if programs is None else {"PYTHONPATH", "PYTHONDONTWRITEBYTECODE"}
    taken = {name: value for name, value in os.environ.items() if name not in left_out}
    return taken | {
        "COLUMNS": "100",
        "HOME": str(folder),
        "LC_ALL": "C.UTF-8",
        "MPLCONFIGDIR": _fonts(),
        "NO_COLOR": "1",
        "PATH": path,
        "PYTHONUTF8": "1",
        "TERM": "dumb",
    }


@cache
def _fonts() -> str:
    """Give a folder with the list of fonts, which else each home would make anew for its first picture, saying so."""
    folder = ROOT / "build" / "fonts"
    if not any(folder.glob("fontlist*")):
        folder.mkdir(parents=True, exist_ok=True)
        listed = [sys.executable, "-c", "import matplotlib.font_manager"]
        # Without the library nothing is drawn by it either.
        subprocess.run(listed, env={**os.environ, "MPLCONFIGDIR": str(folder)}, stderr=subprocess.DEVNULL, check=False)
    return str(folder)


def _trimmed(lines: Sequence[str]) -> tuple[str, ...]:
    """Drop what a page cannot show: spaces at the end of a line and empty lines at the end."""
    return tuple("\n".join(line.rstrip() for line in lines).rstrip("\n").splitlines())
