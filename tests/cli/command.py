"""The real command, as a process of its own, for the tests of the command line.

Most run it by `solvent`, which forks it from a process that has imported everything; `started` starts Python anew.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any

from tests.cli.forking import ROOT, run_forked

if TYPE_CHECKING:
    from collections.abc import Sequence

EXAMPLES = ROOT / "examples" / "hocl"
MAX_SECONDS = 200
MAX = "let max = replace x, y by x if x >= y in\n<2, 3, 5, 8, 9, max>\n"
FOREVER = "let grow = replace COUNT : n by COUNT : n + 1 in\n<COUNT : 0, grow>\n"


def environment() -> dict[str, str]:
    """Give the surroundings of a command: its sources, no terminal, and no record of what it runs."""
    known = {"PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1", "COLUMNS": "100", "SOLVENT_STORE": "none"}
    return {**os.environ, **known}


def arguments(*words: str | Path) -> list[str]:
    """Give the words that start the command."""
    return [sys.executable, "-m", "solvent", *map(str, words)]


def worked(process: int) -> float:
    """Give for how many seconds a processor has worked for a process: on a busy machine it is not how long it ran."""
    return _worked(Path(f"/proc/{process}/stat").read_text(encoding="utf-8"))[1]


def children_worked(process: int) -> float:
    """Give the same of all processes that it has started."""
    found = 0.0
    for one in Path("/proc").glob("[0-9]*/stat"):
        # Some end while they are looked at.
        with suppress(OSError):
            parent, seconds = _worked(one.read_text(encoding="utf-8"))
            found += seconds * (parent == process)
    return found


def _worked(stat: str) -> tuple[int, float]:
    about = stat.rpartition(")")[2].split()
    return int(about[1]), int(about[11]) / os.sysconf("SC_CLK_TCK")


class Result:
    """What a command printed, and its exit code."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err

    @property
    def json(self) -> Any:
        """What it printed, read as JSON."""
        return json.loads(self.out)


def solvent(
    *words: str | Path, typed: str | bytes = "", cwd: Path | None = None, more: dict[str, str] | None = None
) -> Result:
    """Run the command to its end, with more in its environment; whatever happens, it never shows a traceback."""
    with TemporaryFile() as given, TemporaryFile() as out, TemporaryFile() as err:
        given.write(typed.encode() if isinstance(typed, str) else typed)
        given.seek(0)
        files = (given, out, err)
        how: dict[str, Any] = {"cwd": cwd, "environment": {**environment(), **(more or {})}, "max_seconds": MAX_SECONDS}
        code = run_forked(list(map(str, words)), files, **how)
        result = Result(code, *(_written(file) for file in (out, err)))
    assert "Traceback" not in result.err
    return result


def started(*words: str | Path, options: Sequence[str] = ()) -> Result:
    """Start Python and the command in it, as a user does."""
    python, *rest = arguments(*words)
    done = subprocess.run(
        [python, *options, *rest],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=environment(),
        timeout=MAX_SECONDS,
        check=False,
    )
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


def _written(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


def example(name: str) -> Path:
    """Give the path of an example program."""
    return EXAMPLES / name / f"{name}.hocl"
