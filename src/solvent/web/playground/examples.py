"""Programs to begin with: the examples of the project, which an installed Solvent has in its own folder.

Those that call Python functions are left out: the playground has none. What a program shows is told by the table of
`examples/hocl/README.md`.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

_PACKED = Path(__file__).resolve().parents[2] / "examples"
"""Where a wheel has them."""
_SOURCES = Path(__file__).resolve().parents[4] / "examples" / "hocl"
"""Where they are when Solvent runs from its sources."""
FIRST = ("maximum", "primes", "barrier", "philosophers-deadlock", "closures")
"""What a newcomer reads first, in this order."""
_ROW = re.compile(r"^\| \[(?P<name>[\w-]+)\]\([^)]*\) \| (?P<shows>[^|]*?) \|", re.MULTILINE)


class Example(msgspec.Struct, frozen=True):
    """A program to begin with."""

    name: str
    shows: str
    text: str


def examples() -> list[Example]:
    """Give the examples, those for newcomers first; none where they were not installed."""
    folder = next((one for one in (_PACKED, _SOURCES) if (one / "README.md").is_file()), None)
    if folder is None:
        return []
    shows = {row["name"]: row["shows"] for row in _ROW.finditer((folder / "README.md").read_text(encoding="utf-8"))}
    files = [file for file in sorted(folder.glob("*/*.hocl")) if file.stem == file.parent.name]
    found = {
        file.stem: Example(file.stem, shows.get(file.stem, ""), file.read_text(encoding="utf-8"))
        for file in files
        if not (file.parent / "functions.py").exists()
    }
    first = [name for name in FIRST if name in found]
    return [found[name] for name in [*first, *(name for name in found if name not in FIRST)]]


__all__ = ["Example", "examples"]
