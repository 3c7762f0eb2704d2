"""Where a node keeps its part of a program and its journal: in a folder of its machine, or in a store.

The molecules that a node begins with are in its part until they are in the journal; from then on only the journal
counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from solvent.errors import Misuse
from solvent.hocl.program_file import write_whole
from solvent.net import Journal
from solvent.runs.nodes.control import Part
from solvent.values.limits import UNREADABLE

if TYPE_CHECKING:
    from pathlib import Path

    from solvent.net.journal import Keeps

PART, JOURNAL = "part.json", "journal"


class Keeping(Protocol):
    """What a node asks of where it keeps things."""

    def journal(self, record_type: Any) -> Keeps:
        """Give the journal, not open yet."""

    def save(self, part: Part) -> None:
        """Keep the part instead of the one before."""


class InFolder:
    """A folder for a node."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def journal(self, record_type: Any) -> Journal:
        """Give the journal, not open yet."""
        return Journal(self._folder / JOURNAL, record_type)

    def save(self, part: Part) -> None:
        """Keep the part instead of the one before."""
        save_part(self._folder, part)


def save_part(folder: Path, part: Part) -> None:
    """Write a node's part into its folder."""
    write_whole(folder / PART, msgspec.json.encode(part).decode())


def load_part(folder: Path) -> Part | None:
    """Read a node's part, if there is one."""
    try:
        return msgspec.json.decode((folder / PART).read_bytes(), type=Part)
    except FileNotFoundError:
        return None
    except UNREADABLE as error:
        raise Misuse("H343", f"{folder / PART} is damaged: {error}", hint="start the program anew") from None


def forget(folder: Path) -> None:
    """Remove what a node has kept of a run that is over."""
    for name in (PART, JOURNAL):
        (folder / name).unlink(missing_ok=True)


__all__ = ["JOURNAL", "PART", "InFolder", "Keeping", "forget", "load_part", "save_part"]
