"""Commands that are started for real: each imports what it needs, and no more than it needs."""

from __future__ import annotations

import re

import pytest

from solvent.cli.main import COMMANDS
from tests.cli.command import EXAMPLES, MAX, example, solvent, started

# Each takes as long to import as a small program takes to run.
SLOW = {"argparse", "asyncio", "dataclasses", "difflib", "inspect", "json", "msgspec", "rich", "urllib3", "yaml"}


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_commands(command: str) -> None:
    """Every command can be started, and explains itself."""
    result = started(command, "--help")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith(f"usage: solvent {command}")
    assert "example:" in result.out


def test_small_programs_start_quickly() -> None:
    """To run a program nothing is imported that takes long."""
    result = started("run", example("maximum"), options=("-X", "importtime"))
    assert result.code == 0
    imported = set(re.findall(r"\| +([\w.]+)$", result.err, re.MULTILINE))
    assert "solvent.engine.reactor" in imported
    assert imported & SLOW == {"argparse"}


def test_forked_commands_are_as_started_ones() -> None:
    """What most tests of the command line run is what a user starts: output, errors and exit code are the same."""
    missing = ("run", EXAMPLES / "none.hocl")
    for words in (("run", example("maximum")), missing, ("why", "--not"), ("--version",)):
        forked, real = solvent(*words), started(*words)
        assert (forked.code, forked.out, forked.err) == (real.code, real.out, real.err)
    assert solvent("run", "-", typed=MAX).out == "<9, max>\n"
