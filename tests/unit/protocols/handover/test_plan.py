"""What is made of what survives: seats, the queue, one token, the data."""

from __future__ import annotations

from msgspec.structs import replace

from solvent.protocols.elmp.state import ElmpConfig, ElmpState, Idle, Place, Use
from solvent.protocols.elmp.vocabulary import WHOLE, Claim, Data, Granted
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


def test_of_one_version_that_with_more_parts_counts() -> None:
    """It says of itself that parts were changed; what is torn counts less only if it has no more than another."""
    survivors = [Survivor(A, 1), Survivor(B, 2), Survivor(C, 3)]
    found = [Data(8, A, parts=2), Data(8, B, parts=3), Data(7, C, parts=9)]
    assert planned(survivors, found, 2, 3)[A].data == Data(8, B, has_parts=True)
    assert planned(survivors, [Data(8, B), Data(7, C, parts=1)], 2, 3)[A].data == Data(8, B)
    torn = Data(8, A, "lost", parts=3, is_torn=True)
    assert planned(survivors, [torn, found[1]], 2, 3)[A].data == Data(8, B, has_parts=True)
    data = planned(survivors, [torn, replace(found[1], parts=2)], 2, 3)[A].data
    assert data is not None
    assert data.details == "lost"


def test_a_part_that_is_being_changed_may_be_there_already() -> None:
    """Its claim is not over, and the data is found without a word of it."""
    use = Use(3, 0, PART, 5, Data(8, D), is_held=True)
    survivors = [Survivor(A, 1, uses=(use,)), Survivor(B, 2)]
    assert planned(survivors, [Data(8, B)], 2, 3)[A].data == Data(8, B, has_parts=True)
    reading = [Survivor(A, 1, uses=(replace(use, claim=READ),)), Survivor(B, 2)]
    assert planned(reading, [Data(8, B)], 2, 3)[A].data == Data(8, B)


def test_who_has_looked_knows_better_than_from_memory() -> None:
    """What a process had last may have been overwritten by others that share its memory."""
    survivors = [Survivor(A, 1, stored=Data(7, A)), Survivor(B, 2)]
    for told, version in (([Data(-1, A), Data(6, B)], 6), ([], 7)):
        data = planned(survivors, told, 2, 3)[A].data
        assert data is not None
        assert data.version == version


def test_claims_that_were_let_in_stay_let_in() -> None:
    """Claims of survivors that hold or wait are listed, in order."""
    survivors = [
        Survivor(A, 1, (Place(9, None, has_token=True, data=Data(8, A)),), (Use(2, 0, READ, 8),)),
        Survivor(B, 2, uses=(Use(1, 0, PART, 5), Use(2, 1, WHOLE, 9))),
    ]
    entries = ((B, 1, PART, 5), (A, 2, READ, 8))
    plan = planned(survivors, (), 2, 3)
    assert plan[B].entries == entries
    assert plan[A].places[0].active == entries


def test_it_is_known_that_a_later_version_is_lost() -> None:
    """The token names it, who has it is dead, and nobody else has it; if somebody does, nothing is lost."""
    survivor = Survivor(A, 1, (Place(5, None, has_token=True, data=Data(8, D)),), stored=Data(6, A))
    assert planned([survivor], (), 2, 3)[A].is_older
    assert not planned([survivor], [Data(8, B)], 2, 3)[A].is_older
    assert not planned([survivor, Survivor(D, 2)], (), 2, 3)[A].is_older


def test_it_is_known_that_a_part_may_be_lost() -> None:
    """Parts may have been changed, who has them is dead, and who has the same version may have fewer."""
    for has_parts in (False, True):
        place = Place(5, None, has_token=True, data=Data(8, D, has_parts=has_parts))
        assert planned([Survivor(A, 1, (place,))], [Data(8, C)], 2, 3)[A].is_older is has_parts
        assert not planned([Survivor(A, 1, (place,)), Survivor(D, 2)], [Data(8, C)], 2, 3)[A].is_older


def test_claim_is_granted_again_if_its_data_was_at_who_died() -> None:
    """Another one has it, and is named now; who has changed a part brings it there."""
    data = Data(8, D)
    place, use = Place(5, 0, has_token=True, data=data), Use(3, 0, WHOLE, 5, data, is_held=True)
    part = Use(2, 1, PART, 4, data, is_held=True)
    renewal = planned([Survivor(A, 1, (place,), (use, part)), Survivor(C, 3)], [Data(8, C)], 2, 3)[A]
    now = renewed(A, ElmpConfig(), ElmpState(Idle(), rank=1, places=(place,), uses=(use, part)), renewal)
    found = Data(8, C, has_parts=True)
    granted = [one.outcome for one in now.effects if isinstance(one, Report)]
    assert granted == [Granted(0, 5, found, 3), Granted(1, 4, found, 2)]
    assert {one.data for one in now.state.uses} == {found}
