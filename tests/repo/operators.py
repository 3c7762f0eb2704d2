"""The operators in the reference of the language, `docs/reference/language.md`: a table made of the rows in the code.

python -m tests.repo.operators        write the table (`make reference`)
"""

from __future__ import annotations

import re

from solvent.lang.operators import NOT_IN, OPERATORS, PREFIXES
from tests.repo.project import ROOT

PAGE = ROOT / "docs" / "reference" / "language.md"
_TABLE = re.compile(r"(?<=\n\| binds \| written \| also \| computes \|\n\|---\|---\|---\|---\|\n)(?:\|.*\n)*")


def made() -> str:
    """Make the page with its table anew."""
    rows = sorted([*OPERATORS.values(), *PREFIXES.values()], key=lambda one: one.power)
    text = ""
    for one in rows:
        also = [*one.spellings, *one.spellings_between]
        cells = [f"{one.power}", _code(one.form), ", ".join(map(_code, also)), one.doc]
        text += f"| {' | '.join(cells)} |\n"
        if one.symbol == "in":
            text += f"| {one.power} | `x not in l` | {_code(NOT_IN)} | The same as `!(x in l)`. |\n"
    return _TABLE.sub(lambda _: text, PAGE.read_text(encoding="utf-8"))


def _code(text: str) -> str:
    escaped = text.replace("|", r"\|")
    return f"`{escaped}`"


if __name__ == "__main__":
    PAGE.write_text(made(), encoding="utf-8")
