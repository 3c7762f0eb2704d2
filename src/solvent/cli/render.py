"""Output: coloured on a terminal, plain on a pipe.

A line is written from pieces; a piece is a text, or a text with a style. `rich` is imported only for
a terminal.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias

from solvent.cli.secrecy import redacted

if TYPE_CHECKING:
    from solvent.engine.trace import Record
    from solvent.errors import SolventError
    from solvent.lang.doubts import Doubt

Piece: TypeAlias = str | tuple[str, str]
_MAX_TEXT = 300
_MAX_RULE = 32
_MAX_COLOURED = 100_000
"""Longer texts are not coloured, which takes time."""
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n|\Z)")
"""Characters that would change a terminal: all control characters but tabs and ends of lines."""
_consoles: dict[int, Any] = {}
_forms: dict[str, bool] = {}


def write(*pieces: Piece, to: TextIO | None = None) -> None:
    """Write one line."""
    stream = to if to is not None else sys.stdout
    if not stream.isatty():
        stream.write(harmless("".join(one if isinstance(one, str) else one[0] for one in pieces)) + "\n")
        return
    from rich.text import Text

    text = Text()
    for one in pieces:
        words, *style = (one,) if isinstance(one, str) else one
        text.append(harmless(words), *style)
    _console(stream).print(text, soft_wrap=True, highlight=False)


def harmless(text: str) -> str:
    """Return a text, which may come from a service, without characters that would change the terminal."""
    return text if text.isprintable() else _CONTROL.sub("\ufffd", text)


def write_program(text: str) -> None:
    """Write a program or a solution to standard output, in colours where they can be seen."""
    if not sys.stdout.isatty():
        sys.stdout.write(text)
        return
    text = harmless(text)
    if len(text) > _MAX_COLOURED:
        sys.stdout.write(text)
        return
    _console(sys.stdout).print(_coloured(text), soft_wrap=True, highlight=False, end="")


def _coloured(text: str) -> Any:
    """Return a program or a solution in the terminal's own colours; rules look as they do in traces."""
    from pygments import token
    from rich.style import Style
    from rich.syntax import ANSISyntaxTheme, Syntax

    from solvent.lang.pygments_lexer import HoclLexer

    # Only colours that stand out on a light background as on a dark one.
    theme = ANSISyntaxTheme(
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
    lexer = HoclLexer(stripnl=False, ensurenl=False)
    return Syntax("", lexer, theme=theme, background_color="default").highlight(text)


def _console(stream: TextIO) -> Any:
    if id(stream) not in _consoles:
        from rich.console import Console

        _consoles[id(stream)] = Console(file=stream)
    return _consoles[id(stream)]


def write_json(value: Any) -> None:
    """Write a value as one line of JSON."""
    digits = sys.get_int_max_str_digits()
    # A result may be a number of any length.
    sys.set_int_max_str_digits(0)
    try:
        sys.stdout.write(_json_text(value) + "\n")
    finally:
        sys.set_int_max_str_digits(digits)


def use_json(*, is_so: bool) -> None:
    """Write errors and notes as JSON from now on, or as text."""
    _forms["is_json"] = is_so


def is_json_used() -> bool:
    """Return whether errors are written as JSON."""
    return _forms.get("is_json", False)


def _json_text(value: Any) -> str:
    import json

    return harmless_json(json.dumps(value, ensure_ascii=False))


def harmless_json(text: str) -> str:
    """Escape characters that would change the terminal and that JSON leaves as they are."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _write_object(kind: str, fields: dict[str, Any]) -> None:
    sys.stderr.write(_json_text({kind: fields}) + "\n")


def complain(message: str, *, hint: str = "") -> None:
    """Write a message to standard error."""
    if is_json_used():
        _write_object("note", {"message": message, **({"hint": hint} if hint else {})})
        return
    write((message, "bold red"), to=sys.stderr)
    if hint:
        write(f"  hint: {hint}", to=sys.stderr)


def show_error(error: SolventError) -> None:
    """Write an error to standard error: what, where, the marked line, the hint."""
    if is_json_used():
        from solvent.hocl.json_fields import error_as_json

        fields = error_as_json(error)
        if "rule" not in fields and (details := list(error.details())):
            fields["details"] = details
        _write_object("error", {key: redacted(one) if isinstance(one, str) else one for key, one in fields.items()})
        return
    first, *others = redacted(error.show()).split("\n")
    write((first, "bold red"), to=sys.stderr)
    for line in others:
        style = "cyan" if line.startswith("  hint:") else "red" if line.lstrip().startswith("| ") else ""
        write((line, style), to=sys.stderr)


def show_doubt(doubt: Doubt) -> None:
    """Write a warning to standard error."""
    if is_json_used():
        from solvent.hocl.json_fields import doubt_as_json

        _write_object("warning", doubt_as_json(doubt))
        return
    write_doubt(doubt, to=sys.stderr)


def write_doubt(doubt: Doubt, *, to: TextIO | None = None) -> None:
    """Write a warning: what, where, the marked line, the hint."""
    first, *others = doubt.show().split("\n")
    write((first, "bold yellow"), to=to)
    for line in others:
        write(line, to=to)


# --- Reactions.


def shortened(text: str, max_length: int = _MAX_TEXT) -> str:
    """Cut a long text in its middle."""
    if len(text) <= max_length:
        return text
    return f"{text[: max_length - max_length // 4]} … {text[-max_length // 4 :]}"


def write_reaction(record: Record, *, width: int = 4, to: TextIO | None = None) -> None:
    """Write one reaction: number, rule, what it took and left; deeper solutions further to the right."""
    margin = "  " * record.level
    number: Piece = (f"{record.number:>{width}}  ", "dim")
    change = reaction_pieces(record)
    place: list[Piece] = [(f"   in {record.place}", "dim")] if record.place else []
    if len(record.rule) <= _MAX_RULE:
        write(number, margin, (record.rule, "bold cyan"), ": ", *change, *place, to=to)
        return
    write(number, margin, (shortened(record.rule), "bold cyan"), to=to)
    write(" " * (width + 6), margin, *change, *place, to=to)


def reaction_pieces(record: Record) -> list[Piece]:
    """Return what a reaction took and what it left; what it only read is on both sides."""
    before, after = (", ".join(map(shortened, texts)) or "nothing" for texts in (record.before, record.after))
    return [before, (" -> ", "bold"), (after, "green")]


def counted(count: int, noun: str) -> str:
    """Write a number with its noun: `1 reaction`, `2 reactions`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
