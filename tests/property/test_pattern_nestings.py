"""Random nestings of patterns run as they mean: so often, in that order, with those results.

A failure says how to replay it: `NESTING_SEEDS=17 .venv/bin/python -m pytest tests/property -k nesting`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given, note, settings
from hypothesis import strategies as st

from solvent.workflow.checks import check
from solvent.workflow.files import load_text, write
from tests.property.changed_rules import changed_rules
from tests.property.pattern_random import nested, nesting, seeds_from

if TYPE_CHECKING:
    import random

SEEDS = range(320)
PARTS = 8


@pytest.mark.parametrize("part", range(PARTS))
def test_nestings_run_as_they_mean(part: int) -> None:
    """Every task of a random nesting runs so often, so late and with such results as the patterns say."""
    for seed in [*seeds_from(SEEDS)][part::PARTS]:
        one = nesting(seed)
        assert one.run() == [], one.told()


@pytest.mark.parametrize("suffix", [".yaml", ".json"])
def test_nestings_survive_being_written(suffix: str) -> None:
    """A nesting that is written to a file and read again is the same, and nothing is wrong with it."""
    for seed in seeds_from(SEEDS):
        one = nesting(seed)
        text = write(one.workflow, suffix=suffix)
        assert load_text(text, name=f"nesting{suffix}").workflow == one.workflow, one.told()
        assert check(one.workflow) == [], one.told()


@settings(max_examples=60)
@given(st.randoms(use_true_random=False))
def test_drawn_nestings_run_as_they_mean(chance: random.Random) -> None:
    """The same for nestings that can be made smaller step by step, should one fail."""
    one = nested("drawn", chance, 12, depth=3, sleeps=0.1, kinds=frozenset())
    assume(one is not None)
    assert one is not None
    note(str(one.block))
    assert one.run() == []


BROKEN = [
    ("a token is lost", "row choice", "patterns", "<MERGE, FROM : f, w>, FLAG_INVOKE : tj : f : <ti : n : r>",
     "<MERGE, FROM : f, w>, FLAG_INVOKE : tj : f : <>"),
    ("a join starts twice", "row all", "patterns", "FROM : f, w>, FLAG_INVOKE : tj : f : <x, i> in\nlet sync_skip",
     "FROM : f, w>, FLAG_INVOKE : tj : f : <x, i>, FLAG_INVOKE : tj : f : <x, i> in\nlet sync_skip"),
    ("a late token is not ignored", "loop first", "patterns", "by GATE : tj : <DISCRIMINATED, DISCR_SRC : <s>, FROM : f, w>\n  if n >= f",
     "by GATE : tj : <DISCRIMINATED, DISCR_SRC : <s>, FROM : f, w>\n  if n >= f && n < 0"),
    ("a discriminator does not wait", "first", "patterns", "by GATE : tj : <NEED : (q - 1), DISCR_SRC : <s>",
     "by GATE : tj : <NEED : 0, DISCR_SRC : <s>"),
    ("a lock is not given back", "locked", "patterns", "by o, h, LAST : ti : k : r", "by o, LAST : ti : k : r"),
    ("a skip is not passed", "choice some", "patterns", "OUT : <SKIP : tj : tk : k, o>", "OUT : <o>"),
    ("rivals are not withdrawn", "deferred", "patterns", "RIVALS : <c>, SENT : tk : (n + 1), GATE", "RIVALS : <c, tk>, SENT : tk : n, GATE"),
    ("an instance is forgotten", "instances", "instances", "<FIXED, LEFT : (n - 1), NEED : (q - 1)", "<FIXED, LEFT : (n - 2), NEED : (q - 1)"),
    ("nobody stands in", "replaced row", "patterns", "if concerns(n, k, l)", "if !concerns(n, k, l)"),
    ("results are turned round", "row all", "patterns", "SYNC_INBOX : <ti : n : r, i>", "SYNC_INBOX : <ti : 0 : n, i>"),
]  # fmt: skip


@pytest.mark.parametrize("kinds, file, old, new", [one[1:] for one in BROKEN], ids=[one[0] for one in BROKEN])
def test_broken_rules_are_found_out(kinds: str, file: str, old: str, new: str) -> None:
    """Where a rule of the library does not do what it should, some nesting differs from what it means."""
    for seed in range(20):
        one = nesting(str(seed), 10, depth=3, sleeps=0.0, kinds=frozenset(kinds.split()))
        assert one.run() == [], one.told()
        with changed_rules(file, old, new):
            if one.run():
                return
    pytest.fail("the change goes unnoticed")
