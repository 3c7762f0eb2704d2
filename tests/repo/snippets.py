"""Fenced blocks of Markdown pages: found with their line, their language and the words after it.

Only what the documentation uses is understood: fences of three or more backticks or tildes, perhaps indented
inside a list item, closed by at least as many of the same sign. The first word after the fence is the
language, the rest are remarks: `no-check` (show this, do not try it), `file=NAME` (commands of the same page
find this text under that name).
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass

_FENCE = re.compile(r"^ *(?P<signs>`{3,}|~{3,})(?P<info>.*)$")


@dataclass(frozen=True, kw_only=True)
class Block:
    """One fenced block: its language, remarks, text, and the page's line on which its text begins."""

    language: str
    remarks: tuple[str, ...]
    text: str
    line: int

    @property
    def file(self) -> str | None:
        """Give the name under which the block is saved for the page's commands, if it has one."""
        return next((word.removeprefix("file=") for word in self.remarks if word.startswith("file=")), None)


def blocks_of(page: str) -> list[Block]:
    """Find the fenced blocks of a page, in order; one that is never closed is an error."""
    blocks: list[Block] = []
    signs, info, start, inside = "", "", 0, list[str]()
    for number, line in enumerate(page.splitlines(), start=1):
        fence = _FENCE.match(line)
        if not signs:
            if fence:
                signs, info, start, inside = fence["signs"], fence["info"], number + 1, []
        elif fence and fence["signs"].startswith(signs) and not fence["info"].strip():
            blocks.append(_block(info, inside, start))
            signs = ""
        else:
            inside.append(line)
    if signs:
        raise ValueError(f"the block that begins on line {start - 1} is never closed")
    return blocks


def _block(info: str, lines: list[str], start: int) -> Block:
    language, *remarks = info.split() or [""]
    text = textwrap.dedent("\n".join(lines) + "\n")
    return Block(language=language, remarks=tuple(remarks), text=text, line=start)
