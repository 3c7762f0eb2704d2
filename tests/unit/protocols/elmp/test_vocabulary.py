"""Claims: what overlaps, what excludes what, what covers what."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from solvent.protocols.elmp.vocabulary import WHOLE, Claim

CLAIMS = st.builds(
    Claim, is_shared=st.booleans(), first=st.integers(0, 6), length=st.one_of(st.none(), st.integers(1, 6))
)


def parts(claim: Claim) -> set[int]:
    """Give what is claimed of the first twenty."""
    return set(range(claim.first, 20 if claim.length is None else claim.first + claim.length))


@given(one=CLAIMS, other=CLAIMS)
def test_claims_overlap_where_they_have_a_part_in_common(one: Claim, other: Claim) -> None:
    """Overlapping is having something in common, and the same for both."""
    assert one.overlaps(other) == other.overlaps(one) == bool(parts(one) & parts(other))


@given(one=CLAIMS, other=CLAIMS)
def test_only_readers_share(one: Claim, other: Claim) -> None:
    """Claims that overlap exclude each other unless both only read."""
    assert one.excludes(other) == (bool(parts(one) & parts(other)) and not (one.is_shared and other.is_shared))


@given(one=CLAIMS, other=CLAIMS)
def test_claim_covers_what_is_part_of_it(one: Claim, other: Claim) -> None:
    """Covering is having all of the other one's parts, the end among them if that has it."""
    is_to_the_end = one.length is None or other.length is not None
    assert one.covers(other) == (parts(other) <= parts(one) and is_to_the_end)


@given(claim=CLAIMS)
def test_plain_claim_excludes_everything(claim: Claim) -> None:
    """A claim of the whole, exclusively, and no other, excludes every claim."""
    assert WHOLE.excludes(claim)
    assert WHOLE.is_plain
    assert claim.is_plain == (claim == WHOLE)
