"""The kit that all protocols are written with."""

from __future__ import annotations

import msgspec
import pytest

from solvent.protocols.elmp.messages import ElmpMessage


@pytest.mark.parametrize("text", ['{"type":"Agreed","size":1}', '{"type":"Pang"}', '{"number":1}'])
def test_a_message_with_anything_unknown_is_not_read(text: str) -> None:
    """Unknown fields and unknown tags are errors, not guesses."""
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(text, type=ElmpMessage)
