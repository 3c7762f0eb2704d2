"""Processes of a space as they must not be: one known fault each.

The checker finds all but the last, which is wrong about parts in a repair: the simulator finds that
(`tests/simulation/test_handover_parts.py`), where real hosts would lose what was released.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec.structs import replace

from solvent.protocols.elmp.vocabulary import WHOLE, Request
from solvent.protocols.handover import members, repair
from solvent.protocols.handover.messages import Muster, Present
from solvent.protocols.handover.plan import NUMBERS_BITS
from solvent.protocols.handover.quorum import Verdict, judged
from solvent.protocols.handover.state import Role
from solvent.protocols.handover.vocabulary import Go, In, Open, Opened
from solvent_lab.checker.registry import Variants
from solvent_lab.models.handover_world import READ, R, S, leaves, remembering, space, suspects, wants
from solvent_lab.variants import variant

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from solvent.protocols.elmp.state import ElmpState
    from solvent.protocols.elmp.vocabulary import Data
    from solvent.protocols.handover.messages import Attendance, Came, Going, Renew, Renewal, Went, Within
    from solvent.protocols.handover.state import Mustering, Step
    from solvent.protocols.handover.vocabulary import Ballot, Found
    from solvent.protocols.machine import NodeId

BROKEN = Variants()
Plans: TypeAlias = "list[tuple[str, dict[NodeId, Renewal]]]"

# --------------------------------------------------------------------------------------------- coming and going


@BROKEN.add(space, 2, [(1, Open(R))], opened=())
@variant(members, "on_open")
def makes_its_own(_on_open: Any, now: Step, resource: str) -> None:
    """A process that opens a resource creates it, founder or not."""
    members.made(now, resource)
    now.report(Opened(resource))


@BROKEN.add(space, 2, [], newcomers=[(0,)], opened=())
@variant(members, "have_noted")
def lets_in_at_once(have_noted: Any, now: Step, node: NodeId, news: Came | Went, *known: frozenset[NodeId]) -> None:
    """A new process is let in before all others know it."""
    have_noted(now, node, news, *known)
    if node in now.state.noting:
        members.settle(now, node)


@BROKEN.add(space, 3, [*wants(1, 2), (1, Go())], deaths=1, victims=(1,), is_instant=True)
@variant(members, "say_goodbye")
def says_no_goodbye(_say_goodbye: Any, now: Step) -> None:
    """A process that has left all resources may go while others still need what it has sent."""
    now.state.has_resigned = True
    now.state.noting = {**now.state.noting, now.me: frozenset()}
    members.ask_to_go(now)


@says_no_goodbye.also(members, "on_going")
def _(on_going: Any, now: Step, sender: NodeId, going: Going) -> None:
    on_going(now, sender, replace(going, noted=()))


@BROKEN.add(space, 3, [(1, Go())], newcomers=[(0,)], opened=())
@variant(members, "on_came")
def hides_from_newcomers(on_came: Any, now: Step, sender: NodeId, came: Came) -> bool:
    """A process that has said goodbye does not say it to those that enter later."""
    noting = dict(now.state.noting)
    waiting = noting.pop(now.me, None)
    now.state.noting = noting
    is_news = bool(on_came(now, sender, came))
    if waiting is not None:
        now.state.noting = {**now.state.noting, now.me: waiting}
    return is_news


# ------------------------------------------------------------------------------------------------------- epochs


@BROKEN.add(space, 3, [*suspects((0, 2)), *wants(1, 2)], is_instant=True)
@variant(members, "on_within")
def takes_what_is_over(on_within: Any, now: Step, sender: NodeId, within: Within) -> None:
    """Messages of an earlier epoch count: the old token comes back."""
    on_within(now, sender, replace(within, epoch=max(within.epoch, now.state.epoch)))


@BROKEN.add(space, 3, suspects((1, 0), (1, 2), (0, 1)), opened=())
@variant(repair, "judge")
def needs_no_majority(_judge: Any, now: Step, answers: Mapping[NodeId, Attendance]) -> Verdict:
    """A process that believes all others dead continues alone."""
    return judged(answers, now.state.dead, needs_majority=False)


@BROKEN.add(space, 3, suspects((0, 1), (1, 0)), opened=())
@variant(repair, "on_renew")
def waits_for_no_agreement(on_renew: Any, now: Step, sender: NodeId, message: Renew) -> None:
    """A repair completes as soon as it is planned, and counts processes that another repair has mustered."""
    on_renew(now, sender, message)
    repair.on_proceed(now, message.ballot)


@waits_for_no_agreement.also(repair, "renew")
def _(renew: Any, now: Step, mustering: Mustering, verdict: Verdict) -> None:
    renew(now, mustering, verdict)
    if now.state.agreed is not None:
        repair.proceed(now, now.state.agreed)


@BROKEN.add(space, 3, suspects((0, 1), (1, 0)), opened=())
@variant(repair, "agree")
def forgets_what_it_agreed_to(agree: Any, now: Step, renew: Renew) -> None:
    """A process that has agreed to one repair does not say so when it answers another."""
    agree(now, renew)
    now.state.agreements = ()


@BROKEN.add(space, 3, suspects((0, 1), (1, 0)), opened=())
@variant(repair, "on_muster")
def answers_twice(on_muster: Any, now: Step, sender: NodeId, message: Muster) -> None:
    """A process that has answered a muster answers an earlier one too, and continues when either is done."""
    if message.ballot < now.state.promised:
        now.state.promised = message.ballot
        now.send(sender, Present(message.ballot, repair.attendance(now, {})))
    else:
        on_muster(now, sender, message)


@BROKEN.add(space, 4, [(3, Go()), *suspects((0, 1), (0, 2), (1, 0))], opened=())
@variant(repair, "attendance")
def goers_vote(attendance: Any, now: Step, found: Found) -> Attendance:
    """A process that has said goodbye still votes, although those that heard it no longer count it."""
    answer: Attendance = attendance(now, found)
    return replace(answer, is_voter=now.state.role is Role.INSIDE)


@BROKEN.add(remembering, 3, wants(1), deaths=2, victims=(1, 2))
@variant(repair, "be_without")
def asks_nobody_again(be_without: Any, now: Step, node: NodeId) -> None:
    """If a process dies before it answers a muster, the others are not asked again what they find."""
    mustering = now.state.mustering
    if mustering is None or node in mustering.answers():
        be_without(now, node)
    else:
        repair.consider_renewing(now)


# -------------------------------------------------------------------------------------------------------- plans


@BROKEN.add(remembering, 2, wants(0, 1), deaths=1)
@variant(repair, "attendance")
def asks_for_no_data(attendance: Any, now: Step, _found: Found) -> Attendance:
    """Processes are not asked what data they have."""
    answer: Attendance = attendance(now, {})
    return answer


@BROKEN.add(space, 3, wants(1, 2), deaths=1)
@variant(repair, "plans")
def makes_a_token_always(plans: Any, now: Step, answers: list[Attendance], ballot: Ballot) -> Plans:
    """A new token is made although a process has the old one."""
    seen = [_without_places(one, lambda place: not place.has_token) for one in answers]
    made: Plans = plans(now, seen, ballot)
    return made


@makes_a_token_always.also(repair, "proceed")
def _(proceed: Any, now: Step, renew: Renew) -> None:
    renewals = []
    for name, renewal in renew.renewals:
        old = now.state.resources.get(name)
        kept = () if old is None else tuple(place for place in old.places if place.has_token)
        renewals.append((name, replace(renewal, places=(*kept, *renewal.places))))
    proceed(now, replace(renew, renewals=tuple(renewals)))


@BROKEN.add(space, 3, wants(1, 2), deaths=1)
@variant(repair, "plans")
def forgets_who_waits(plans: Any, now: Step, answers: list[Attendance], ballot: Ballot) -> Plans:
    """Waiting places are not carried over."""
    made: Plans = plans(now, [_without_places(one, lambda place: place.has_token) for one in answers], ballot)
    return made


def _without_places(one: Attendance, is_kept: Callable[[Any], bool]) -> Attendance:
    parts = [(name, replace(part, places=tuple(filter(is_kept, part.places)))) for name, part in one.parts]
    return replace(one, parts=tuple(parts))


@BROKEN.add(space, 3, [(1, In(R, Request(claim=READ))), *wants(2)], deaths=1, is_in_order=False)
@variant(repair, "proceed")
def waits_for_the_dead(proceed: Any, now: Step, renew: Renew) -> None:
    """A claim keeps waiting for one of a process that has died."""
    renewals = []
    for name, renewal in renew.renewals:
        old = now.state.resources.get(name)
        entries = () if old is None else tuple((*one, WHOLE, 0) for use in old.uses for one in use.awaits)
        renewals.append((name, replace(renewal, entries=(*renewal.entries, *entries))))
    proceed(now, replace(renew, renewals=tuple(renewals)))


@BROKEN.add(space, 2, wants(0, 1), deaths=1)
@variant(repair, "plans")
def counts_on(plans: Any, now: Step, answers: list[Attendance], ballot: Ballot) -> Plans:
    """Turns continue from what survivors know, although a dead process knew of later ones."""
    turns = max([0, *(place.turn for one in answers for _, part in one.parts for place in part.places)])
    less = (ballot[0] << NUMBERS_BITS) - turns

    def lower(renewal: Renewal) -> Renewal:
        seat = renewal.seat
        places = tuple(
            replace(place, turn=place.turn - less) if place.turn > turns else place for place in renewal.places
        )
        tail = seat.tail if seat.tail is None or seat.tail[1] <= turns else (seat.tail[0], seat.tail[1] - less)
        return replace(renewal, places=places, seat=replace(seat, turns=max(0, seat.turns - less), tail=tail))

    made: Plans = plans(now, answers, ballot)
    return [(name, {node: lower(one) for node, one in plan.items()}) for name, plan in made]


@BROKEN.add(remembering, 2, [*wants(1), *wants(0, resource=S)], second=(0, 1), deaths=1)
@variant(repair, "attendance")
def takes_one_for_another(attendance: Any, now: Step, found: Found) -> Attendance:
    """What is found of one resource counts for all."""
    last = max(found.values(), key=lambda one: one.version, default=None)
    answer: Attendance = attendance(now, {} if last is None else dict.fromkeys((*now.state.resources, *found), last))
    return answer


def _proceed_with(proceed: Any, now: Step, renew: Renew, left_of: Callable[[ElmpState], ElmpState]) -> None:
    """Carry over less of each resource."""
    now.state.resources = {name: left_of(part) for name, part in now.state.resources.items()}
    proceed(now, renew)


@BROKEN.add(remembering, 3, wants(1), deaths=1, victims=(0,), is_late=True)
@variant(repair, "proceed")
def grants_nothing_again(proceed: Any, now: Step, renew: Renew) -> None:
    """A claim stays held though its data was at a process that died, and its user cannot fetch the data."""

    def left_of(part: ElmpState) -> ElmpState:
        return replace(part, uses=tuple(replace(use, data=None) if use.is_held else use for use in part.uses))

    _proceed_with(proceed, now, renew, left_of)


@BROKEN.add(space, 3, [*wants(1), *wants(2, patience=1)], keepers=(1,), deaths=1, victims=(0,))
@variant(repair, "proceed")
def forgets_patience(proceed: Any, now: Step, renew: Renew) -> None:
    """A claim with a time limit waits for ever after a repair."""
    _proceed_with(proceed, now, renew, lambda part: replace(part, timed=()))


@BROKEN.add(space, 2, [*wants(0), *wants(1, patience=1), *suspects((1, 0))], keepers=(0,))
@variant(members, "still_wanted")
def grants_who_gave_up(_still_wanted: Any, _now: Step, _resource: str, renewal: Renewal) -> Renewal:
    """A claim that was given up after the muster is back after the repair."""
    return renewal


@BROKEN.add(space, 3, leaves(1), deaths=1, victims=(0, 2))
@variant(repair, "proceed")
def forgets_who_leaves(proceed: Any, now: Step, renew: Renew) -> None:
    """A process that was about to leave a resource stays in it after a repair, and is not told."""
    _proceed_with(proceed, now, renew, lambda part: replace(part, departure=None))


# --------------------------------------------------------------------------------------------------- parts in a repair


def _plans_with(
    plans: Any, now: Step, answers: list[Attendance], ballot: Ballot, seen: Callable[[Data], Data]
) -> Plans:
    """Plan with other data than was found."""
    changed = [replace(one, found=tuple((name, seen(data)) for name, data in one.found)) for one in answers]
    made: Plans = plans(now, changed, ballot)
    return made


@variant(repair, "plans")
def counts_no_parts(plans: Any, now: Step, answers: list[Attendance], ballot: Ballot) -> Plans:
    """Of two memories that have the same version any one counts, however many parts were changed there since."""
    return _plans_with(plans, now, answers, ballot, lambda data: replace(data, parts=0))


PARTS = {counts_no_parts.name: counts_no_parts}

__all__ = ["BROKEN", "PARTS"]
