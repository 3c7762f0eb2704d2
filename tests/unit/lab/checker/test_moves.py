"""Which moves there are from a world, and what each does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.protocols.machine import (
    Answered,
    Ask,
    CancelTimer,
    Choose,
    Chosen,
    NodeId,
    PeerRestarted,
    Received,
    Report,
    Requested,
    Save,
    Send,
    SetTimer,
    TimerFired,
)
from solvent_lab.checker import Asking, Crashes, Model, Network, Order, Timers
from solvent_lab.checker.moves import Kind, Label, Moves
from tests.unit.lab.checker.machines import Puppet

if TYPE_CHECKING:
    from solvent_lab.checker import World

A, B, C = NodeId(0), NodeId(1), NodeId(2)


class Story:
    """Goes through moves one by one; each is named by its class."""

    def __init__(self, *orders: tuple[int, Any], nodes: int = 2, **options: Any) -> None:
        self.moves = Moves(Model(machines=(Puppet(),) * nodes, requests=orders, **options))
        self.row, _ = self.moves.first()

    @property
    def world(self) -> World:
        """The world as it is."""
        return self.moves.packing.world(self.row)

    @property
    def possible(self) -> list[Label]:
        """The classes of all moves there are, in order."""
        return [self.moves.labels[move.label] for move in self.moves.moves(self.row)]

    def heard(self, node: int) -> list[Any]:
        """What a node has been told, without the requests that make it act."""
        return [one for one in self.world.states[node] if not isinstance(one, Requested)]

    def go(self, kind: Kind, node: int, sender: int = -1, *, pick: int = 0) -> Story:
        """Make a move of this class, the first or another."""
        fitting = [
            move for move in self.moves.moves(self.row) if self.moves.labels[move.label][:3] == (kind, node, sender)
        ]
        self.row = tuple(fitting[pick].row)
        return self


def test_request_comes_once() -> None:
    """A request is used up when it comes; equal ones are not told apart."""
    story = Story((A, ()), (A, ()), (B, ()))
    assert story.possible == [Label(Kind.REQUEST, A), Label(Kind.REQUEST, B)]
    story.go(Kind.REQUEST, A).go(Kind.REQUEST, A)
    assert (story.possible, story.world.requests) == ([Label(Kind.REQUEST, B)], ((B, ()),))


def test_messages_arrive_in_order() -> None:
    """The oldest message of a channel is the next."""
    story = Story((A, (Send(B, "one"), Send(B, "two")))).go(Kind.REQUEST, A)
    assert story.world.channel(A, B) == ("one", "two")
    assert list(story.world.messages()) == [(A, B, "one"), (A, B, "two")]
    story.go(Kind.DELIVER, B, A).go(Kind.DELIVER, B, A)
    assert story.heard(B) == [Received(A, "one"), Received(A, "two")]


def test_messages_overtake_in_an_unordered_network() -> None:
    """Any message of a channel may be the next."""
    story = Story((A, (Send(B, "one"), Send(B, "two"))), network=Network(order=Order.ANY)).go(Kind.REQUEST, A)
    assert story.possible == [Label(Kind.DELIVER, B, A)] * 2
    assert story.go(Kind.DELIVER, B, A, pick=1).heard(B) == [Received(A, "two")]


def test_faults_cost_their_budget() -> None:
    """A message is lost or doubled as often as the network allows."""
    story = Story((A, (Send(B, "one"), Send(B, "two"))), network=Network(losses=1, duplicates=1)).go(Kind.REQUEST, A)
    story.go(Kind.DOUBLE, B, A)
    assert (story.world.channel(A, B), story.world.budget.duplicates) == (("one", "two", "one"), 0)
    story.go(Kind.LOSE, B, A)
    assert (story.world.channel(A, B), story.world.budget.losses) == (("two", "one"), 0)
    assert story.possible == [Label(Kind.DELIVER, B, A)]


def test_only_what_may_be_lost_is_lost() -> None:
    """A network may lose some messages and no others."""
    network = Network(losses=1, may_lose=lambda message: message == "cheap")
    story = Story((A, (Send(B, "dear"), Send(B, "cheap"))), network=network).go(Kind.REQUEST, A)
    assert story.possible == [Label(Kind.DELIVER, B, A)]
    assert story.go(Kind.DELIVER, B, A).possible == [Label(Kind.DELIVER, B, A), Label(Kind.LOSE, B, A)]


def test_timer_fires_once() -> None:
    """A timer that has fired or was cancelled is not running."""
    story = Story((A, (SetTimer("t", 1), SetTimer("u", 2))), (A, (CancelTimer("u"),))).go(Kind.REQUEST, A)
    assert story.world.nodes[A].timers == ("t", "u")
    story.go(Kind.TIMER, A)
    assert (story.heard(A), story.world.nodes[A].timers) == ([TimerFired("t")], ("u",))
    assert story.go(Kind.REQUEST, A).possible == []


def test_quiet_timers_wait_for_messages_and_answers() -> None:
    """Where timers are long, none fires while a message is under way or a question can be answered."""
    orders = (A, (SetTimer("t", 1), Send(B, "one"), Choose(1)))
    story = Story(orders, timers=Timers.WHEN_QUIET).go(Kind.REQUEST, A)
    assert Kind.TIMER not in {label.kind for label in story.possible}
    story.go(Kind.ANSWER, A)
    assert Kind.TIMER not in {label.kind for label in story.possible}
    assert story.go(Kind.DELIVER, B, A).possible == [Label(Kind.TIMER, A, timer="t")]


def test_every_option_is_tried() -> None:
    """A choice has as many moves as options, and comes before any other event of the node."""
    story = Story((A, (Choose(3), SetTimer("t", 1))), (A, ())).go(Kind.REQUEST, A)
    assert story.possible == [Label(Kind.ANSWER, A)] * 3
    assert story.go(Kind.ANSWER, A, pick=2).heard(A) == [Chosen(2)]


def _answers(world: World, node: NodeId, question: str) -> tuple[str, ...]:
    return (f"{question} of {node}",) if world.ghost else ()


def test_answer_is_given_when_there_is_one() -> None:
    """A question without an answer waits until the world has one; meanwhile others go on."""
    orders = ((A, (Ask("what"), SetTimer("t", 1))), (B, (Report(1),)))
    story = Story(*orders, answers=_answers, observe=lambda _ghost, _node, outcome: outcome).go(Kind.REQUEST, A)
    assert story.possible == [Label(Kind.REQUEST, B)]
    story.go(Kind.REQUEST, B)
    assert story.possible == [Label(Kind.ANSWER, A)]
    assert story.go(Kind.ANSWER, A).heard(A) == [Answered("what of 0")]


def test_answers_at_once_leave_no_time_for_others() -> None:
    """Nothing but a crash of the asking node may come before an answer that is given at once."""
    options = {"answers": _answers, "ghost": 1, "crashes": Crashes(count=1)}
    orders = ((A, (Ask("what"),)), (B, ()))
    hasty = Story(*orders, **options, asking=Asking.AT_ONCE).go(Kind.REQUEST, A)
    assert hasty.possible == [Label(Kind.ANSWER, A), Label(Kind.CRASH, A)]
    waiting = Story(*orders, **options).go(Kind.REQUEST, A)
    assert Label(Kind.REQUEST, B) in waiting.possible


def test_slow_answers_leave_time_for_all() -> None:
    """Where answers take time the asking node takes other events, and gets answers in the order of its questions."""
    story = Story((A, (Ask("one"), Ask("two"))), (A, ()), answers=_answers, ghost=1, asking=Asking.MEANWHILE)
    story.go(Kind.REQUEST, A)
    assert story.possible == [Label(Kind.ANSWER, A), Label(Kind.REQUEST, A)]
    story.go(Kind.REQUEST, A).go(Kind.ANSWER, A).go(Kind.ANSWER, A)
    assert story.heard(A) == [Answered("one of 0"), Answered("two of 0")]


def test_crash_loses_all_but_what_was_saved() -> None:
    """State, timers, questions and messages to and from the node are gone."""
    orders = ((A, (Save("first"), SetTimer("t", 1), Send(B, "out"), Choose(2))), (B, (Send(A, "in"),)))
    story = Story(*orders, crashes=Crashes(count=1)).go(Kind.REQUEST, B).go(Kind.REQUEST, A).go(Kind.CRASH, A)
    node = story.world.nodes[A]
    assert (node.is_up, node.state, node.timers, node.questions, node.saved) == (False, None, (), (), ("first",))
    assert not any(story.world.channels)
    assert story.possible == [Label(Kind.START, A)]
    assert story.go(Kind.START, A).heard(A) == [(1, ("first",))]


def test_others_hear_of_a_restart_before_anything_else() -> None:
    """The notice is the first thing on every channel from the restarted node, and no loss can take it."""
    story = Story((A, (Send(B, "new"),)), nodes=3, crashes=Crashes(count=1), network=Network(losses=1))
    story.go(Kind.CRASH, A).go(Kind.START, A).go(Kind.REQUEST, A)
    assert story.world.channel(A, B) == (PeerRestarted(A), "new")
    assert story.world.channel(A, C) == (PeerRestarted(A),)
    assert Kind.LOSE not in {label.kind for label in story.possible}
    assert story.go(Kind.DELIVER, B, A).heard(B) == [PeerRestarted(A)]


def test_what_is_sent_before_the_notice_is_read_is_lost() -> None:
    """A message meant for the former life does not reach the next one."""
    story = Story((B, (Send(A, "old"),)), (B, (Send(A, "old"),)), (B, (Send(A, "new"),)), crashes=Crashes(count=1))
    story.go(Kind.CRASH, A).go(Kind.REQUEST, B).go(Kind.START, A).go(Kind.REQUEST, B)
    assert story.world.channel(B, A) == ()
    story.go(Kind.DELIVER, B, A).go(Kind.REQUEST, B)
    assert story.world.channel(B, A) == ("new",)


def test_nobody_hears_of_a_restart_where_none_is_noticed() -> None:
    """Without notices the next life gets what is sent to it."""
    story = Story((B, (Send(A, "old"),)), crashes=Crashes(count=1, are_noticed=False))
    story.go(Kind.CRASH, A).go(Kind.START, A).go(Kind.REQUEST, B)
    assert (story.world.channel(A, B), story.world.channel(B, A)) == ((), ("old",))


def test_messages_may_outlive_their_sender() -> None:
    """Where a crash loses no messages, they arrive late: before the notice, and in the next life."""
    orders = ((A, (Send(B, "last words"),)), (B, (Send(A, "for you"),)))
    story = Story(*orders, crashes=Crashes(count=1, lose_messages=False)).go(Kind.REQUEST, A).go(Kind.REQUEST, B)
    story.go(Kind.CRASH, A).go(Kind.START, A)
    assert story.world.channel(A, B) == ("last words", PeerRestarted(A))
    assert story.go(Kind.DELIVER, A, B).heard(A) == [(1, ()), Received(B, "for you")]


def test_node_that_was_down_hears_of_a_restart_in_its_next_life() -> None:
    """A restart that a node could not notice is told to its next life, and costs it no message."""
    story = Story((B, (Send(A, "hello"),)), crashes=Crashes(count=2))
    story.go(Kind.CRASH, A).go(Kind.CRASH, B).go(Kind.START, A).go(Kind.START, B).go(Kind.REQUEST, B)
    assert story.world.channel(B, A) == (PeerRestarted(B), "hello")
    assert story.go(Kind.DELIVER, B, A).heard(B) == [(1, ()), PeerRestarted(A)]


def test_crash_may_fall_between_effects() -> None:
    """Within a step, a crash may come before any record or report but the first effect."""
    effects = (Save("one"), Send(B, "said"), Save("two"), Report("done"))
    story = Story((A, effects), crashes=Crashes(count=1, within_step=True)).go(Kind.REQUEST, A)
    assert (story.world.nodes[A].saved, story.world.nodes[A].unfinished) == (("one",), effects[2:])
    assert Label(Kind.DELIVER, B, A) in story.possible
    story.go(Kind.GO_ON, A)
    assert (story.world.nodes[A].saved, story.world.nodes[A].unfinished) == (("one", "two"), effects[3:])
    story.go(Kind.CRASH, A).go(Kind.START, A)
    assert story.heard(A) == [(1, ("one", "two"))]


def test_effects_stay_together_once_no_crash_is_left() -> None:
    """Where nobody can crash any more, cutting a step in pieces would only cost states."""
    story = Story((A, (Send(B, "said"), Save("one"))), crashes=Crashes(count=1, nodes=(B,), within_step=True))
    story.go(Kind.CRASH, B).go(Kind.REQUEST, A)
    assert (story.world.nodes[A].saved, story.world.nodes[A].unfinished) == (("one",), ())


def test_ghost_may_see_crashes() -> None:
    """What was remembered of a node may be forgotten with it."""
    options = {"crashes": Crashes(count=1), "ghost": "alive", "observe_crash": lambda _ghost, node: f"lost {node}"}
    assert Story(**options).go(Kind.CRASH, B).world.ghost == "lost 1"
