"""The neutral form of molecules: a record is a head and its arguments, `("edge", 3, 7, 12)`.

Every system gets its own notation from it and gives it back, so that what they leave can be compared. In HOCL
and in the hand-written loops a `num` is a bare integer, a `count` or a `cell` a tuple without a head, and any
other record a tuple that begins with a symbol.
"""

import hashlib
import re
from collections.abc import Iterable
from typing import TypeAlias

Argument: TypeAlias = int | str
Record: TypeAlias = tuple[Argument, ...]
Plain: TypeAlias = int | tuple[Argument, ...]

HEADLESS = frozenset({"count", "cell"})

_TERM = re.compile(r"(\w+)\(([^()]*)\)|(-?\d+)")


def plain_from_record(record: Record) -> Plain:
    """Give the molecule as plain Python: an integer, or a tuple with its symbol, if any, in upper case."""
    head = str(record[0])
    if head == "num":
        return int(record[1])
    return record[1:] if head in HEADLESS else (head.upper(), *record[1:])


def call_from_record(record: Record, *, quote: str = "") -> str:
    """Write the record as a call, `edge(3,7,12)`; strings stand between `quote`s."""
    return f"{record[0]}({','.join(_text(argument, quote) for argument in record[1:])})"


def list_from_record(record: Record) -> str:
    """Write the record as a list, `(edge 3 7 12)`."""
    return f"({record[0]} {' '.join(_text(argument, '') for argument in record[1:])})"


def records_from_text(text: str) -> list[Record]:
    """Read calls and bare integers back, whatever stands between them."""
    records: list[Record] = []
    for head, arguments, number in _TERM.findall(text):
        if number:
            records.append(("num", int(number)))
        else:
            records.append((head, *(_argument(part) for part in arguments.split(","))))
    return records


def canonical(records: Iterable[Record]) -> list[Record]:
    """Sort records, so that equal multisets become equal lists; numbers come before words."""
    return sorted(records, key=lambda record: [(isinstance(part, str), part) for part in record])


def digest(records: list[Record]) -> str:
    """Give a short name that equal multisets of records share."""
    return hashlib.sha256(repr(canonical(records)).encode()).hexdigest()[:16]


def _text(argument: Argument, quote: str) -> str:
    return f"{quote}{argument}{quote}" if isinstance(argument, str) else str(argument)


def _argument(text: str) -> Argument:
    text = text.strip().strip("\"'")
    return int(text) if text.lstrip("-").isdigit() else text
