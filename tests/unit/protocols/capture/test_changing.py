"""Changing the active rule and falling asleep (the paper's sections 3.4 and 3.5)."""

from __future__ import annotations

from msgspec.structs import replace

from solvent.protocols.capture.adaptive import Adaptive
from solvent.protocols.capture.changing import SLEEP, better_rule
from solvent.protocols.capture.state import RESTING, CaptureConfig, CaptureState
from solvent.protocols.capture.success import heard, left, noted, reset
from solvent.protocols.capture.vocabulary import Combination, Discover, Switched
from solvent.protocols.machine import Answered, Ask, Choose, Chosen, Report, SetTimer

CONFIG = CaptureConfig(
    1, arities=(2, 2, 2), own_max=4, remote_max=3, own_weight=0.5, ageing=20, dormant=True, aborts_max=3
)


def state_with(*rates: int, rule: int = 0, mode: str = "pessimistic", now: int = 50) -> CaptureState:
    """Make a node that has just had so many successes with each rule, of four."""
    state, _ = Adaptive(CONFIG).start()
    success = state.success
    for number, rate in enumerate(rates):
        success = noted(success, number, b"\1" * rate + b"\0" * (4 - rate))
        success = left(success, number, now)
    return replace(state, success=success, rule=rule, mode=mode, now=now)


def test_the_worst_rule_is_left_for_the_best() -> None:
    """A node changes to the rule of the highest rate if its own rate is the lowest."""
    assert better_rule(state_with(1, 2, 3), CONFIG) == 2


def test_a_rule_that_is_not_the_worst_is_kept() -> None:
    """As long as another rule does worse, the node stays, however good a third may be."""
    assert better_rule(state_with(1, 0, 3), CONFIG) is None


def test_equal_rates_are_no_reason_to_change() -> None:
    """Only a strictly higher rate is worth a change."""
    assert better_rule(state_with(2, 2, 2), CONFIG) is None


def test_of_equally_good_rules_nodes_take_different_ones() -> None:
    """Nodes that know the same do not all run to one rule."""
    state = state_with(0, 4, 4)
    chosen = {better_rule(state, replace(CONFIG, node=node)) for node in range(4)}
    assert chosen == {1, 2}


def test_a_good_rule_is_begun_as_an_optimist_with_a_clean_history() -> None:
    """Where the new rule's rate permits it, its history is reset and the search goes on at once."""
    state = state_with(0, 4, 2)
    state = replace(state, success=heard(state.success, 1, 3, CONFIG, 50))
    after, effects = Adaptive(CONFIG).step(state, Answered(Combination(0, ())))
    assert effects == (Report(Switched("optimistic", 1)), Ask(Discover(1)))
    assert (after.rule, after.mode, after.aborts) == (1, "optimistic", 0)
    assert (after.success[1].rate, after.success[1].remote) == (4, b"")


def test_a_bad_rule_is_begun_asleep() -> None:
    """Where it does not, the node sleeps first, and sleeps again if its first attempt then fails."""
    node = Adaptive(CONFIG)
    state, effects = node.step(state_with(0, 2, 1), Answered(Combination(0, ())))
    assert effects == (Report(Switched("dormant", 1)), Choose(9))
    assert (state.rule, state.mode, state.phase) == (1, "dormant", RESTING)
    assert node.step(state, Chosen(0))[1] == (SetTimer(SLEEP, 16),)
    assert node.step(state, Chosen(8))[1] == (SetTimer(SLEEP, 24),)


def test_finding_nothing_makes_a_rule_the_worst() -> None:
    """Where nothing is found nobody can succeed, whatever the history says (C7)."""
    after, _ = Adaptive(CONFIG).step(state_with(4, 3, 3, mode="optimistic"), Answered(Combination(0, ())))
    assert after.rule != 0
    assert after.success[0].rate == 0


def test_a_keeper_keeps_its_rule() -> None:
    """A keeper goes on looking for molecules for its rule though there are none."""
    keeper = Adaptive(replace(CONFIG, is_keeper=True))
    after, effects = keeper.step(state_with(0, 4, 4), Answered(Combination(0, ())))
    assert after.rule == 0
    assert all(not isinstance(effect, Report) for effect in effects)


def test_a_rule_for_which_there_was_nothing_is_tried_again_later() -> None:
    """A rule that was empty once is not avoided for ever: after a while it is worth a try like any other."""
    state = state_with(1, 4, 0)
    state = replace(state, success=left(reset(state.success, 1, to=False), 1, 50))
    assert better_rule(replace(state, now=70), CONFIG) is None
    assert better_rule(replace(state, now=71), CONFIG) is not None
