r"""What the editor of the playground needs: example programs, and the words that it colours.

The examples are those of the project, which an installed Solvent has in its own folder, without those that call Python
functions; the table of `examples/hocl/README.md` describes them. The colours follow the expression and the words of the
real lexer. JavaScript writes the same expression a little differently, and its `\w` has only English letters. A test
compares the page with `lang.pygments_lexer`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from solvent.lang.builtin import BUILTIN
from solvent.lang.lexer import KEYWORDS, LEXEME, OPERATOR_WORDS, RULE_WORDS
from solvent.lang.pygments_lexer import CONSTANTS, ESCAPE, HEADER_WORDS, PUNCTUATION
from solvent.lang.rule import KINDS

_PACKED = Path(__file__).resolve().parents[2] / "examples"
"""Where a wheel has the examples."""
_SOURCES = Path(__file__).resolve().parents[4] / "examples" / "hocl"
"""Where they are when Solvent runs from its sources."""
FIRST = ("maximum", "primes", "barrier", "philosophers-deadlock", "closures")
"""The examples for newcomers, in this order."""
_ROW = re.compile(r"^\| \[(?P<name>[\w-]+)\]\([^)]*\) \| (?P<shows>[^|]*?) \|", re.MULTILINE)
_BETWEEN = re.compile(r"\s*\n\s*(?:\| )?")
_WRITTEN = {
    "(?P<": "(?<",
    r"[^\W\d]": r"[\p{L}\p{Nl}\p{No}_]",
    r"\w": r"[\p{L}\p{N}_]",
    r"\d": r"\p{Nd}",
    r"\b": r"(?![\p{L}\p{N}_])",
    r"\#": "#",
}


class Example(msgspec.Struct, frozen=True):
    """An example program."""

    name: str
    shows: str
    text: str


def examples() -> list[Example]:
    """Return the examples, those for newcomers first; none if they are not installed."""
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


def words() -> dict[str, Any]:
    """Return the expression of lexemes and the known words."""
    return {
        "lexeme": javascript(LEXEME.pattern),
        "escape": javascript(ESCAPE),
        "keywords": sorted(KEYWORDS),
        "constants": sorted(CONSTANTS),
        "operators": sorted(OPERATOR_WORDS),
        "headers": sorted(HEADER_WORDS),
        "rules": sorted(RULE_WORDS),
        "punctuation": sorted(PUNCTUATION),
        "kinds": sorted(KINDS),
        "builtin": sorted(filter(str.isidentifier, BUILTIN)),
    }


def javascript(expression: str) -> str:
    """Return an expression as JavaScript writes it, with its flag `u`."""
    *lines, _ = _BETWEEN.split(f"{expression}\n")
    found = "|".join(line for line in lines if line)
    for python, script in _WRITTEN.items():
        found = found.replace(python, script)
    return found


__all__ = ["FIRST", "examples", "javascript", "words"]
