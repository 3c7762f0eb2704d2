"""The services of the patterns: small pure functions, so that what a workflow gives shows how it went."""

from __future__ import annotations


def numbers(count: int) -> list[int]:
    """Give the numbers from 1 up to a count."""
    return list(range(1, count + 1))


def lowest(values: list[int]) -> int:
    """Give the lowest of some numbers."""
    return min(values)


def highest(values: list[int]) -> int:
    """Give the highest of some numbers."""
    return max(values)


def difference(one: int, other: int) -> int:
    """Give how far two numbers are apart."""
    return abs(one - other)


def doubled(number: int) -> int:
    """Give twice a number."""
    return 2 * number


def named(value: object) -> str:
    """Say what a value is."""
    return f"the result is {value}"
