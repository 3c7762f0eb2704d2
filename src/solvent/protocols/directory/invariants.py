"""What must be true of the whole directory when all is at rest: it shows what there is, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.protocols.directory.keys import rank

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from solvent.protocols.capture.vocabulary import Place
    from solvent.protocols.directory.directory import DirectoryState
    from solvent.protocols.directory.messages import Entry, Watch


def slots_list_what_there_is(states: Sequence[DirectoryState], entries: Collection[Entry]) -> str | None:
    """Say which entries are missing, or listed although there is no such molecule; for a directory at rest."""
    listed = sorted(place for state in states for place in state.slot.listed)
    true = sorted(entry.place for entry in entries)
    return None if listed == true else f"listed are {listed}, and there are {true}"


def a_view_shows_what_there_is(watch: Watch, view: Collection[Place], entries: Collection[Entry]) -> str | None:
    """Say how a watcher's view differs from the truth; for a directory at rest."""
    true = {one.place for one in entries if one.shape == watch.shape and rank(one.order) in watch.bounds}
    return None if set(view) == true else f"seen are {sorted(view)}, and there are {sorted(true)}"


__all__ = ["a_view_shows_what_there_is", "slots_list_what_there_is"]
