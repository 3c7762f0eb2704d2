"""Results of services may be longer than what a rule may make: the limits on growing values do not concern them."""

from __future__ import annotations

from typing import Any

import pytest

import solvent
from solvent import service, workflow
from solvent.lang.molecule import MAX_ITEMS, MAX_PARTS

LENGTH = MAX_PARTS + 1
ROWS = 3


@service
def numbers() -> list[int]:
    """Return a long list."""
    return [0] * LENGTH


@service
def pairs() -> list[list[int]]:
    """Return a list of lists that is long with all that is inside."""
    return [[0, 1]] * (LENGTH // 2)


@service
def rows() -> list[list[int]]:
    """Return a few long lists."""
    return [[0] * (MAX_ITEMS // ROWS + 1)] * ROWS


@service
def size(items: Any) -> int:
    """Return how many there are."""
    return len(items)


@workflow
def of_numbers() -> int:
    """Pass a long list on."""
    return size(numbers())


@workflow
def of_pairs() -> int:
    """Pass a long list of lists on."""
    return size(pairs())


@pytest.mark.parametrize("flow, length", [(of_numbers, LENGTH), (of_pairs, LENGTH // 2)])
def test_long_list_is_passed_on(flow: Any, length: int) -> None:
    """A task gets a list of more parts than a product of a rule may hold twice."""
    report = solvent.run(flow)
    assert (report.succeeded, report.results) == (True, {"size": length})


def test_each_takes_items_that_are_long_together() -> None:
    """A service is called for each of a few lists that have more items together than a list of a rule may have."""

    @workflow
    def flow() -> list[int]:
        return size.each(rows())

    report = solvent.run(flow)
    assert (report.succeeded, report.results) == (True, {"size": [MAX_ITEMS // ROWS + 1] * ROWS})
