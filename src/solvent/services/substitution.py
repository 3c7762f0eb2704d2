"""Arguments in a text: `{0}` is the first argument, `{name}` a keyword, `{{name}}` the text `{name}` itself.

Everything else in braces is unchanged, so `awk '{print $1}'`, `${HOME}` and `find -exec … {}` work as they are.

In a shell command an argument becomes a positional parameter of the shell (`"${1}"`), never a part of the command's
text; so the shell never reads an argument as code. How the parameter is written depends on the quotes around it, and a
list becomes one word for each of its items.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from solvent.workflows.model import PLACE, names_in

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Mapping, Sequence


class NoArgument(LookupError):
    """A text names an argument that the call does not have."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    def __str__(self) -> str:
        return f"it needs the argument {{{self.name}}}, which the call does not have"


def text_of(value: Any) -> str:
    """Return a value as text for commands and addresses: structures as JSON where possible."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode(errors="surrogateescape")
    if isinstance(value, list | tuple | dict | bool):
        try:
            return json.dumps(value, ensure_ascii=False)
        except (TypeError, ValueError):
            return str(value)
    return "" if value is None else str(value)


def argument_named(name: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
    """Return the argument that a placeholder names."""
    if name.isdecimal():
        if int(name) < len(arguments):
            return arguments[int(name)]
    elif name in keywords:
        return keywords[name]
    raise NoArgument(name)


def fill(
    text: str, arguments: Sequence[Any], keywords: Mapping[str, Any], write: Callable[[Any], str] = text_of
) -> str:
    """Return a text with its arguments filled in."""

    def put(match: re.Match[str]) -> str:
        plain = match["plain"]
        return f"{{{plain}}}" if plain else write(argument_named(match["name"], arguments, keywords))

    return PLACE.sub(put, text)


def command_of(text: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Return a shell command that refers to its arguments as parameters, and the parameters."""
    parameters = list[str]()
    pieces = list[str]()
    quotes = Quotes()
    position = 0
    for match in PLACE.finditer(text):
        before = text[position : match.start()]
        quotes.read(before)
        pieces.append(before)
        position = match.end()
        if match["plain"]:
            pieces.append(f"{{{match['plain']}}}")
            continue
        value = argument_named(match["name"], arguments, keywords)
        words = [text_of(item) for item in value] if isinstance(value, list | tuple) else [text_of(value)]
        first = len(parameters) + 1
        parameters += words
        pieces.append(quotes.refer(range(first, first + len(words))))
    pieces.append(text[position:])
    return "".join(pieces), parameters


class Quotes:
    """Tracks the quotes of a shell command. A wrong guess may split words, but never runs an argument."""

    def __init__(self) -> None:
        self._stack = [""]

    def read(self, text: str) -> None:
        """Read the next part of the command."""
        stack = self._stack
        position = 0
        while position < len(text):
            letter = text[position]
            inside = stack[-1]
            if inside == "'":
                if letter == "'":
                    stack.pop()
            elif letter == "\\":
                position += 1
            elif letter == '"':
                stack.pop() if inside == '"' else stack.append('"')
            elif letter == "$" and text[position + 1 : position + 2] == "(":
                stack.append("(")
                position += 1
            elif letter == "'" and inside != '"':
                stack.append("'")
            elif letter == ")" and inside == "(":
                stack.pop()
            position += 1

    def refer(self, numbers: range) -> str:
        """Return a reference to parameters at this point."""
        inside = self._stack[-1]
        if inside == '"':
            return " ".join(f"${{{number}}}" for number in numbers)
        words = " ".join(f'"${{{number}}}"' for number in numbers)
        return f"'{words}'" if inside == "'" else words


__all__ = ["NoArgument", "argument_named", "command_of", "fill", "names_in", "text_of"]
