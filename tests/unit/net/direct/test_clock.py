"""Times at which something is due."""

from __future__ import annotations

from solvent.net.direct.clock import NEVER, Clock


def _due(clock: Clock, now: float) -> list[str]:
    found = list[str]()
    for name, call in clock.due(now):
        call(name)
        found.append(name)
    return found


def test_what_is_due_comes_in_the_order_of_its_times() -> None:
    """Earlier times come first, whatever the order in which they were set."""
    clock = Clock()
    for name, at in (("c", 3.0), ("a", 1.0), ("b", 2.0), ("d", 9.0)):
        clock.set(name, at, lambda _: None)
    assert _due(clock, 5.0) == ["a", "b", "c"]
    assert clock.next_at == 9.0


def test_what_was_set_anew_comes_once_at_its_new_time() -> None:
    """The former time counts no more."""
    clock = Clock()
    clock.set("a", 1.0, lambda _: None)
    clock.set("a", 4.0, lambda _: None)
    assert clock.next_at == 4.0
    assert _due(clock, 3.0) == []
    assert _due(clock, 4.0) == ["a"]
    assert clock.next_at == NEVER


def test_what_was_stopped_never_comes() -> None:
    """Also if its time is over already."""
    clock = Clock()
    clock.set("a", 1.0, lambda _: None)
    clock.set("b", 1.0, lambda _: clock.stop("c"))
    clock.set("c", 1.0, lambda _: None)
    clock.stop("a")
    clock.stop("unknown")
    assert not clock.is_set("a")
    assert _due(clock, 2.0) == ["b"]


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
