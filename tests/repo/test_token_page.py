"""What the page about token passing says of models and variants is so."""

from __future__ import annotations

import re

import pytest

from solvent.protocols.machine import NodeId
from solvent.protocols.token import TokenConfig
from solvent_lab.broken.token import BROKEN
from tests.model import pinned
from tests.repo.project import ROOT

CAUGHT = pinned.CAUGHT["token"]
PAGE = " ".join((ROOT / "docs" / "explanation" / "token.md").read_text(encoding="utf-8").split())


@pytest.mark.parametrize("name", BROKEN)
def test_the_page_says_how_a_broken_model_is_caught(name: str) -> None:
    """Each broken model is on the page, with what the checker says of it."""
    assert f"`{name}`: {CAUGHT[name]}" in PAGE


def test_the_page_names_every_setting() -> None:
    """All variants that can be chosen stand in the table, under the names they have."""
    chosen = set(TokenConfig.__struct_fields__) - {"node", "size", "crowd", "is_instant"}
    assert chosen == {match for match in re.findall(r"`(\w+)=", PAGE) if hasattr(TokenConfig(NodeId(0), 2), match)}
