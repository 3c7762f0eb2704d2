"""Making the memory of a resource in the folder of its run, and opening what others have made.

Whoever makes or removes something has the folder to itself. The card is written last and removed first in effect, by
what it says, so a process that is killed in the middle leaves something that nobody takes for a resource, and that the
next one that makes it clears away.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from solvent.errors import DataProblem
from solvent.handover.data.card import Card, Sheet
from solvent.handover.data.extents import whole
from solvent.handover.data.memory import Memory
from solvent.handover.data.region import Region

if TYPE_CHECKING:
    from collections.abc import Iterator


def make(folder: Path, stem: str, sheet: Sheet, *, size: int | None) -> None:
    """Make the files of a resource; without a size, it is as long as the user's file."""
    try:
        _make(folder, stem, sheet, size=size)
    except OSError as error:
        if not sheet.path:
            raise
        # Not all that has a path can be mapped, or be given a length.
        raise DataProblem("D213", f"the file `{sheet.path}` cannot be used: {error.strerror or error}") from error


def _make(folder: Path, stem: str, sheet: Sheet, *, size: int | None) -> None:
    for left in folder.glob(f"{stem}[.-]*"):
        left.unlink()
    own = folder / f"{stem}.data"
    path = Path(sheet.path) if sheet.path else own
    is_new = not sheet.path or (size is not None and not path.exists())
    memory = Memory(path, is_own=not sheet.path, is_new=is_new)
    try:
        if size is None:
            size = memory.length()
        elif sheet.path:
            memory.resize(memory.length(), size)
        else:
            memory.reserve(size)
        card = Card(folder / f"{stem}.card", is_new=True)
        card.begin(replace(sheet, size=size, extents=whole(size, sheet.extents[0].version, 0)))
        card.close()
    except BaseException:
        own.unlink(missing_ok=True)
        raise
    finally:
        memory.close()


def opened(folder: Path, stem: str) -> Region | None:
    """Open what is there; none if nothing is, or if it was never finished or is being removed."""
    try:
        card = Card(folder / f"{stem}.card")
    except FileNotFoundError:
        return None
    except DataProblem:
        return None
    try:
        if not card.is_finished() or card.sheet().is_removed:
            card.close()
            return None
        return Region(card, folder=folder, stem=stem)
    except FileNotFoundError:
        card.close()
        return None
    except BaseException:
        card.close()
        raise


def names_in(folder: Path) -> list[str]:
    """Give the names of the resources that are there."""
    return sorted(sheet.resource for sheet in _sheets(folder))


def owner_of(folder: Path, path: str) -> str | None:
    """Give the name of the resource whose data is in a file of the user's; none if there is none."""
    return next((one.resource for one in _sheets(folder) if one.path and _is_same(one.path, path)), None)


def _sheets(folder: Path) -> Iterator[Sheet]:
    """Read the cards of all that is there, one after the other."""
    for path in folder.glob("*.card"):
        with suppress(FileNotFoundError, DataProblem):
            card = Card(path)
            try:
                sheet = card.sheet() if card.is_finished() else None
            finally:
                card.close()
            if sheet is not None and not sheet.is_removed:
                yield sheet


def _is_same(one: str, other: str) -> bool:
    try:
        return Path(one).samefile(other)
    except OSError:
        return Path(one).resolve() == Path(other).resolve()


__all__ = ["make", "names_in", "opened", "owner_of"]
