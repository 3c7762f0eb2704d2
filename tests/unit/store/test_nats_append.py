"""How several records are divided into batches and groups."""

from __future__ import annotations

import pytest

pytest.importorskip("nats")

from solvent.store.nats_streams import Sending, _groups, _is_fenced_within, _pieces


def _sending(subject: str, expected: int | None = None, size: int = 1) -> Sending:
    return Sending(subject, bytes(size), expected)


def test_what_follows_a_fence_waits() -> None:
    """A group ends behind a row of records with an expected position."""
    a, b, fence, other = _sending("a"), _sending("b"), _sending("own", 7), _sending("second", 0)
    assert list(_groups([a, fence, other, b, a, fence])) == [[a, fence, other], [b, a, fence]]
    assert list(_groups([a, b])) == [[a, b]]
    assert list(_groups([])) == []


def test_batches_are_of_limited_size() -> None:
    """Neither records nor bytes are too many for one batch; each record is in one."""
    many = [_sending(str(number)) for number in range(1201)]
    assert [len(piece) for piece in _pieces(many)] == [500, 500, 201]
    large = [_sending("a", size=3 << 20) for _ in range(5)]
    assert [len(piece) for piece in _pieces(large)] == [2, 2, 1]
    assert list(_pieces([])) == []


def test_a_fence_on_what_the_batch_itself_appends_is_found() -> None:
    """A batch cannot compare with its own records."""
    assert _is_fenced_within([_sending("a"), _sending("a", 3)])
    assert not _is_fenced_within([_sending("a", 3), _sending("a"), _sending("b", 0)])
