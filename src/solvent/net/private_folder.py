"""The folder of a user on this host: in memory where the system has such a place, and closed to all others."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from solvent.errors import DataProblem

MEMORY = Path("/dev/shm")  # noqa: S108 - what is in there is in a folder of the user's own


def default_base() -> Path:
    """Give the folder for all runs of this user on this host."""
    root = MEMORY if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) else Path(tempfile.gettempdir())
    return root / f"solvent-{os.geteuid()}"


def private(path: Path, *, is_base: bool = False) -> None:
    """Make a folder that only its user can enter, and make sure that it is one."""
    try:
        with suppress(FileExistsError):
            path.mkdir(mode=0o700)
        found = path.lstat()
    except FileNotFoundError as error:
        if is_base:
            hint = f"make `{path.parent}` first, or name another folder"
            message = f"the folder `{path}` cannot be made: what it is to be in is not there"
            raise DataProblem("D212", message, hint=hint) from error
        # Somebody sweeps just now.
        return
    except OSError as error:
        hint = "name another folder"
        raise DataProblem("D212", f"the folder `{path}` cannot be made: {error.strerror}", hint=hint) from error
    if not stat.S_ISDIR(found.st_mode):
        raise DataProblem("D212", f"`{path}` is no folder, but a file or a link", hint="name another one")
    if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
        hint = f"make it yours alone (`chmod 700 {path}`), or name another folder"
        raise DataProblem("D212", f"others can enter `{path}`, or it belongs to somebody else", hint=hint)


__all__ = ["MEMORY", "default_base", "private"]
