"""What is left of a node's molecules after a crash, from the records it saved."""

from __future__ import annotations

from typing import Any, assert_never

from msgspec.structs import replace

from solvent.protocols.maps import Map
from solvent_lab.papers.capture.messages import CaptureRecord, Consumed, Freed, Lent, Removed, Rewritten
from solvent_lab.papers.capture.state import CaptureConfig, CaptureState, Hold, Holding
from solvent_lab.papers.capture.success import beginning


def compacted(config: CaptureConfig, saved: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the fewest records that say the same."""
    state = recovered(config, saved)
    began = dict(config.molecules)
    removed = tuple(sorted(molecule for molecule in began if molecule not in state.molecules))
    added = tuple(
        sorted((molecule, holding.value) for molecule, holding in state.molecules.items() if molecule not in began)
    )
    loans = sorted((molecule, holding.hold) for molecule, holding in state.molecules.items() if holding.hold)
    return (
        *([Rewritten(removed, added, state.reactions)] if removed or added or state.reactions else []),
        *(Consumed(attempt, (), (), state.reactions) for attempt in sorted(state.reacted)),
        *(Lent(molecule, hold.requester, hold.attempt) for molecule, hold in loans),
    )


def recovered(config: CaptureConfig, saved: tuple[Any, ...]) -> CaptureState:
    """Replay the records over the molecules the node began with; promises are forgotten, loans are not."""
    molecules = {molecule: Holding(value) for molecule, value in config.molecules}
    reacted: dict[Any, None] = {}
    reactions = 0
    records: tuple[CaptureRecord, ...] = saved
    for record in records:
        match record:
            case Lent(molecule, requester, attempt):
                molecules[molecule] = replace(molecules[molecule], hold=Hold(requester, attempt, True))
            case Freed(molecule):
                molecules[molecule] = replace(molecules[molecule], hold=None)
            case Removed(molecule):
                molecules.pop(molecule, None)
            case Consumed(attempt, _, added, reactions):
                reacted[attempt] = None
                molecules.update((molecule, Holding(value)) for molecule, value in added)
            case Rewritten(removed, added, reactions):
                for molecule in removed:
                    molecules.pop(molecule, None)
                molecules.update((molecule, Holding(value)) for molecule, value in added)
            case _:
                assert_never(record)
    return CaptureState(
        molecules=Map(molecules),
        success=beginning(config),
        rule=config.rule,
        mode="pessimistic" if config.protocol == "pessimistic" else "optimistic",
        reactions=reactions,
        reacted=Map(reacted),
    )
