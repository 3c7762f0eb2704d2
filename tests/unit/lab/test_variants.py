"""Variants of a protocol: single functions replaced for a while."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from solvent.protocols.machine import Report, Requested
from solvent_lab.checker import Model, Verdict, check
from solvent_lab.checker.registry import Variants
from solvent_lab.variants import variant

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.protocols.machine import Effects, Event

HERE = sys.modules[__name__]


def doubled(number: int) -> int:
    """Double a number."""
    return add(number, number)


def add(one: int, other: int) -> int:
    """Add two numbers."""
    return one + other


@variant(HERE, "add")
def adds_one_more(add: Callable[[int, int], int], one: int, other: int) -> int:
    """A sum is too large.

    By one.
    """
    return add(one, other) + 1


class Doubler:
    """A machine that doubles what is requested."""

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> tuple[int, Effects]:
        """Begin with nothing."""
        del saved, life
        return 0, ()

    def step(self, state: int, event: Event) -> tuple[int, Effects]:
        """Double it."""
        assert isinstance(event, Requested)
        return state + doubled(event.request), (Report(doubled(event.request)),)


def doubler(request: int) -> Model:
    """Build a world of one machine and one request."""
    return Model(
        machines=(Doubler(),), requests=((0, request),), invariants=(lambda world: world.states[0] in (0, 2 * request),)
    )


def test_a_function_is_replaced_while_the_variant_is_applied() -> None:
    """Other functions that call it call the replacement; afterwards, also after an error, all is as before."""
    with adds_one_more.applied():
        assert doubled(2) == 5
    with pytest.raises(KeyError), adds_one_more.applied():
        raise KeyError
    assert doubled(2) == 4


def test_a_variant_can_replace_several_functions() -> None:
    """They are replaced together."""

    @variant(HERE, "add")
    def wrong(_add: object, _one: int, _other: int) -> int:
        """Everything is wrong."""
        return 0

    @wrong.also(HERE, "doubled")
    def one_less(doubled: Callable[[int], int], number: int) -> int:
        return doubled(number) - 1

    with wrong.applied():
        assert (add(1, 1), doubled(2)) == (0, -1)
    assert (add(1, 1), doubled(2)) == (2, 4)


def test_what_is_no_function_of_the_module_is_refused() -> None:
    """A function that was renamed is noticed when its variants are made."""
    with pytest.raises(AttributeError, match="subtract"):
        variant(HERE, "subtract")(lambda: None)


def test_a_model_of_a_variant_is_explored_with_it() -> None:
    """It is named after the variant, has its title, and the sound model is as sound afterwards."""
    broken = Variants()
    broken.add(doubler, 3)(adds_one_more)
    model = broken["adds-one-more"]()
    assert model.title == "A sum is too large"
    assert check(model).verdict is Verdict.VIOLATED
    assert check(doubler(3)).verdict is Verdict.HOLDS
