"""ELMP as it must not be where data is fetched: one known fault each, for the checker to find."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from solvent.protocols.elmp.process import Process

if TYPE_CHECKING:
    from solvent.protocols.elmp.vocabulary import Fetched


class MergesFirst(Process):
    """Who is entrusted with the data has made a new version of all parts; it counts if the token is still there."""

    def on_fetched(self, fetched: Fetched) -> None:
        """Name that version, as long as it is not too late."""
        super().on_fetched(fetched)
        for place in self.places:
            data = place.data
            if data is not None and data.parts:
                self.put(replace(place, data=replace(data, version=data.version + 1, parts=())))


class TakesAnyWord(Process):
    """Whatever was fetched of this version, it counts for whichever claim holds now."""

    def on_fetched(self, fetched: Fetched) -> None:
        """Do not ask for which claim it was."""
        held = [use.number for use in self.uses if use.is_held and use.claim.is_plain]
        super().on_fetched(replace(fetched, use=held[0] if held else 0))


__all__ = ["MergesFirst", "TakesAnyWord"]
