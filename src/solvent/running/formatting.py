"""Formatting a text: read it, lay it out, and make sure that nothing else has changed."""

from __future__ import annotations

from solvent.hocl import parse_program
from solvent.hocl.layout import format_program
from solvent.running.program import check_length, deep_stack
from solvent.source import Source


def format_text(text: str, name: str = "<text>") -> str:
    """Give a program's text in the common layout."""
    check_length(text, name)
    source = Source(text, name)
    with deep_stack():
        tree = parse_program(source)
        formatted = format_program(tree, source)
        again = parse_program(Source(formatted, name))
    # Whatever a fault of ours may do, it must not cost a user a program or a comment.
    assert again == tree, "the layout changed the program"
    assert len(again.comments) == len(tree.comments), "the layout lost a comment"
    return formatted
