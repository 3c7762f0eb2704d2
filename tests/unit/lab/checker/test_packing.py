"""Worlds become rows of numbers and come back as they were."""

from __future__ import annotations

from solvent_lab.checker.packed_worlds import Numbered


def test_objects_that_are_gone_are_not_taken_for_new_ones() -> None:
    """Numbers go by value where the object that was kept is another one."""
    numbered: Numbered[tuple[int, ...]] = Numbered()
    assert [numbered.number((one // 2, "x" * one)) for one in range(1000)] == list(range(1000))
    assert [numbered.number((one // 2, "x" * one)) for one in range(1000)] == list(range(1000))
