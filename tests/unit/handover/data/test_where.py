"""Where data is."""

from __future__ import annotations

from solvent.handover.data import Where

WHERE = Where(
    "matrix", 7, 100, "boot:1:2", "abc", 5, "127.0.0.1:7000", b"\x00secret\xff", "numpy <f8 10", keep_last=True
)


def test_what_is_shown_has_no_token() -> None:
    """The token is not in what may end up in a log."""
    assert "secret" not in repr(WHERE)
    assert "token" not in repr(WHERE)
