"""Formatting a text: read it, lay it out, and make sure that nothing else has changed."""

from __future__ import annotations

from solvent.hocl import parse_program
from solvent.hocl.layout import format_program
from solvent.running.interpreter import deep_stack
from solvent.running.program import check_length
from solvent.source import Source

_ROUNDS_MAX = 4


def format_text(text: str, name: str = "<text>") -> str:
    """Give a program's text in the common layout."""
    check_length(text, name)
    source = Source(text, name)
    with deep_stack():
        tree = parse_program(source)
        formatted = format_program(tree, source)
        # A comment in an odd place may settle only in the next round.
        for _ in range(_ROUNDS_MAX):
            again = Source(formatted, name)
            parsed = parse_program(again)
            # Whatever a fault of ours may do, it must not cost a user a program or a comment.
            assert parsed == tree, "the layout changed the program"
            assert len(parsed.comments) == len(tree.comments), "the layout lost a comment"
            before, formatted = formatted, format_program(parsed, again)
            if formatted == before:
                break
    return formatted
