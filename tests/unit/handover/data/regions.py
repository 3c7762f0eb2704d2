"""Regions for tests: one memory, opened as two processes would."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.handover.data.card import Sheet, whole
from solvent.handover.data.region import make, opened

if TYPE_CHECKING:
    from pathlib import Path

    from solvent.handover.data import Region


def made(folder: Path, size: int | None, *, path: Path | None = None, keep_last: bool = False) -> Region:
    """Make the memory of `matrix`, as version 0."""
    sheet = Sheet(
        "matrix", 1, size or 0, whole(size or 0, 0, 0), keep_last=keep_last, path="" if path is None else str(path)
    )
    make(folder, "m", sheet, size=size)
    return attached(folder)


def attached(folder: Path) -> Region:
    """Open it once more."""
    region = opened(folder, "m")
    assert region is not None
    return region


def die(region: Region) -> None:
    """Do to the memory what a kill does: all locks are gone, and nothing else has happened."""
    region._card.close()
