"""Following what capture reports: what is at a node, and what of it is free."""

from __future__ import annotations

import pytest
from immutables import Map

from solvent.protocols.capture.vocabulary import (
    Abandoned,
    Arrived,
    AttemptId,
    Gone,
    MoleculeId,
    Reacted,
    Returned,
    RuleId,
    Withheld,
)
from solvent.protocols.nodes.words import followed

FIRST, SECOND = MoleculeId(1), MoleculeId(2)


def test_reports_say_what_is_here_and_free() -> None:
    """The last word on each molecule counts."""
    here: Map[MoleculeId, str] = Map()
    free: dict[MoleculeId, bool] = {}
    steps = [
        (Arrived(FIRST, "a"), {FIRST: "a"}, {FIRST: True}),
        (Withheld(FIRST), {FIRST: "a"}, {FIRST: False}),
        (Returned(FIRST), {FIRST: "a"}, {FIRST: True}),
        (Abandoned(RuleId(0), AttemptId(1)), {FIRST: "a"}, {FIRST: True}),
        (Reacted(RuleId(0), AttemptId(2), (FIRST,), ((SECOND, "b"),)), {SECOND: "b"}, {FIRST: False, SECOND: True}),
        (Gone(SECOND), {}, {FIRST: False, SECOND: False}),
        (Gone(SECOND), {}, {FIRST: False, SECOND: False}),
    ]
    for report, is_here, is_free in steps:
        here = followed(here, free, report)
        assert (dict(here), free) == (is_here, is_free)


def test_only_what_was_here_comes_back() -> None:
    """A capture machine that forgets to report what it has after a crash is at fault."""
    with pytest.raises(AssertionError):
        followed(Map(), {}, Returned(FIRST))
