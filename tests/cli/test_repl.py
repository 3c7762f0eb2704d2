"""`solvent repl` on a pipe and on a terminal."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import time
from typing import TYPE_CHECKING

from tests.cli.command import FOREVER, MAX, arguments, environment, solvent

if TYPE_CHECKING:
    from pathlib import Path

DEFINE = "let max = replace x, y by x if x >= y\n"


def session(*lines: str, words: tuple[str | Path, ...] = ()) -> list[str]:
    """Type lines into a session and give the lines it printed."""
    result = solvent("repl", *words, typed="".join(f"{line}\n" for line in lines))
    assert result.code == 0
    return result.out.splitlines()


def errors(*lines: str) -> str:
    """Type lines into a session and give what it complained about."""
    return solvent("repl", typed="".join(f"{line}\n" for line in lines)).err


def test_molecules_are_added_and_react() -> None:
    """A line names a rule, others add molecules, `:run` makes them react."""
    out = session("let max = replace x, y by x if x >= y", "1, 5, 3", "max", ":run")
    assert out == [
        "let max = replace x, y by x if x >= y",
        "<1, 3, 5>",
        "<1, 3, 5, max>",
        "inert after 2 reactions",
        "<5, max>",
    ]


def test_input_goes_on_until_its_brackets_are_closed() -> None:
    """An input may have several lines."""
    assert session("<1,", "  <2,", "  3>>, 4") == ["<4, <1, <2, 3>>>"]


def test_step_and_run() -> None:
    """`:step` makes one reaction happen, `:step N` several, `:run` the rest."""
    out = session(DEFINE + "1, 2, 3, 4, max", ":step", ":step 2", ":step")
    assert sum(" max: " in line for line in out) == 3
    assert out[-2:] == ["inert: nothing can react", "<4, max>"]
    assert session(DEFINE + "1, 2, 3, 4, max", ":step", ":run")[-1] == "<4, max>"


def test_trace_why_and_why_not() -> None:
    """A session explains itself: `:trace`, `:why`, `:why-not`, `:rules`."""
    out = session("let sum = replace x, y by x + y", "1, 2, sum", ":run", ":trace", ":why 3", ":why-not sum", ":rules")
    text = "\n".join(out)
    assert "   1  sum: " in text
    assert "3  made by reaction 1, sum" in text
    assert "so        " in text
    assert out[-1] == "sum = replace x, y by x + y"


def test_save_load_reset(tmp_path: Path) -> None:
    """A solution saved by one session is loaded by another, and `:reset` goes back to it."""
    file = tmp_path / "saved.hocl"
    session(DEFINE + "1, 2, max", f":save {file}")
    out = session(f":load {file}", "7, max", ":run", ":reset", ":show")
    assert out == [
        "<1, 2, max>",
        "<1, 2, 7, max, max>",
        "inert after 2 reactions",
        "<7, max, max>",
        "<1, 2, max>",
    ]


def test_program_to_begin_with(tmp_path: Path) -> None:
    """A file named at the start is loaded, and its rules are known by name."""
    file = tmp_path / "max.hocl"
    file.write_text(MAX)
    assert session(":run", "<1, 4, max>", ":run", words=(file,))[-1].startswith("<9, ")


def test_whole_program_at_the_prompt() -> None:
    """A program typed whole adds its molecules and names its rules."""
    assert session("let max = replace x, y by x if x >= y in <1, 2, max>", ":run", "9", ":run")[-1] == "<9, max>"


def test_errors_do_not_end_a_session() -> None:
    """Whatever is wrong is said, and the session goes on."""
    typed = (
        "1 ) 2",
        "unknown",
        ":bogus",
        ":why",
        ":step x",
        ":load /nowhere",
        ":save /nowhere/x",
        ":show now",
        "1 / 0",
    )
    said = errors(*typed)
    assert said.count("error[") == len(typed)
    assert session(*typed, "1", ":quit", "2") == ["<1>"]


def test_failed_reaction_keeps_the_solution() -> None:
    """A division by zero during `:run` leaves the reactants."""
    assert session("let r = replace A : n by 1 / n", "A : 0, r", ":run")[-1] == "<A:0, r>"


def test_unfinished_input_at_the_end() -> None:
    """An input that the end of the session cuts off is an error."""
    assert "is not closed" in errors("<1, 2")


def test_help_lists_commands() -> None:
    """`:help` lists every command."""
    text = "\n".join(session(":help"))
    commands = (
        "step",
        "run",
        "trace",
        "why",
        "why-not",
        "load",
        "save",
        "show",
        "reset",
        "rules",
        "help",
        "quit",
    )
    assert all(f":{name}" in text for name in commands)


# --- On a terminal.


class Terminal:
    """A session on a pseudo-terminal."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.master, slave = pty.openpty()
        surroundings = {**environment(), "TERM": "xterm", "XDG_STATE_HOME": str(folder)}
        self.process = subprocess.Popen(
            arguments("repl", *words),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=surroundings,
            start_new_session=True,
            preexec_fn=lambda: _own_terminal(slave),  # noqa: PLW1509 - no threads here
        )
        os.close(slave)
        self.seen = ""

    def type(self, text: str) -> None:
        """Type keys."""
        os.write(self.master, text.encode())

    def wait_for(self, text: str, max_seconds: float = 200) -> None:
        """Read until a text appears, and forget what came before."""
        deadline = time.monotonic() + max_seconds
        while text not in self.seen:
            assert time.monotonic() < deadline, f"no {text!r} in {self.seen!r}"
            ready, _, _ = select.select([self.master], [], [], 0.1)
            if ready:
                self.seen += os.read(self.master, 4096).decode(errors="replace")
                if "\x1b[6n" in self.seen:
                    # The terminal is asked where its cursor is.
                    self.seen = self.seen.replace("\x1b[6n", "")
                    self.type("\x1b[1;1R")
        self.seen = self.seen.split(text, 1)[1]

    def close(self) -> int:
        """Wait for the end and give the exit code."""
        try:
            return self.process.wait(200)
        finally:
            self.process.kill()
            os.close(self.master)


def _own_terminal(slave: int) -> None:
    import fcntl
    import termios

    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)


def test_terminal_session(tmp_path: Path) -> None:
    """On a terminal there is a prompt, input over several lines, a history, and Ctrl-D leaves."""
    terminal = Terminal(tmp_path)
    terminal.wait_for("solvent>")
    terminal.type("<1,\r")
    terminal.wait_for("...>")
    terminal.type("2>\r")
    terminal.wait_for("<<1, 2>>")
    terminal.wait_for("solvent>")
    terminal.type("\x04")
    assert terminal.close() == 0
    assert "+<1," in (tmp_path / "solvent" / "history").read_text()


def test_terminal_completes_names(tmp_path: Path) -> None:
    """The tabulator completes commands."""
    terminal = Terminal(tmp_path)
    terminal.wait_for("solvent>")
    terminal.type(":hel\t")
    terminal.wait_for("p")
    terminal.type("\r")
    terminal.wait_for("why-not RULE")
    terminal.type(":quit\r")
    assert terminal.close() == 0


def test_control_c_stops_a_run_and_clears_a_line(tmp_path: Path) -> None:
    """Ctrl-C gives up a line, and stops a run without ending the session."""
    file = tmp_path / "forever.hocl"
    file.write_text(FOREVER)
    terminal = Terminal(tmp_path, str(file))
    terminal.wait_for("solvent>")
    terminal.type("1, 2,\x03")
    terminal.wait_for("solvent>")
    terminal.type(":run\r")
    terminal.wait_for("reactions,")
    terminal.type("\x03")
    terminal.wait_for("interrupted")
    terminal.wait_for("<COUNT:")
    terminal.wait_for("solvent>")
    terminal.type("\x04")
    assert terminal.close() == 0
