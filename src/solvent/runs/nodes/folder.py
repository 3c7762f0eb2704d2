"""The folder of a run: what it takes to go on with it, and where its nodes are.

    run.json         the run: its name, its program, the addresses of its nodes, the secret they share
    program.hocl     the program's text
    node-0/          a node's part and its journal (see `work`)

Runs that nobody has given a folder get one under the system's folder for temporary files, which is removed when they
end well. `solvent top` finds them there.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import msgspec

from solvent.errors import Misuse, NodeProblem
from solvent.hocl.program_file import write_whole
from solvent.values.limits import UNREADABLE

RUN, PROGRAM = "run.json", "program.hocl"


class RunRecord(msgspec.Struct, frozen=True):
    """What is known of a run."""

    run: str
    #: The program's file, as it was given, and its Python functions.
    name: str
    functions: str | None
    addresses: tuple[tuple[str, int], ...]
    #: As hexadecimal digits.
    secret: str
    process: int
    #: Whether its nodes are processes that the launcher starts, and starts again.
    is_local: bool = True
    #: What the solution has in the end besides the molecules of the nodes, as text.
    copies: tuple[str, ...] = ()
    #: Why everything is at one node, if it is.
    why_together: str = ""
    started_at: float = 0.0


def runs_folder() -> Path:
    """Give the folder of runs that nobody has given one."""
    return Path(tempfile.gettempdir()) / f"solvent-{os.getuid()}"


def new_folder(run: str, given: str | None) -> Path:
    """Make the folder of a run."""
    folder = Path(given) if given is not None else runs_folder() / run
    try:
        folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.mkdir(mode=0o700, exist_ok=True)
        if given is None and folder.parent.stat().st_uid != os.getuid():
            raise NodeProblem("N140", f"{folder.parent} belongs to somebody else", hint="give a folder: --state DIR")
        if any(folder.iterdir()):
            hint = f"to go on with the run in it: `solvent run --resume {folder}`"
            raise NodeProblem("N141", f"{folder} is not empty", hint=hint)
    except OSError as error:
        raise NodeProblem("N140", f"cannot make the folder {folder}: {error.strerror or error}") from error
    return folder.resolve()


def save_run(folder: Path, record: RunRecord, text: str | None = None) -> None:
    """Write what is known of a run into its folder."""
    if text is not None:
        write_whole(folder / PROGRAM, text)
    write_whole(folder / RUN, msgspec.json.format(msgspec.json.encode(record)).decode())
    (folder / RUN).chmod(0o600)


def load_run(folder: Path) -> RunRecord:
    """Read what is known of a run."""
    try:
        return msgspec.json.decode((folder / RUN).read_bytes(), type=RunRecord)
    except (OSError, *UNREADABLE) as error:
        raise Misuse("H343", f"{folder} is not the folder of a run", hint="`solvent run --resume DIR`") from error


def node_folder(folder: Path, node: int) -> Path:
    """Give the folder of a node, made if it is not there."""
    found = folder / f"node-{node}"
    found.mkdir(exist_ok=True)
    return found


def known_runs() -> list[Path]:
    """Give the folders of runs that nobody has given one, the latest first."""
    found = [path.parent for path in runs_folder().glob(f"*/{RUN}")]
    return sorted(found, key=lambda path: (path / RUN).stat().st_mtime, reverse=True)


__all__ = [
    "PROGRAM",
    "RUN",
    "RunRecord",
    "known_runs",
    "load_run",
    "new_folder",
    "node_folder",
    "runs_folder",
    "save_run",
]
