"""The services of the diamond: an order is read, priced and added up line by line."""

from __future__ import annotations


def read(order: str) -> list[list[str]]:
    """Give the names, the amounts and the prices of an order such as `apple 3 0.40, pear 5 0.25`."""
    lines = [line.split() for line in order.split(",")]
    return [list(column) for column in zip(*lines, strict=True)]


def in_cents(prices: list[str]) -> list[int]:
    """Give prices in cents."""
    return [round(float(price) * 100) for price in prices]


def in_cents_by_bank(prices: list[str]) -> list[int]:
    """Ask the bank, which is closed."""
    raise ConnectionError(f"the bank is closed and converts none of {len(prices)} prices")


def amounts(columns: list[list[str]]) -> list[int]:
    """Give the amounts of a whole order."""
    return [int(amount) for amount in columns[1]]


def multiply(price: int, amount: int) -> int:
    """Give what one line costs."""
    return price * amount
