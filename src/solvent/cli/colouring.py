"""Programs in colours, for a terminal: rules look as they do in traces, and the palette is the terminal's own.

Imported only where colours can be seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygments import token
from rich.style import Style
from rich.syntax import ANSISyntaxTheme, Syntax

from solvent.lang.pygments_lexer import HoclLexer

if TYPE_CHECKING:
    from rich.text import Text

# Only colours that stand out on a light background as on a dark one.
_THEME = ANSISyntaxTheme(
    {
        token.Comment: Style(dim=True),
        token.Keyword: Style(color="magenta"),
        token.Keyword.Type: Style(color="cyan"),
        token.Operator.Word: Style(color="magenta"),
        token.Name.Function: Style(color="cyan", bold=True),
        token.Name.Builtin: Style(color="cyan"),
        token.Name.Constant: Style(color="blue"),
        token.String: Style(color="green"),
        token.String.Escape: Style(color="green", bold=True),
        token.Error: Style(color="red", bold=True),
    }
)


def coloured(text: str) -> Text:
    """Give a program or a solution in colours."""
    found = Syntax("", HoclLexer(stripnl=False, ensurenl=False), theme=_THEME, background_color="default")
    return found.highlight(text)


__all__ = ["coloured"]
