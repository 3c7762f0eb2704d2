"""The success rate: own history, rates of others, and what is too old to count."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from solvent.errors import Misuse
from solvent_lab.papers.capture import capture_node
from solvent_lab.papers.capture.state import CaptureConfig, Success
from solvent_lab.papers.capture.success import beginning, heard, is_optimistic, left, noted, overall, reset, returned

PLAIN = CaptureConfig(0, max_own=4, max_remote=3)
AGEING = CaptureConfig(0, arities=(2, 2), max_own=4, max_remote=3, own_weight=0.5, ageing=20)


def test_the_rate_is_the_mean_of_own_and_others() -> None:
    """Without a weight, the own rate counts like each of the others' rates."""
    rates = noted(beginning(PLAIN), 0, b"\0\0")
    for rate in (4, 1):
        rates = heard(rates, 0, rate, PLAIN, 1)
    assert overall(rates[0], PLAIN, 1) == pytest.approx((2 / 4 + 4 / 4 + 1 / 4) / 3)


def test_the_own_rate_can_weigh_more() -> None:
    """With a weight, all others together have the rest."""
    rates = noted(beginning(AGEING), 0, b"\0\0")
    for rate in (4, 4, 1):
        rates = heard(rates, 0, rate, AGEING, 1)
    assert overall(rates[0], AGEING, 1) == pytest.approx(0.5 * 2 / 4 + 0.5 * 9 / 12)


def test_lists_keep_the_last_entries() -> None:
    """The oldest entry makes room for a new one."""
    rates = noted(beginning(PLAIN), 0, b"\0\0")
    rates = noted(rates, 0, b"\1\1\1\1")
    assert rates[0].rate == 4
    for rate in (0, 1, 2, 3):
        rates = heard(rates, 0, rate, PLAIN, 1)
    assert rates[0].remote == b"\1\2\3"


def test_old_rates_of_others_do_not_count() -> None:
    """Where rates age, those older than that are left out, each on its own."""
    rates = heard(beginning(AGEING), 0, 0, AGEING, 10)
    rates = heard(rates, 0, 4, AGEING, 25)
    assert overall(rates[0], AGEING, 30) == pytest.approx(0.5 + 0.5 * 0.5)
    assert overall(rates[0], AGEING, 31) == 1.0


def test_the_own_rate_of_a_rule_that_was_left_gets_old() -> None:
    """A bad experience with a rule is forgotten after a while, unless the rule is still the active one."""
    rates = left(reset(beginning(AGEING), 1, to=False), 1, 100)
    assert overall(rates[1], AGEING, 120, is_active=False) == 0.0
    assert overall(rates[1], AGEING, 121, is_active=False) == 1.0
    assert overall(rates[1], AGEING, 121, is_active=True) == 0.0


def test_of_a_rule_never_tried_others_tell() -> None:
    """Before a node has tried a rule, only what others say counts."""
    rates = heard(beginning(AGEING), 1, 1, AGEING, 5)
    assert overall(rates[1], AGEING, 5, is_active=False) == 0.25


def test_hearing_of_a_rule_does_not_refresh_what_one_knows_oneself() -> None:
    """When a rule was left is remembered while others speak of it."""
    rates = left(reset(beginning(AGEING), 1, to=False), 1, 100)
    rates = heard(rates, 1, 3, AGEING, 115)
    assert rates[1].left == 100
    assert overall(rates[1], AGEING, 121, is_active=False) == 0.75


def test_who_returns_after_long_begins_anew() -> None:
    """A history that is too old is full of successes again; a recent one stays as it is."""
    rates = left(reset(beginning(AGEING), 1, to=False), 1, 100)
    assert returned(rates, 1, AGEING, 120) == rates
    assert returned(rates, 1, AGEING, 121)[1].rate == 4


def test_the_switch_is_the_papers() -> None:
    """A node is optimistic if and only if the rate to the power of the arity reaches the threshold."""
    rates = beginning(PLAIN)
    assert is_optimistic(rates[0], PLAIN, 2, 0)
    rates = noted(rates, 0, b"\0")
    assert not is_optimistic(rates[0], PLAIN, 2, 0)
    # Three quarters reach 0.7 for a rule of one molecule.
    assert is_optimistic(rates[0], PLAIN, 1, 0)


def test_at_exactly_the_threshold_a_node_is_optimistic() -> None:
    """The paper's switch is not strict."""
    rates = noted(beginning(PLAIN), 0, b"\0")
    assert overall(rates[0], PLAIN, 0) ** 2 == 0.5625
    assert is_optimistic(rates[0], replace(PLAIN, threshold=0.5625), 2, 0)
    assert not is_optimistic(rates[0], replace(PLAIN, threshold=0.5626), 2, 0)


def test_a_node_without_a_history_keeps_none() -> None:
    """Where no history is wanted, neither outcomes nor rates of others are kept."""
    config = replace(PLAIN, max_own=0, max_remote=0)
    rates = beginning(config)
    assert noted(rates, 0, b"\0") is rates
    assert heard(rates, 0, 3, config, 1) is rates
    assert heard(rates, 0, 3, replace(config, ageing=20), 1) is rates


def test_a_reset_history_is_forgotten_with_what_others_said() -> None:
    """A history begins anew full of successes, or of failures."""
    rates = heard(noted(beginning(PLAIN), 0, b"\0"), 0, 3, PLAIN, 1)
    assert reset(rates, 0, to=True) == (Success(b"\1\1\1\1", 4),)
    assert reset(rates, 0, to=False) == (Success(b"\0\0\0\0", 0),)


def test_who_returns_forgets_its_own_history_only() -> None:
    """What others say of the rule meanwhile is kept; without ageing everything is."""
    rates = heard(left(reset(beginning(AGEING), 1, to=False), 1, 100), 1, 3, AGEING, 115)
    assert returned(rates, 1, AGEING, 121)[1] == Success(b"\1\1\1\1", 4, b"\3", (115,))
    assert returned(rates, 1, replace(AGEING, ageing=0), 121) is rates
    assert returned(rates, 0, AGEING, 121)[1] == rates[1]


def test_a_history_shorter_than_an_attempt_keeps_its_size() -> None:
    """Of more outcomes than fit, the last ones are kept."""
    config = replace(PLAIN, max_own=1)
    rates = noted(beginning(config), 0, b"\0\0")
    rates = noted(noted(rates, 0, b"\1"), 0, b"\1")
    assert overall(rates[0], config, 0) == 1.0


def test_a_history_is_not_longer_than_a_byte_can_say() -> None:
    """A rate travels as one byte, so a longer history is refused at once."""
    with pytest.raises(Misuse, match="256 entries"):
        capture_node(replace(PLAIN, max_own=256))
