"""Parts that lie over each other: compared with bytes that are coloured one after the other, and thousands of them."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from solvent.protocols.elmp.messages import Await, Done, Superseded, Token
from solvent.protocols.elmp.pieces import laid, uncovered
from solvent.protocols.elmp.state import Place, Use
from solvent.protocols.elmp.vocabulary import Claim, Data, Part, Release, Source
from solvent.protocols.machine import Received, Requested
from tests.growth import executed_lines
from tests.unit.protocols.elmp.acting import A, B, C, leaf, sent, taken, told

CLAIMS = st.lists(st.builds(Claim, first=st.integers(0, 9), length=st.none() | st.integers(1, 9)), max_size=9)
END = 30


def stretch(claim: Claim) -> range:
    """Give what is claimed of the first thirty."""
    return range(claim.first, END if claim.length is None else claim.first + claim.length)


@given(claims=CLAIMS)
def test_later_parts_lie_over_earlier_ones(claims: list[Claim]) -> None:
    """What is left of each part is what no later one has, in as few pieces as can be, and in the same order."""
    colours = [-1] * END
    for number, claim in enumerate(claims):
        for place in stretch(claim):
            colours[place] = number
    row = laid([Part(A, B, number, claim) for number, claim in enumerate(claims)])
    assert [one.use for one in row] == sorted(one.use for one in row)
    assert {place: one.use for one in row for place in stretch(one.claim)} == {
        place: colour for place, colour in enumerate(colours) if colour >= 0
    }
    assert all(one.use != other.use or stretch(one.claim).stop < other.claim.first for one, other in pairwise(row))


@given(claims=CLAIMS)
def test_a_change_counts_until_one_later_change_covers_it(claims: list[Claim]) -> None:
    """Several that only together cover it leave it, since none of them has relieved who made it."""
    sources = tuple(Source(A, number, claim) for number, claim in enumerate(claims))
    left = [one for one in sources if not any(later.claim.covers(one.claim) for later in sources[one.use + 1 :])]
    assert list(uncovered(sources)) == left


def _claim_of_the_whole(count: int) -> None:
    """Claim the whole where one process has changed so many parts."""
    parts = [Claim(first=10 * number, length=10) for number in range(count)]
    uses = tuple(Use(number, None, claim, 1) for number, claim in enumerate(parts))
    active = tuple((A, number, claim, 1) for number, claim in enumerate(parts))
    changer, claimer = leaf(uses=uses), leaf(places=(Place(2, 0, predecessor=(A, 1), next=(C, 3)),))
    claimer, effects = taken(B, claimer, Received(A, Token(2, Data(1, A), active)))
    ((_, asked),) = sent(effects)
    assert isinstance(asked, Await)
    changer, effects = taken(A, changer, Received(B, asked))
    ((_, done),) = sent(effects)
    assert isinstance(done, Done)
    claimer, effects = taken(B, claimer, Received(A, done))
    assert len(told(effects)[0].sources) == count
    claimer, effects = taken(B, claimer, Requested(Release(0, Data(2, B))))
    (over,) = [message for _, message in sent(effects) if isinstance(message, Superseded)]
    changer, _ = taken(A, changer, Received(B, over))
    assert changer.uses == ()


def test_a_claim_of_the_whole_over_many_parts_asks_once_and_takes_no_longer_for_each() -> None:
    """Who has changed thousands of parts is asked, answers and is relieved in one message each."""
    # Ten times as many took a hundred times the work when each part was looked at once for each other.
    assert executed_lines(lambda: _claim_of_the_whole(1_000)) < 20 * executed_lines(lambda: _claim_of_the_whole(100))
