"""What may follow on the command line, by command: made of the commands' own parsers, for scripts of shells."""

from __future__ import annotations

import re
from argparse import SUPPRESS
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING

from solvent.cli.main import COMMANDS

if TYPE_CHECKING:
    from argparse import Action, ArgumentParser
    from collections.abc import Iterable

FILE, FOLDER, RUN, ANY = "<file>", "<folder>", "<run>", "<any>"
"""Values that are no fixed words; no word of a command has these signs."""
_KINDS = {
    "FILE": FILE, "WORKFLOW": FILE, "MODULE.py": FILE, "OUT.json": FILE, "HOSTS.yaml": FILE, "URL": FILE, "DIR": FOLDER,
}  # fmt: skip
_LATER = re.compile(r"\s*\(.*", re.DOTALL)
"""Where defaults and conditions begin, in what is said of an option."""
_RUNS = ("status", "logs", "cancel", "resume", "replay", "timeline")


@dataclass
class Follows:
    """What may follow a command, or a command and its first word."""

    options: dict[str, str | None] = field(default_factory=dict)
    """By name what its value is: words, or a kind; nothing where it has none."""
    says: dict[str, str] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    """Words and kinds that are no options."""


def parsers_of(module: str) -> tuple[ArgumentParser, dict[str, ArgumentParser]]:
    """Return the parser of a command's module, and by words those that read what follows these."""
    command = import_module(module)
    return command.parser(), command.variants() if hasattr(command, "variants") else {}


def what_follows() -> dict[str, Follows]:
    """Give what may follow each command; where its first word changes that, also by `command word`."""
    found: dict[str, Follows] = {}
    for command in COMMANDS:
        parser, variants = parsers_of(f"solvent.cli.{command.replace('-', '_')}")
        ways = [one for words, one in variants.items() if words.startswith("-")]
        found[command] = _follows(command, [parser, *ways])
        for word, behind in variants.items():
            if not word.startswith("-"):
                found[command].words.append(word)
                found[f"{command} {word}"] = _follows(command, [behind])
    for one in found.values():
        one.words = list(dict.fromkeys(one.words))
    return found


def _follows(command: str, parsers: Iterable[ArgumentParser]) -> Follows:
    found = Follows()
    for parser in parsers:
        for action in parser._actions:  # noqa: SLF001 - argparse has no other way to ask
            if action.help == SUPPRESS:
                continue
            value = _value(action)
            if not action.option_strings:
                if action.dest == "run":
                    value = RUN if command in _RUNS else FOLDER
                found.words += [] if value == ANY else (value or "").split()
            for name in action.option_strings:
                found.options.setdefault(name, value)
                found.says.setdefault(name, _LATER.sub("", action.help or "").replace("%%", "%"))
    return found


def _value(action: Action) -> str | None:
    if action.option_strings and action.nargs == 0:
        return None
    if action.choices is not None:
        return " ".join(map(str, action.choices))
    if action.dest == "attach":
        return RUN
    return _KINDS.get(str(action.metavar), ANY)


__all__ = ["ANY", "FILE", "FOLDER", "RUN", "Follows", "parsers_of", "what_follows"]
