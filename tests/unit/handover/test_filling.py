"""Where claims begin and end."""

from __future__ import annotations

from solvent.handover.filling import ends_of
from solvent.protocols.elmp.vocabulary import WHOLE, Claim


def test_claims_end_where_the_data_ends() -> None:
    """What lies beyond the data is not there."""
    assert ends_of(WHOLE, 0) == (0, 0)
    assert ends_of(Claim(first=50, length=100), 60) == (50, 60)
    assert ends_of(Claim(first=70, length=10), 60) == (60, 60)
