"""What processes tell each other of data."""

from __future__ import annotations

from solvent.handover.words import (
    LOST,
    Details,
    Home,
    details_from_text,
    home_from_text,
    is_part,
    lost_data,
    next_version,
    part_version,
    rest_of,
    text_from_details,
    writer_of,
)
from solvent.protocols.machine import NodeId

A, B = NodeId(1), NodeId(2**31 - 1)


def test_homes_are_read_as_they_are_said() -> None:
    """Where a process is comes back as it was, also without an address for data; nonsense is nothing."""
    for home in (Home("127.0.0.1:1", "[::1]:2", "boot:1:2", b"token"), Home("host:1", "", "boot", b"")):
        assert home_from_text(home.text()) == home
    assert home_from_text("127.0.0.1:7000") is None
    assert home_from_text("a b c not-hexadecimal") is None


def test_details_are_read_as_they_are_said() -> None:
    """Which version somebody has comes back as it was, with blanks in the form; lost data has none."""
    rest = rest_of(96, 2**61, keep_last=True, form="numpy <f8 3,4")
    assert details_from_text(text_from_details(7, rest)) == Details(7, 96, 2**61, True, "numpy <f8 3,4")
    assert details_from_text(text_from_details(7, rest_of(0, 1, keep_last=False, form=""))) == Details(
        7, 0, 1, False, ""
    )
    assert details_from_text(LOST) is None
    assert lost_data(A).version < 0


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


def test_a_part_tells_its_writer() -> None:
    """Who has written it, and under which claim, is read from its version."""
    for node, use in ((A, 1), (B, 2**32 - 1), (B, 0)):
        assert writer_of(part_version(node, use)) == (node, use)


def test_details_tell_how_many_copies_there_are_to_be() -> None:
    """Data whose last version is kept nowhere has no copies."""
    rest = rest_of(96, 5, keep_last=True, form="", copies=3)
    assert details_from_text(text_from_details(7, rest)) == Details(7, 96, 5, True, "", 3)
    assert details_from_text(text_from_details(7, rest_of(0, 1, keep_last=False, form="", copies=3))) == Details(
        7, 0, 1, False, ""
    )
