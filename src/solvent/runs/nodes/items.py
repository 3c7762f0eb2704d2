"""Molecules as a chemist knows them: its own, and those of others that it has heard of."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from solvent.engine.matches import Held
    from solvent.lang.molecule import Molecule
    from solvent.protocols.capture.vocabulary import MoleculeId
    from solvent.protocols.machine import NodeId


class Item:
    """A molecule that a chemist knows of."""

    __slots__ = ("held", "holder", "is_charge", "is_engaged", "molecule", "number", "text")

    def __init__(self, number: MoleculeId | None, holder: NodeId, molecule: Molecule, text: str) -> None:
        self.number = number
        self.holder = holder
        self.molecule = molecule
        self.text = text
        # Whether it is somebody else's and at home here.
        self.is_charge = False
        # Whether it is part of the attempt that is out.
        self.is_engaged = False
        # Where it stands among what may react; None while it is engaged or promised to somebody.
        self.held: Held | None = None


def of_one_holder(items: list[Item]) -> list[Item]:
    """Give those of the holder that has most of them."""
    holder = Counter(item.holder for item in items).most_common(1)[0][0]
    return [item for item in items if item.holder == holder]


__all__ = ["Item", "of_one_holder"]
