"""Every order is tried, once; what does not hold is shown on the shortest way."""

from __future__ import annotations

from solvent_lab.checker import Network, Order, Timers, Verdict, check
from tests.unit.lab.checker.worlds import door, guess, promise, query, ring


def _drawn(text: str) -> str:
    """Take the margin off a diagram written in a test."""
    return "\n".join(line[4:].rstrip() for line in text.strip("\n").split("\n")).rstrip()


def test_token_lets_one_inside_at_a_time() -> None:
    """A right ring holds; its states, moves and depth are known numbers."""
    result = check(ring(3))
    assert (result.verdict, result.violations) == (Verdict.HOLDS, ())
    assert (result.states, result.transitions, result.depth) == (189, 396, 15)


def test_states_grow_with_the_ring() -> None:
    """A ring has as many states as one can count by hand.

    A node without the token has not been asked yet, waits, or has been inside: 3. The token is under way to a node in
    one of these 3 states; or the node has it, and has not been asked or has been inside: 2; or is inside, and the
    timer it had set before to pass the token is still running or not: 2.
    """
    counts = (1, 2, 3, 4, 5)
    assert [check(ring(count)).states for count in counts] == [count * 7 * 3 ** (count - 1) for count in counts]


def test_hasty_token_is_caught_on_the_shortest_way() -> None:
    """Passing the token on while inside lets a second one in after three moves."""
    (violation,) = check(ring(2, is_hasty=True)).violations
    assert violation.property == "at most one node is inside"
    assert violation.message == "2 nodes are inside"
    assert violation.trace.drawn() == _drawn("""
       n0                                              n1
     1 * request 'in'                                  |
       | reports 'in'                                  |
     2 |--------------------Token()------------------->|
     3 |                                               * request 'in'
       |                                               | reports 'in'
       under way from n1 to n0: Token() (3)
    """)


def test_lost_query_without_retry_is_a_deadlock() -> None:
    """A message that may be lost and is never sent again leaves the client waiting."""
    (violation,) = check(query(network=Network(losses=1))).violations
    assert (violation.property, violation.message) == ("a goal can always be reached", "nothing can happen any more")
    assert violation.trace.drawn() == _drawn("""
       client                                          server
     1 |--------------------Query()-------------------x|
    """)


def test_retry_survives_loss() -> None:
    """A client that asks again gets its answer, whichever message is lost."""
    model = query(retries=True, network=Network(losses=1), timers=Timers.WHEN_QUIET)
    assert (check(model).verdict, check(model).states) == (Verdict.HOLDS, 9)


def test_duplicates_and_any_order_are_tried() -> None:
    """Doubling and reordering give more states, and the answer still comes."""
    patient = {"retries": True, "timers": Timers.WHEN_QUIET}
    counts = [
        check(query(network=network, **patient)).states
        for network in (Network(), Network(duplicates=1), Network(duplicates=1, order=Order.ANY))
    ]
    assert counts == [4, 11, 11]


def test_machine_that_fails_is_a_violation() -> None:
    """Whatever a machine raises is shown with the event that made it fail."""
    (violation,) = check(guess(1, 13)).violations
    assert (violation.property, violation.message) == ("no machine fails", "AssertionError: unlucky")
    assert violation.trace.drawn() == _drawn("""
       n0
     1 ? asks 'a number': 13
       ! fails: AssertionError: unlucky
    """)


def test_question_without_answer_waits() -> None:
    """Where no answer is possible nothing happens, and that is a dead end if there is a goal."""
    assert check(guess()).states == 1
    (violation,) = check(guess(goal=lambda world: world.states[0] > 0)).violations
    assert violation.message == "nothing can happen any more"


def test_too_many_states_are_a_named_outcome() -> None:
    """A limit on states ends the search and is no violation."""
    result = check(ring(4), max_states=100)
    assert (result.verdict, result.violations) == (Verdict.LIMIT_REACHED, ())
    assert 100 <= result.states < 120


def test_search_can_be_stopped() -> None:
    """Whoever waits may end the search, and is told how far it is."""
    told: list[int] = []

    def should_stop(states: int) -> bool:
        told.append(states)
        return True

    assert check(ring(3), should_stop=should_stop).verdict is Verdict.LIMIT_REACHED
    assert told == [1]


def test_first_world_is_looked_at_too() -> None:
    """An invariant that the first world breaks is violated after no move."""

    def nothing_is_under_way(world: object) -> bool:
        return world.is_quiet  # type: ignore[attr-defined,no-any-return]

    (violation,) = check(query(invariants=(nothing_is_under_way,))).violations
    assert (violation.property, len(violation.trace)) == ("nothing is under way", 0)


def test_polite_machines_without_choice_never_reach_the_goal() -> None:
    """A loop that cannot be left is a dead end, shown with the loop."""
    (violation,) = check(door()).violations
    assert violation.message == "whatever happens leads to no goal"
    assert violation.trace.drawn(width=60) == _drawn("""
       Ann                         Bob
       from here on no goal can be reached
       and this can go on for ever:
     1 |----------After()--------->|
     2 |<---------After()----------|
       under way from Ann to Bob: After() (2)
    """)


def test_saved_promise_survives_a_crash() -> None:
    """A holder that saves before it says gives the thing away once, whenever it crashes."""
    assert (check(promise()).verdict, check(promise()).states) == (Verdict.HOLDS, 94)
    assert check(promise(within_step=True)).verdict is Verdict.HOLDS


def test_promise_that_was_not_saved_is_made_twice() -> None:
    """A crash after the promise makes the holder promise again."""
    (violation,) = check(promise(saves=False)).violations
    assert violation.property == "at most one has the thing"
    assert violation.trace.drawn(width=84) == _drawn("""
       n0                         n1                         n2
     1 |<---------Want()----------|                          |
     2 |----------Yes()---------->|                          |
       |                          | reports 'mine'           |
     3 X crashes                  |                          |
     4 O starts again, life 1     |                          |
     5 |----------------PeerRestarted(peer=0)--------------->|
     6 |<-----------------------Want()-----------------------|
     7 |------------------------Yes()----------------------->|
       |                          |                          | reports 'mine'
       under way from n0 to n1: PeerRestarted(peer=0) (4)
    """)


def test_saying_before_saving_is_caught_only_within_a_step() -> None:
    """A crash between the word and the record shows that the record comes too late."""
    assert check(promise(saves_late=True)).verdict is Verdict.HOLDS
    assert check(promise(saves_late=True, within_step=True)).verdict is Verdict.VIOLATED
