"""The reference of options, `docs/reference/options.md`: made of the parsers that read the words of each command.

    python -m tests.repo.options          write the page (`make reference`)

A test compares what is written with what would be written, so the page cannot say what is not so any more.
"""

from __future__ import annotations

import re
from argparse import SUPPRESS, _SubParsersAction
from importlib import import_module
from typing import TYPE_CHECKING, Any

from solvent.cli.main import COMMANDS
from solvent_lab.cli import WORDS
from tests.repo.project import ROOT

if TYPE_CHECKING:
    from argparse import Action, ArgumentParser

PAGE = ROOT / "docs" / "reference" / "options.md"
_INTRO = """\
# Every command and option

<!-- Made by `make reference` of the commands' own parsers; do not edit. -->

What `solvent COMMAND --help` prints, for all commands at once. [The command line](command-line.md) tells what they are
for and shows them at work.
"""


def made() -> str:
    """Make the page."""
    parts = [_INTRO]
    for command, says in COMMANDS.items():
        parts.append(f"\n## {command}\n\n{says[0].upper()}{says[1:]}.\n")
        parser = import_module(f"solvent.cli.{command}").parser()
        parts.append(_section(parser, ""))
        words = [one for one in parser._actions if isinstance(one, _SubParsersAction)]
        parts += [_section(one, f"{command} {word}") for action in words for word, one in action.choices.items()]
    parts.append("\n## lab\n\nThe words of the package `solvent-lab`.\n")
    for word in WORDS:
        module = import_module(f"solvent_lab.cli.{word}")
        # What comes first names a protocol, and has no options of its own.
        variants = module.variants() if hasattr(module, "variants") else {}
        behind = {f"{word} {name}": one for name, one in variants.items()} or {word: module.parser()}
        parts += [_section(one, f"lab {words}") for words, one in behind.items()]
    return "".join(parts)


def _section(parser: ArgumentParser, words: str) -> str:
    formatter: Any = parser._get_formatter()
    usage = re.sub(r"\s+", " ", parser.format_usage()).removeprefix("usage: ").strip()
    positional = [one for one in parser._actions if not one.option_strings]
    shown = " ".join([parser.prog, "[OPTIONS]", *_words_of(usage, positional, formatter)])
    text = f"\n### `solvent {words}`\n" if words else ""
    text += f"\n```text\n{shown}\n```\n\n| | |\n|---|---|\n"
    for action in parser._actions:
        if "--help" not in action.option_strings and action.help != SUPPRESS:
            text += f"| `{_invocation(action, formatter)}` | {_cell(formatter._expand_help(action))} |\n"
    return text


def _words_of(usage: str, positional: list[Action], formatter: Any) -> list[str]:
    """Give the words of a command that are no options, as its usage writes them."""
    words = [formatter._format_args(one, formatter._get_default_metavar_for_positional(one)) for one in positional]
    assert all(word in usage for word in words), usage
    return words


def _invocation(action: Action, formatter: Any) -> str:
    return _cell(formatter._format_action_invocation(action)).replace("\\|", "|")


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|").strip()


if __name__ == "__main__":
    PAGE.write_text(made(), encoding="utf-8")
