r"""What a page needs to colour programs as they are typed: the expression and the words of the real lexer.

JavaScript writes the same expression a little differently, and its `\w` knows no letters but English ones;
everything else is as in `hocl.lexer`, so that the page colours what is read. A test compares the page with
`hocl.highlighting`.
"""

from __future__ import annotations

import re
from typing import Any

from solvent.lang.builtin import BUILTIN
from solvent.lang.kinds import KINDS
from solvent.lang.lexer import KEYWORDS, LEXEME, RULE_WORDS
from solvent.lang.pygments_lexer import CONSTANTS, ESCAPE, HEADER_WORDS, OPERATOR_WORDS, PUNCTUATION

_BETWEEN = re.compile(r"\s*\n\s*(?:\| )?")
_WRITTEN = {
    "(?P<": "(?<",
    r"[^\W\d]": r"[\p{L}\p{Nl}\p{No}_]",
    r"\w": r"[\p{L}\p{N}_]",
    r"\d": r"\p{Nd}",
    r"\b": r"(?![\p{L}\p{N}_])",
    r"\#": "#",
}


def words() -> dict[str, Any]:
    """Give the expression of lexemes and the words that are known."""
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
    """Write an expression as JavaScript does, with its flag `u`."""
    *lines, _ = _BETWEEN.split(f"{expression}\n")
    found = "|".join(line for line in lines if line)
    for python, script in _WRITTEN.items():
        found = found.replace(python, script)
    return found


__all__ = ["javascript", "words"]
