"""Processes that go on when others die: alarms, musters, epochs, fences."""

from __future__ import annotations

from collections import deque
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from solvent.protocols.elmp.messages import Climb, Hello, Link, Seat, Token
from solvent.protocols.elmp.process import Elmp, seats
from solvent.protocols.elmp.repair import Died, Expelled, Repaired, RepairMessage, Surviving
from solvent.protocols.elmp.repair.messages import (
    Alarm,
    Fenced,
    Muster,
    Present,
    Refused,
    Renew,
    Renewal,
    Survivor,
    Within,
)
from solvent.protocols.elmp.repair.state import FIRST, Mustering, SurvivingState
from solvent.protocols.elmp.state import ElmpConfig, ElmpState, Out, Place, Use
from solvent.protocols.elmp.vocabulary import WHOLE, Astray, Data, Granted, Join, Release, Request
from solvent.protocols.machine import Event, NodeId, PeerRestarted, Received, Report, Requested, Send
from tests.unit.protocols.elmp.acting import A, B, C, D, leaf, told

NODES = (A, B, C)


def taken(node: NodeId, state: SurvivingState, *events: Event) -> tuple[SurvivingState, list[Any]]:
    """Let a process take events, and give what it is then and what it did."""
    machine, effects = Surviving(Elmp(node, ElmpConfig()), peers=(*NODES, D)), list[Any]()
    for event in events:
        state, more = machine.step(state, event)
        effects += more
    return state, effects


def member(**fields: Any) -> SurvivingState:
    """Give a process that takes part, a child of A."""
    return SurvivingState(leaf(), **fields)


def sent(effects: list[Any]) -> list[tuple[NodeId, Any]]:
    """Give what was said to whom."""
    return [(effect.to, effect.message) for effect in effects if isinstance(effect, Send)]


class Town:
    """A few processes of which some may die; what is under way is delivered in the order sent."""

    def __init__(self, count: int, data: Data | None = None) -> None:
        nodes = tuple(map(NodeId, range(count)))
        found = seats(nodes, 2)
        self.machines = [
            Surviving(Elmp(node, ElmpConfig(), seat=found[node], rank=node + 1, data=data), peers=nodes)
            for node in nodes
        ]
        self.states = [machine.start()[0] for machine in self.machines]
        self.under_way: deque[tuple[NodeId, NodeId, Any]] = deque()
        self.told: list[tuple[NodeId, Any]] = []
        self.said: list[Any] = []
        self.dead: set[int] = set()

    def want(self, node: int, request: Any) -> None:
        """Let a process hear what is wanted, and all that live talk until all is quiet."""
        self._take(NodeId(node), Requested(request))
        while self.under_way:
            sender, to, message = self.under_way.popleft()
            if to not in self.dead:
                self._take(to, Received(sender, message))

    def kill(self, node: int) -> None:
        """Let a process die, and the others hear of it."""
        self.dead.add(node)
        for other in range(len(self.machines)):
            if other not in self.dead:
                self.want(other, Died(NodeId(node)))

    def _take(self, node: NodeId, event: Event) -> None:
        self.states[node], effects = self.machines[node].step(self.states[node], event)
        for effect in effects:
            if isinstance(effect, Send):
                self.under_way.append((node, effect.to, effect.message))
                self.said.append(effect.message)
            elif isinstance(effect, Report):
                self.told.append((node, effect.outcome))


# ---------------------------------------------------------------------------------------------------------- alarms


def test_death_is_told_to_the_lowest_that_lives() -> None:
    """Whoever hears of a death tells who is to see to it; once."""
    state, effects = taken(C, member(), Requested(Died(A)))
    assert sent(effects) == [(B, Alarm((A,)))]
    assert taken(C, state, Requested(Died(A)))[1] == []


def test_the_lowest_musters_all_others() -> None:
    """The lowest has everybody that lives stop and say what it has."""
    state, effects = taken(A, member(), Requested(Died(B)))
    assert (state.promised, state.is_stopped) == ((1, A), True)
    assert sent(effects) == [(C, Muster((1, A), (B,))), (D, Muster((1, A), (B,)))]


def test_alarm_counts_as_having_heard_it() -> None:
    """The lowest need not have heard of the death itself."""
    _, effects = taken(A, member(), Received(C, Alarm((B,))))
    assert [type(message) for _, message in sent(effects)] == [Muster, Muster]


def test_restart_is_a_death() -> None:
    """The lowest of the others sees to it, and the process that came back is asked, too."""
    state, effects = taken(A, member(), PeerRestarted(C))
    assert [to for to, _ in sent(effects)] == [B, C, D]
    assert taken(B, member(), PeerRestarted(C))[1] == []
    assert state.dead == frozenset()


# ---------------------------------------------------------------------------------------------------------- musters


def test_who_is_mustered_stops() -> None:
    """What users want waits, and what is said in the old epoch is dropped."""
    state, effects = taken(B, member(), Received(A, Muster((1, A), (C,))))
    assert sent(effects) == [(A, Present((1, A), Survivor(B, 2, True)))]
    wish = Requested(Request())
    state, effects = taken(B, state, wish, Received(D, Within(FIRST, Token(1))))
    assert (state.wishes, state.early, effects) == ((wish,), (), [])


def test_earlier_ballots_are_refused() -> None:
    """Who has answered a muster answers no earlier one."""
    state = member(promised=(2, A), epoch=(2, A))
    _, effects = taken(B, state, Received(C, Muster((1, C), ())))
    assert sent(effects) == [(C, Refused((2, A)))]


def test_higher_process_leaves_the_repair_to_a_lower_one() -> None:
    """Who is refused gives up, unless it is the lowest, or the other one is dead."""
    mustering = Mustering((1, B), frozenset((C,)), ())
    before = member(promised=(1, B), mustering=mustering)
    state, effects = taken(B, before, Received(C, Refused((1, C))))
    assert (state.mustering, effects) == (None, [])
    state, _ = taken(B, replace(before, dead=frozenset((C,))), Received(D, Refused((1, C))))
    assert state.promised == (2, B)
    lowest = member(promised=(1, A), mustering=replace(mustering, ballot=(1, A)))
    state, _ = taken(A, lowest, Received(C, Refused((1, C))))
    assert state.promised == (2, A)


def test_repair_begins_again_when_another_dies() -> None:
    """Who makes a repair counts nobody that died meanwhile."""
    state, _ = taken(A, member(), Requested(Died(B)))
    state, effects = taken(A, state, Requested(Died(C)))
    assert sent(effects) == [(D, Muster((2, A), (B, C)))]


def test_newcomer_is_told_to_try_again() -> None:
    """A join that was under way is forgotten in a repair."""
    outside = SurvivingState(ElmpState(Out(), Seat(None)))
    state, _ = taken(D, outside, Requested(Join(B)))
    state, effects = taken(D, state, Received(A, Muster((1, A), (B,))))
    assert told(effects) == [Astray(B)]
    assert told(taken(D, state, Received(A, Renew((1, A), None)), Requested(Join(B)))[1]) == [Astray(B)]


# ----------------------------------------------------------------------------------------------------------- epochs


def test_what_comes_early_waits_for_the_epoch() -> None:
    """Messages of those who are in the new epoch already are taken when this process is."""
    state, _ = taken(B, member(), Received(A, Muster((1, A), (C,))))
    link = Link(9, (D, 10))
    state, _ = taken(B, state, Received(D, Within((1, A), link)))
    assert state.early == ((D, link),)
    place = Place(9, None, has_token=True)
    state, effects = taken(B, state, Received(A, Renew((1, A), Renewal(Seat(A), (place,), (), None))))
    assert (state.epoch, told(effects)) == ((1, A), [Repaired((1, A))])
    assert (D, Within((1, A), Token(10))) in sent(effects)


def test_new_token_is_granted() -> None:
    """Who waits longest gets the new token in the new epoch."""
    waiting = SurvivingState(leaf(places=(Place(7, 0, predecessor=(C, 6)),)))
    state, _ = taken(B, waiting, Received(A, Muster((1, A), (C,))))
    renewal = Renewal(Seat(A), (Place(7, 0),), (), None, 7)
    _, effects = taken(B, state, Received(A, Renew((1, A), renewal, is_new_token=True)))
    assert told(effects) == [Repaired((1, A), is_new_token=True), Granted(0, 7, use=1)]


def test_request_under_way_is_made_again() -> None:
    """A request that had no place yet is sent up again."""
    asking = SurvivingState(leaf(places=(Place(0, 4),)))
    state, _ = taken(B, asking, Received(A, Muster((1, A), (C,))))
    _, effects = taken(B, state, Received(A, Renew((1, A), Renewal(Seat(A), (), (), None))))
    assert [type(message.message) for _, message in sent(effects)] == [Climb]


def test_claim_whose_data_died_is_granted_again() -> None:
    """Who holds and has not fetched hears which version survives."""
    use = Use(1, 0, WHOLE, 5, Data(8, C), is_held=True)
    place = Place(5, 0, has_token=True, data=Data(8, C))
    state, _ = taken(B, SurvivingState(leaf(places=(place,), uses=(use,))), Received(A, Muster((1, A), (C,))))
    renewal = Renewal(Seat(A), (replace(place, data=Data(7, A)),), (), Data(7, A))
    _, effects = taken(B, state, Received(A, Renew((1, A), renewal)))
    assert told(effects)[-1] == Granted(0, 5, Data(7, A), use=1)


def test_who_is_believed_dead_is_fenced() -> None:
    """What it says is dropped, and it is told; it then takes no part, and its claims are void."""
    others = member(epoch=(2, A), promised=(2, A), dead=frozenset((C,)))
    _, effects = taken(B, others, Received(C, Within(FIRST, Token(1))))
    assert sent(effects) == [(C, Fenced((2, A)))]
    _, effects = taken(B, others, Received(C, Muster((9, C), ())))
    assert sent(effects) == [(C, Fenced((2, A)))]
    state, effects = taken(C, member(), Received(B, Fenced((2, A))))
    assert (state.inner.phase, state.epoch, told(effects)) == (Out(), (2, A), [Expelled()])


def test_later_epoch_that_went_on_without_it_expels_a_process() -> None:
    """Who hears of an epoch it was not asked for is no member of it."""
    state, effects = taken(C, member(), Received(B, Within((2, A), Token(1))))
    assert (state.inner.phase, told(effects)) == (Out(), [Expelled()])


def test_late_fence_means_nothing() -> None:
    """A fence for an epoch that this process knows is dropped."""
    before = member(epoch=(2, A), promised=(2, A))
    assert taken(C, before, Received(B, Fenced((2, A)))) == (before, [])


def test_newcomer_that_missed_a_repair_tries_again() -> None:
    """A hello of an epoch that is over is answered by the new one."""
    _, effects = taken(B, member(epoch=(2, A), promised=(2, A)), Received(D, Within(FIRST, Hello())))
    assert sent(effects) == [(D, Fenced((2, A)))]
    outside = SurvivingState(ElmpState(Out(), Seat(None)))
    joining, _ = taken(D, outside, Requested(Join(B)))
    state, effects = taken(D, joining, Received(B, Fenced((2, A))))
    assert (state.epoch, told(effects)) == ((2, A), [Astray(B)])


def test_former_life_is_not_answered_for() -> None:
    """A process that came back takes nothing that was meant for its former life."""
    machine = Surviving(Elmp(B, ElmpConfig(), seat=Seat(A), rank=2), peers=NODES)
    state, _ = machine.start((), 1)
    assert state.inner.phase == Out()
    assert machine.step(state, Received(A, Within(FIRST, Token(1)))) == (state, ())


# -------------------------------------------------------------------------------------------------------- all of it


@pytest.mark.parametrize("victim", range(5))
@pytest.mark.parametrize("holder", range(5))
def test_anybody_may_die(holder: int, victim: int) -> None:
    """Whoever holds and whoever dies: all that live get the token afterwards, one after the other."""
    town = Town(5)
    town.want(holder, Request())
    for node in range(5):
        if node != holder:
            town.want(node, Request())
    town.kill(victim)
    for _ in range(5):
        holders = [node for node in range(5) if node not in town.dead and town.states[node].inner.uses]
        if holders:
            town.want(holders[0], Release())
    served = {node for node, outcome in town.told if isinstance(outcome, Granted)}
    assert served >= set(range(5)) - {victim}


def test_data_survives_its_holder() -> None:
    """If who has the last version dies, the last one that anybody has counts."""
    town = Town(3, data=Data(1, A))
    town.want(1, Request())
    town.want(1, Release(0, Data(2, B)))
    town.kill(1)
    town.want(2, Request())
    granted = [outcome for node, outcome in town.told if node == 2 and isinstance(outcome, Granted)]
    assert granted[0].data is not None
    assert (granted[0].data.version, granted[0].data.holder) == (1, A)


def test_repair_messages_come_through_a_wire() -> None:
    """Everything that is said in a repair is the same after having been encoded and decoded."""
    town = Town(4, data=Data(1, A))
    for node in range(4):
        town.want(node, Request())
    town.kill(0)
    decoder = msgspec.msgpack.Decoder(RepairMessage)
    kinds = {type(message) for message in town.said}
    assert {Within, Muster, Present, Renew} <= kinds
    for message in town.said:
        assert decoder.decode(msgspec.msgpack.encode(message)) == message
