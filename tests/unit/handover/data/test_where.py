"""Where data is, as a message and as text."""

from __future__ import annotations

import pytest

from solvent.errors import DataProblem
from solvent.handover.data import Where, text_from_where, where_from_text

WHERE = Where(
    "matrix", 7, 100, "boot:1:2", "abc", 5, "127.0.0.1:7000", b"\x00secret\xff", "numpy <f8 10", keep_last=True
)


def test_what_is_shown_has_no_token() -> None:
    """The token is not in what may end up in a log."""
    assert "secret" not in repr(WHERE)
    assert "token" not in repr(WHERE)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"resource": 3}', "\udcff", text_from_where(WHERE)[:-1]])
def test_nonsense_is_an_error(text: str) -> None:
    """A text that does not say where data is has a code."""
    with pytest.raises(DataProblem) as caught:
        where_from_text(text)
    assert caught.value.code == "D208"
