"""What is left of a node's molecules after a crash, from the records it saved."""

from __future__ import annotations

from typing import Any, assert_never

from immutables import Map

from solvent.protocols.capture.moving_state import (
    Closed,
    Gave,
    Got,
    Kept,
    MovingConfig,
    MovingRecord,
    MovingState,
)


def compacted(config: MovingConfig, saved: tuple[Any, ...]) -> tuple[Any, ...]:
    """Give the fewest records that say the same."""
    state = recovered(config, saved)
    began = dict(config.molecules)
    given = {molecule for _, items in state.gifts.values() for molecule, _ in items}
    removed = tuple(sorted(item for item in began if item not in state.molecules and item not in given))
    # What was given may have come back before the gift was confirmed, so gifts are told first.
    added = tuple(
        sorted((item, value) for item, value in state.molecules.items() if item not in began or item in given)
    )
    return (
        *(Gave(gift, to, items) for gift, (to, items) in sorted(state.gifts.items())),
        *(Got(giver, gift, ()) for giver, gift in sorted(state.got)),
        *([Kept(removed, added, state.reactions)] if removed or added or state.reactions else []),
    )


def recovered(config: MovingConfig, saved: tuple[Any, ...]) -> MovingState:
    """Replay the records over the molecules the node began with."""
    molecules = dict(config.molecules)
    gifts: dict[int, Any] = {}
    got: dict[Any, None] = {}
    reactions = 0
    records: tuple[MovingRecord, ...] = saved
    for record in records:
        match record:
            case Kept(removed, added, reactions):
                for molecule in removed:
                    molecules.pop(molecule, None)
                molecules.update(added)
            case Gave(gift, to, items):
                gifts[gift] = (to, items)
                for molecule, _ in items:
                    molecules.pop(molecule, None)
            case Got(giver, gift, items):
                got[giver, gift] = None
                molecules.update(items)
            case Closed(gift):
                gifts.pop(gift, None)
            case _:
                assert_never(record)
    return MovingState(molecules=Map(molecules), gifts=Map(gifts), got=Map(got), reactions=reactions)
