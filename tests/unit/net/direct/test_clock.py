"""Times at which something is due."""

from __future__ import annotations

from solvent.net.direct.clock import Clock


def _due(clock: Clock, now: float) -> list[str]:
    found = list[str]()
    for name, call in clock.due(now):
        call(name)
        found.append(name)
    return found


def test_what_is_set_for_now_by_what_is_due_comes_the_next_time() -> None:
    """Something that sets itself for now again and again does not keep its thread for ever."""
    clock = Clock()

    def again(name: str) -> None:
        clock.set(name, 0.0, again)

    clock.set("a", 1.0, again)
    assert _due(clock, 2.0) == ["a"]
    assert _due(clock, 2.0) == ["a"]
    clock.clear()
    assert _due(clock, 2.0) == []
