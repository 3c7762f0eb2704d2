"""The file of a film: molecules, each with the reactions between which it is there, and the reactions.

A molecule is there from reaction `born` to reaction `died`: after the n-th reaction a solution has those with
`born <= n < died`. So no moment is written down as a whole, and every moment is one look at an index.
"""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING, Any, NamedTuple, Self

if TYPE_CHECKING:
    from pathlib import Path

FOREVER = 2**62
"""When what is still there at the end goes."""
ROOT = 1
"""The solution that all others are inside of."""
MAX_TEXT = 4_000
_ROWS_AT_ONCE = 2_000
_LAYOUT = """
CREATE TABLE molecule (
  id INTEGER PRIMARY KEY, solution INTEGER, kind INTEGER, text TEXT, parts TEXT, born INTEGER, died INTEGER,
  made INTEGER, length INTEGER);
CREATE TABLE solution (id INTEGER PRIMARY KEY, molecule INTEGER);
CREATE TABLE reaction (number INTEGER PRIMARY KEY, rule TEXT, what TEXT, solution INTEGER, at REAL);
CREATE TABLE part (reaction INTEGER, role INTEGER, molecule INTEGER);
CREATE TABLE touched (task TEXT, reaction INTEGER);
CREATE TABLE rule (name TEXT PRIMARY KEY, text TEXT);
CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT);
"""
_INDEXES = """
CREATE INDEX inside ON molecule (solution, kind, id, born, died);
CREATE INDEX parts ON part (reaction);
CREATE INDEX uses ON part (molecule);
CREATE INDEX touches ON touched (task, reaction);
CREATE INDEX tasks ON touched (reaction);
"""


class Kind:
    """What a molecule is, in the order in which they are shown."""

    NESTED, FLAT, RULE = range(3)


class Role:
    """What a reaction did with a molecule."""

    TAKEN, KEPT, CHANGED, MADE = range(4)


class Molecule(NamedTuple):
    """A molecule of a film."""

    id: int
    solution: int
    kind: int
    text: str
    #: Of one that holds solutions: texts, and the numbers of the solutions between them, as JSON.
    parts: str | None
    born: int
    died: int
    #: The reaction that made it; nothing for those that were there at first, or came from outside.
    made: int | None
    #: How many characters its text has; more than there are here if it is long.
    length: int


class Sheet:
    """Writes a film."""

    def __init__(self, path: Path) -> None:
        self._base = sqlite3.connect(path)
        # Nobody else has it, and if it is not finished it is thrown away.
        self._base.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;" + _LAYOUT)
        self._waiting: dict[str, list[tuple[Any, ...]]] = {}
        self.rows = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._base.close()

    def write(self, table: str, *row: Any) -> None:
        """Write a row, soon."""
        waiting = self._waiting.setdefault(table, [])
        waiting.append(row)
        self.rows += 1
        if len(waiting) >= _ROWS_AT_ONCE:
            self._flush(table)

    def _flush(self, table: str) -> None:
        rows = self._waiting.pop(table, [])
        if rows:
            marks = ",".join("?" * len(rows[0]))
            self._base.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", rows)  # noqa: S608 - a constant

    def finish(self, **about: Any) -> None:
        """Write what there is, and what is to be known of the whole."""
        for table in list(self._waiting):
            self._flush(table)
        self._base.executemany(
            "INSERT INTO about VALUES (?, ?)", [(key, json.dumps(one)) for key, one in about.items()]
        )
        self._base.executescript(_INDEXES)
        self._base.commit()


__all__ = ["FOREVER", "MAX_TEXT", "ROOT", "Kind", "Molecule", "Role", "Sheet"]
