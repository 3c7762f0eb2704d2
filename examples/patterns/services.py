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


def taken(value: object) -> object:
    """Take something as it comes: an order, a claim, a question."""
    return value


def told(what: str, *values: object) -> str:
    """Say what was done, and with what; what has not arrived is left out."""
    there = [str(value) for value in values if value is not None]
    return f"{what}({', '.join(there)})" if there else what


def counted(number: int) -> int:
    """Count one further."""
    return number + 1


def fewer(number: int) -> int:
    """Count one back."""
    return number - 1


def total(*values: int) -> int:
    """Add some numbers up."""
    return sum(values)


def listed(what: str, values: list[object]) -> str:
    """Say what was done with each thing of a list, in the order of the list."""
    return told(what, *values)


def gathered(what: str, values: list[object]) -> str:
    """Say how many things were there, whichever they are."""
    return f"{what} {len(values)}"


def paired(one: object, other: object) -> str:
    """Put two things together."""
    return f"{one}-{other}"


def refused(value: object) -> object:
    """Fail: nobody is there."""
    raise ConnectionError(f"no answer about {value}")


def exactly(count: int, values: list[object]) -> str:
    """Take so many things, not fewer and not more."""
    if len(values) != count:
        raise ValueError(f"there should be {count}, and there are {len(values)}")
    return told("all", *values)


def howmany(values: list[object]) -> int:
    """Tell how many things there are."""
    return len(values)
