"""Where runs are recorded: in the store that is named, or in that of the current folder, `.solvent/store.db`.

The variable SOLVENT_STORE names another default (`none`: runs are not recorded).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from solvent.errors import NoStore, RecordProblem, StoreError

if TYPE_CHECKING:
    from solvent.store import Store

FOLDER = ".solvent"
FILE = "store.db"
NOWHERE = "none"
VARIABLE = "SOLVENT_STORE"
StoreAddress: TypeAlias = "str | os.PathLike[str] | bool | None"
"""A store as Python code names it: an address or a file; `True` for the default, nothing or `False` for none."""


def absolute(url: str) -> str:
    """Return the address of a store that is independent of the current folder."""
    return url if "://" in url else os.path.abspath(url)  # noqa: PTH100


def default_file() -> str:
    """Return the file of the current folder's store, which may not exist."""
    return os.path.abspath(os.path.join(FOLDER, FILE))  # noqa: PTH100, PTH118


def made_folder() -> str:
    """Create the folder of records, which version control ignores, and return the file in it."""
    folder = Path(FOLDER)
    if not folder.exists():
        try:
            # Inputs and results of tasks are readable for the user only.
            folder.mkdir(mode=0o700)
            (folder / ".gitignore").write_text("*\n", encoding="ascii")
        except OSError as error:
            said = f"the folder of records cannot be created: {folder.absolute()}: {error.strerror}"
            raise StoreError("E401", said, hint="name another file: --store FILE") from None
    return default_file()


def address_of(store: StoreAddress, *, is_made: bool = True) -> str:
    """Return the address of a store that Python code names, empty for none; create the folder of the default one."""
    if store is None or store is False:
        return ""
    if store is not True:
        return absolute(os.fspath(store))
    given = os.environ.get(VARIABLE, "")
    if given:
        return "" if given == NOWHERE else absolute(given)
    return made_folder() if is_made else default_file()


def open_existing(url: str) -> Store:
    """Open a store; raise `RecordProblem` R401 if there is none."""
    from solvent.store import open_store

    try:
        return open_store(url, is_made=False)
    except NoStore as error:
        raise RecordProblem("R401", f"no runs are recorded here: {error.message}", hint=error.hint) from None


__all__ = [
    "FILE", "FOLDER", "NOWHERE", "VARIABLE", "StoreAddress", "absolute", "address_of", "default_file", "made_folder",
    "open_existing",
]  # fmt: skip
