"""Turns the program's words about molecules into capture's and back, and follows which molecules are at this node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from solvent.protocols.capture.vocabulary import (
    Arrived,
    Combination,
    Gone,
    MoleculeId,
    Products,
    React,
    Reacted,
    Rewrite,
)
from solvent.protocols.nodes.offers import packed, unpacked

if TYPE_CHECKING:
    from solvent.protocols.maps import Map


def for_capture(word: Any) -> Any:
    """Pack the offers in a request or an answer of the program."""
    match word:
        case Rewrite(_, added):
            return replace(word, added=tuple(map(packed, added)))
        case Products(values):
            return Products(tuple(map(packed, values)))
        case Combination(_, _, values) if values:
            return replace(word, values=tuple(map(packed, values)))
        case _:
            return word


def for_program(word: Any) -> Any:
    """Unpack the offers in a question or a report of capture."""
    match word:
        case React(_, molecules):
            return replace(word, molecules=_unpacked_all(molecules))
        case Reacted(_, _, _, produced) if produced:
            return replace(word, produced=_unpacked_all(produced))
        case Arrived(_, text):
            return replace(word, value=unpacked(text))
        case _:
            return word


def _unpacked_all(molecules: tuple[tuple[MoleculeId, str], ...]) -> tuple[tuple[MoleculeId, Any], ...]:
    return tuple((molecule, unpacked(text)) for molecule, text in molecules)


def followed(here: Map[MoleculeId, str], free: dict[MoleculeId, bool], report: Any) -> Map[MoleculeId, str]:
    """Follow a report of capture: give what is here after it, and note in `free` what came free or is so no longer."""
    match report:
        case Arrived(molecule, text):
            free[molecule] = True
            return here.set(molecule, text)
        case Reacted(_, _, consumed, produced):
            for molecule in consumed:
                here = _left(here, free, molecule)
            for molecule, text in produced:
                free[molecule] = True
                here = here.set(molecule, text)
            return here
        case Gone(molecule):
            return _left(here, free, molecule)
        case _:
            return here


def _left(here: Map[MoleculeId, str], free: dict[MoleculeId, bool], molecule: MoleculeId) -> Map[MoleculeId, str]:
    free[molecule] = False
    # What came for an attempt that succeeded was never free here.
    return here.delete(molecule) if molecule in here else here


__all__ = ["followed", "for_capture", "for_program"]
