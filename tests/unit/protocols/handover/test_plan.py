"""What is made of what survives: seats, the queue, one token, the data."""

from __future__ import annotations

from solvent.protocols.elmp.state import ElmpConfig, ElmpState, Idle, Place, Use
from solvent.protocols.elmp.vocabulary import WHOLE, Claim, Data, Granted, Part, Source
from solvent.protocols.handover.messages import Survivor
from solvent.protocols.handover.plan import planned
from solvent.protocols.handover.repair import renewed
from solvent.protocols.machine import Report
from tests.unit.protocols.elmp.acting import A, B, C, D

READ, PART = Claim(is_shared=True), Claim(length=5)


def test_data_that_is_found_counts_and_its_finder_takes_part() -> None:
    """If the holder is dead, somebody else may have the same version or a later one at hand."""
    plan = planned([Survivor(A, 1, stored=Data(6, A))], [Data(7, B), Data(6, C)], 2, 3)
    assert plan[A].data == Data(7, B)
    assert plan.keys() == {A, B}
    assert planned([Survivor(A, 1, stored=Data(6, A))], [Data(6, B)], 2, 3)[A].data == Data(6, A)


def test_data_of_who_lives_counts() -> None:
    """The version that the token names counts as long as its holder lives; else the last one that anybody has."""
    has_token = Place(5, None, has_token=True, data=Data(8, D))
    survivors = [Survivor(A, 1, (has_token,), stored=Data(6, A)), Survivor(B, 2, stored=Data(7, B))]
    assert planned(survivors, (), 2, 3)[A].data == Data(7, B)
    survivors += [Survivor(D, 4)]
    assert planned(survivors, (), 2, 3)[A].data == Data(8, D)


def test_claims_that_were_let_in_stay_let_in() -> None:
    """Claims of survivors that hold, wait, or have changed something since the data was whole are listed, in order."""
    named = Data(8, A, since=(4, 1))
    survivors = [
        Survivor(
            A,
            1,
            (Place(9, None, has_token=True, data=named),),
            (Use(2, 0, READ, 8), Use(1, None, PART, 3)),
        ),
        Survivor(B, 2, uses=(Use(1, None, PART, 5), Use(2, 1, WHOLE, 9))),
    ]
    entries = ((B, 1, PART, 5), (A, 2, READ, 8))
    plan = planned(survivors, (), 2, 3)
    assert plan[B].entries == entries
    assert plan[A].places[0].active == entries


def test_changes_without_data_mean_nothing() -> None:
    """If no version is left, changes of parts are forgotten."""
    plan = planned([Survivor(A, 1, uses=(Use(1, None, PART, 5),))], (), 2, 3)
    assert plan[A].entries == ()


def test_it_is_known_that_a_later_version_is_lost() -> None:
    """The token names it, who has it is dead, and nobody else has it; if somebody does, nothing is lost."""
    survivor = Survivor(A, 1, (Place(5, None, has_token=True, data=Data(8, D)),), stored=Data(6, A))
    assert planned([survivor], (), 2, 3)[A].is_older
    assert not planned([survivor], [Data(8, B)], 2, 3)[A].is_older
    assert not planned([survivor, Survivor(D, 2)], (), 2, 3)[A].is_older


def test_it_is_known_that_a_part_may_be_lost() -> None:
    """The token tells of a claim of one that is dead, and nobody has what it may have changed."""
    active = ((D, 4, PART, 3), (B, 4, READ, 3))
    survivor = Survivor(A, 1, (Place(5, None, has_token=True, data=Data(8, A), active=active),))
    assert planned([survivor], (), 2, 3)[A].is_older
    part = Part(C, D, 4, PART, 3, 8)
    assert not planned([survivor], [Data(8, C, parts=(part,))], 2, 3)[A].is_older
    reading = Survivor(A, 1, (Place(5, None, has_token=True, data=Data(8, A), active=active[1:]),))
    assert not planned([reading], (), 2, 3)[A].is_older


def test_claim_is_granted_again_if_a_part_of_its_data_was_at_who_died() -> None:
    """Another one has the part, and is named now."""
    data, source, part = Data(8, B), Source(D, 4, PART, 3), Part(C, D, 4, PART, 3, 8)
    place = Place(5, 0, has_token=True, data=data)
    use = Use(3, 0, WHOLE, 5, data, is_held=True, sources=(source,))
    survivors = [Survivor(A, 1, (place,), (use,)), Survivor(B, 2), Survivor(C, 3)]
    renewal = planned(survivors, [Data(8, C, parts=(part,))], 2, 3)[A]
    old = ElmpState(Idle(), rank=1, places=(place,), uses=(use,))
    effects = renewed(A, ElmpConfig(), old, renewal).effects
    granted = [one.outcome for one in effects if isinstance(one, Report)]
    assert granted == [Granted(0, 5, renewal.data, (), 3)]
    assert renewal.data is not None
    assert renewal.data.parts == (part,)
