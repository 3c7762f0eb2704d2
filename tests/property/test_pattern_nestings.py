"""Random nestings of patterns run as they mean: so often, in that order, with those results.

A failure says how to replay it: `NESTING_SEEDS=17 .venv/bin/python -m pytest tests/property -k nesting`.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
from hypothesis import assume, given, note
from hypothesis import strategies as st

from solvent.runs import embedded as running
from solvent.runs.functions import HOST_FUNCTIONS
from solvent.workflows import translate as concrete
from solvent.workflows.checks import check
from solvent.workflows.formats.files import load_text, write
from tests.property.amounts import examples
from tests.property.pattern_random import nested, nesting, seeds_from

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from solvent.lang.functions import Functions
    from solvent.lang.rule import Rule

SEEDS = range(80)
PARTS = 8


@pytest.mark.parametrize("part", range(PARTS))
def test_nestings_run_as_they_mean(part: int) -> None:
    """Every task of a random nesting runs so often, so late and with such results as the patterns say."""
    for seed in [*seeds_from(SEEDS)][part::PARTS]:
        one = nesting(seed)
        assert one.run() == [], one.told()


def test_nestings_survive_being_written() -> None:
    """A nesting that is written to a file and read again is the same, and nothing is wrong with it."""
    for seed in seeds_from(SEEDS):
        one = nesting(seed)
        for suffix in (".yaml", ".json"):
            text = write(one.workflow, suffix=suffix)
            assert load_text(text, name=f"nesting{suffix}").workflow == one.workflow, one.told()
        assert check(one.workflow) == [], one.told()


@examples(30)
@given(st.randoms(use_true_random=False))
def test_drawn_nestings_run_as_they_mean(chance: random.Random) -> None:
    """The same for nestings that can be made smaller step by step, should one fail."""
    one = nested("drawn", chance, 12, depth=3, sleeps=0.1, kinds=frozenset())
    assume(one is not None)
    assert one is not None
    note(str(one.block))
    assert one.run() == []


CHANGED = [
    ("a token is lost", "row choice", "FLAG_INVOKE : tj : f : <ti : n : r>", "FLAG_INVOKE : tj : f : <>"),
    ("a join starts twice", "row all", "FLAG_INVOKE : tj : f : <x, i>",
     "FLAG_INVOKE : tj : f : <x, i>, FLAG_INVOKE : tj : f : <x, i>"),
    ("a discriminator does not wait", "first", "NEED : (q - 1), DISCR_SRC", "NEED : 0, DISCR_SRC"),
    ("a lock is not given back", "locked", "by o, h, LAST", "by o, LAST"),
    ("results are mixed up", "row all", "SYNC_INBOX : <ti : n : r, i>", "SYNC_INBOX : <ti : 0 : n, i>"),
]  # fmt: skip


@pytest.mark.parametrize("kinds, old, new", [one[1:] for one in CHANGED], ids=[one[0] for one in CHANGED])
def test_changed_rules_are_found_out(kinds: str, old: str, new: str) -> None:
    """Where a rule of the library does not do what it should, some nesting differs from what it means."""
    _is_found_out(kinds, lambda: _changed(old, new))


MISSING = [
    ("discr_ignore", "loop first"), ("discr_setFlag", "first"),
    ("round_ignore", "loop first"), ("round_reset", "loop first"),
    ("discr_cancelled", "cancel"), ("sm_setFlag", "row"), ("synchronize", "all"), ("passInfoCond", "choice"),
    ("syncMg_skip", "some"), ("syncMg_setFlag", "some"), ("prepareSignal", "deferred"), ("loseArmed", "deferred"),
    ("mi_next", "instances"), ("mi_collect", "instances"), ("mi_more", "instances"),
    ("mi_some", "instances"), ("mi_some_cancel", "instances"),
]  # fmt: skip


@pytest.mark.parametrize("rule, kinds", MISSING)
def test_missing_rules_are_found_out(rule: str, kinds: str) -> None:
    """Where a rule of the library is missing, some nesting differs from what it means."""
    _is_found_out(kinds, lambda: _without(rule))


def _is_found_out(kinds: str, broken: Callable[[], AbstractContextManager[None]]) -> None:
    for seed in range(100):
        one = nesting(str(seed), 16, depth=3, sleeps=0.0, kinds=frozenset(kinds.split()))
        with broken():
            if one.run():
                break
    else:
        pytest.fail("nobody notices")
    assert one.run() == [], one.told()


@contextmanager
def _changed(old: str, new: str) -> Iterator[None]:
    """Let workflows run by a library in which a piece of text is another wherever it stands."""
    known = concrete._text_of
    assert old in known("patterns")
    functions = concrete.workflow_functions(**HOST_FUNCTIONS)
    with (
        patch.object(concrete, "_text_of", lambda name: known(name).replace(old, new)),
        patch.object(running, "FUNCTIONS", functions),
    ):
        yield


@contextmanager
def _without(rule: str) -> Iterator[None]:
    """Let workflows run by a library in which a rule is missing."""
    known = concrete._rules
    functions = running.FUNCTIONS
    assert rule in {**known("patterns", functions), **known("instances", functions)}

    def rules(file: str, functions: Functions) -> dict[str, Rule]:
        return {name: one for name, one in known(file, functions).items() if name != rule}

    with patch.object(concrete, "_rules", rules):
        yield
