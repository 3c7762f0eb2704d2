"""Following what capture reports: what is at a node, and what of it is free."""

from __future__ import annotations

import pytest
from immutables import Map

from solvent.protocols.capture.vocabulary import (
    MoleculeId,
    Returned,
)
from solvent.protocols.nodes.words import followed

FIRST, SECOND = MoleculeId(1), MoleculeId(2)


def test_only_what_was_here_comes_back() -> None:
    """A capture machine that forgets to report what it has after a crash is at fault."""
    with pytest.raises(AssertionError):
        followed(Map(), {}, Returned(FIRST))
