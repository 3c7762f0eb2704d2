"""What is wrong with the figures as printed, or with a refinement, is caught by a shortest run."""

from __future__ import annotations

import pytest

from solvent.engine.explore import explore
from solvent.engine.properties import Never, Refines
from solvent.hocl.program import parse
from solvent.lang.molecule import Symbol
from solvent_lab.token_systems import Bounds, mapping, program
from solvent_lab.token_systems.exploration import explore_system, properties_of, refinement_of

TWO = Bounds(2, data=2, searches=2, passes=2)
NEW, Q = Symbol("NEW"), Symbol("Q")


def caught(system: str, name: str, bounds: Bounds = TWO) -> list[str]:
    """Explore a system as printed with one property, which does not hold; give the rules of the run that shows it."""
    (one,) = [one for one in properties_of(system, bounds, printed=True) if one.name == name]
    found = explore_system(system, bounds, [one], printed=True)
    assert found.violation is not None
    assert found.violation.property is one
    return [record.rule for record in found.run_to_violation()]


def test_t1_second_hop_is_back_at_the_requester() -> None:
    """T1: rule 5 sends N, rule 6 moves N/2 on from the node across the ring: the search asks the one it is for."""
    assert caught("binary_search", "never search_for_oneself") == [
        "binary_rule5",
        "binary_rule2",
        "binary_rule6_clockwise",
    ]


@pytest.mark.parametrize("system", ["s", "message_passing"])
def test_t2_node_passes_the_token_once_and_never_again(system: str) -> None:
    """T2: without (x, phi_x) every run ends, and in some a node still has something to say."""
    found = explore_system(system, TWO, printed=True)
    assert found.is_complete
    assert found.finals
    unsaid = [
        state for state in found.finals if any(isinstance(one, tuple) and one[0] is NEW for one in found.states[state])
    ]
    assert unsaid


def test_t2_token_stays_where_it_has_been_before() -> None:
    """T2: in Message-Passing as printed, a node that has passed the token keeps it when it comes back."""
    found = explore_system("message_passing", TWO, printed=True)
    holders = set()
    for state in found.finals:
        molecules = [one for one in found.states[state] if isinstance(one, tuple)]
        (holder,) = [one[1] for one in molecules if one[0] is Symbol("T")]
        assert not any(one[0] is Q and one[1] == holder for one in molecules)
        holders.add(holder)
    assert holders == {0, 1}


def test_t3_trap_is_taken_for_a_token() -> None:
    """T3: rule 3 of Search takes any message for a token, and then there are two."""
    run = caught("search", "never token_here_and_under_way")
    assert run == ["search_rule4", "search_rule5", "search_rule2", "search_rule3"]


def test_t3_trap_is_taken_for_a_token_in_binary_search() -> None:
    """T3: so does rule 3 of BinarySearch."""
    run = caught("binary_search", "never token_here_and_under_way")
    assert run == ["binary_rule4", "binary_rule5", "binary_rule2", "binary_rule3"]


def test_t4_equal_histories_give_no_direction() -> None:
    """T4: a search meets a history equal to its own before anything has happened."""
    assert caught("binary_search", "never search_without_direction") == ["binary_rule5", "binary_rule2"]


def test_printed_token_is_no_refinement_of_printed_s1() -> None:
    """T2: figure 4 puts (x, phi_x) back, figure 3 does not."""
    assert caught("token", "refines s1") == ["token_rule1", "token_rule2"]


def test_printed_message_passing_is_no_refinement_of_printed_token() -> None:
    """T2: figure 5 drops (x, d_x), figure 4 does not."""
    assert caught("message_passing", "refines token") == ["mp_rule3"]


def refinement_without(system: str, coarser: str, rule: str) -> tuple[list[str], str]:
    """Check a refinement of a coarser system that lacks a rule; give the run that shows it is none, and the reason."""
    bounds = Bounds(2, data=2, searches=1)
    one = refinement_of(system, bounds, coarser=program(coarser, bounds, without={rule}))
    assert one is not None
    found = explore_system(system, bounds, [one])
    assert found.violation is not None
    return [record.rule for record in found.run_to_violation()], found.violation.reason


def test_t8_receiving_the_token_is_no_step_of_printed_token() -> None:
    """T8: a node of figure 5 learns the history when the token comes, one of figure 4 only when it speaks."""
    run, reason = refinement_without("message_passing", "token", "token_rule3")
    assert run[-1] == "mp_rule4"
    assert reason.startswith("`mp_rule4` does what one reaction of token cannot do: from <")


def test_t9_handing_over_in_silence_is_no_step_of_printed_message_passing() -> None:
    """T9: rule 7 of figure 6 hands the token on and keeps what its node wants to say; rule 3 of figure 5 says it."""
    run, _ = refinement_without("search", "message_passing", "mp_rule5")
    assert (run[-1], "search_rule1" in run) == ("search_rule7", True)


def test_t1_end_of_a_search_is_no_step_of_printed_search() -> None:
    """T1: in figure 6 whoever is asked asks another; a search that ends needs a rule of its own."""
    run, _ = refinement_without("binary_search", "search", "search_rule6_end")
    assert run[-1] == "binary_rule6_end"


def test_step_that_is_two_steps_is_not_taken_for_one() -> None:
    """Rule 2 of Token is rules 2 and 3 of S1 in one; where one step alone is allowed, that is no refinement."""
    bounds = Bounds(2, data=1)
    rules = parse(mapping("token")).solution()
    one = Refines(parse(program("s1", bounds)).solution(), rules, name="s1")
    found = explore_system("token", bounds, [one])
    assert found.violation is not None
    assert [record.rule for record in found.run_to_violation()] == ["token_rule1", "token_rule2"]


def test_token_that_copies_itself_is_caught() -> None:
    """A wrong refinement: Message-Passing whose node keeps the token that it sends has no counterpart in Token."""
    bounds = Bounds(2, data=1)
    text = program("message_passing", bounds)
    wrong = text.replace("P:x:h, T:NOBODY, O:x:y:h, NODE:y", "P:x:h, T:x, O:x:y:h, NODE:y")
    assert wrong != text
    one = refinement_of("message_passing", bounds)
    assert one is not None
    found = explore(parse(wrong).solution(), properties=[one], max_states=1000)
    assert found.violation is not None
    assert [record.rule for record in found.run_to_violation()] == ["mp_rule5"]


def test_lost_datum_is_caught() -> None:
    """A wrong refinement: a ring whose node forgets to say what it wanted is caught with the datum in its trace."""
    bounds = Bounds(2, data=1)
    wrong = program("ring", bounds).replace("O:x:y:(h + d)", "O:x:y:h")
    one = refinement_of("ring", bounds)
    assert one is not None
    found = explore(parse(wrong).solution(), properties=[one])
    records = found.run_to_violation()
    assert [record.rule for record in records] == ["ring_rule1", "ring_rule3'"]
    assert (records[0].after, records[1].after[1:]) == (
        ["Q:0:list(A1)"],
        ["Q:0:()", "P:0:list(A1)", "T:NOBODY", "O:0:1:()"],
    )


def test_prefix_property_is_caught_where_it_fails() -> None:
    """A copy that is made of something else than the history is found in the first state that has one."""
    bounds = Bounds(2, data=2)
    wrong = program("s1", bounds).replace("by H:h, P:y:h", "by H:h, P:y:reverse(h)")
    (never,) = [one for one in properties_of("s1", bounds) if isinstance(one, Never)]
    found = explore(parse(wrong).solution(), properties=[never])
    assert [record.rule for record in found.run_to_violation()][-1] == "s1_rule3"
