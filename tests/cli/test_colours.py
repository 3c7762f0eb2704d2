"""Programs on a terminal: in colours there, and the same characters as on a pipe."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import time

from tests.cli.command import arguments, environment, example, solvent

_SEQUENCE = re.compile(r"\x1b\[[0-9;]*m")


def _on_terminal(*words: str, colour: bool) -> str:
    """Run a command on a terminal of its own, and give what it wrote there."""
    surroundings = {**environment(), "TERM": "xterm-256color"}
    if colour:
        del surroundings["NO_COLOR"]
    ours, its = pty.openpty()
    with subprocess.Popen(arguments(*words), stdin=its, stdout=its, stderr=its, env=surroundings) as process:
        os.close(its)
        seen = b""
        until = time.monotonic() + 200
        while time.monotonic() < until:
            try:
                piece = os.read(ours, 65536)
            except OSError:
                break
            if not piece:
                break
            seen += piece
        assert process.wait(200) == 0
    os.close(ours)
    return seen.decode().replace("\r\n", "\n")


def test_programs_are_coloured_on_a_terminal() -> None:
    """`fmt` colours words by what they are, and changes no character."""
    file = str(example("maximum"))
    plain = solvent("fmt", file).out
    seen = _on_terminal("fmt", file, colour=True)
    assert _SEQUENCE.sub("", seen) == plain
    assert re.search(r"\x1b\[35(;49)?mreplace", seen)


def test_solutions_are_plain_where_colours_are_not_wanted() -> None:
    """`run` on a terminal with `NO_COLOR` writes what it writes to a pipe."""
    file = str(example("maximum"))
    seen = _on_terminal("run", file, colour=False)
    assert "\x1b[35" not in seen
    assert _SEQUENCE.sub("", seen) == solvent("run", file).out
