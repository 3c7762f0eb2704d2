"""What processes tell each other of data."""

from __future__ import annotations

from solvent.handover.words import (
    home_from_text,
    is_part,
    next_version,
    part_version,
)
from solvent.protocols.machine import NodeId

A, B = NodeId(1), NodeId(2**31 - 1)


def test_versions_grow_with_turns_and_within_one() -> None:
    """A version is later than its base, and that of a later turn is later than all of an earlier one."""
    first = next_version(5, -1)
    second = next_version(5, first)
    assert first < second < next_version(6, first)
    assert next_version(5, next_version(6, 0)) > next_version(6, 0)


def test_versions_of_parts_tell_who_wrote_them() -> None:
    """No two claims of parts have the same version, and none has one of the whole."""
    versions = {part_version(node, use) for node in (A, B) for use in (0, 1, 2**32 - 1)}
    assert len(versions) == 6
    assert all(is_part(version) and version < 2**64 for version in versions)
    assert not is_part(next_version(2**46, 0))


def test_what_is_no_home_is_none() -> None:
    """What was not said by a process of this kind is not taken for where one is."""
    assert home_from_text("127.0.0.1:7000") is None
    assert home_from_text("a b c not-hexadecimal") is None
