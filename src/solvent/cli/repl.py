"""`solvent repl`: a prompt.

On a terminal with history, completion and editing of several lines (`prompt_toolkit`, imported only here);
on a pipe line by line, so that a session can be scripted. An input goes on over several lines until its
brackets are closed; an empty line ends it at once.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from solvent.cli.arguments import add_functions, load_functions, parser_for
from solvent.cli.finding import program_file
from solvent.cli.render import show_error, write
from solvent.cli.session import COMMANDS, Session
from solvent.errors import SolventError
from solvent.hocl.program import is_incomplete, load
from solvent.lang.lexer import KEYWORDS

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterator

    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer
    from prompt_toolkit.history import History


def main(arguments: list[str]) -> int:
    """Read and do what is typed until the end."""
    options = parser().parse_args(arguments)
    session = Session(load_functions(options.functions))
    if options.file is not None:
        try:
            session.begin(load(options.file, functions=session.functions))
        except SolventError as error:
            show_error(error)
    inputs = _from_terminal(session) if sys.stdin.isatty() else _from_pipe()
    for text in inputs:
        session.handle(text)
        sys.stdout.flush()
        if session.is_over:
            break
    return 0


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    parser = parser_for("repl", "Add molecules and watch them react, at a prompt.", example="solvent repl max.hocl")
    parser.add_argument("file", metavar="FILE", nargs="?", type=program_file, help="a program to begin with")
    add_functions(parser)
    return parser


def _from_pipe() -> Iterator[str]:
    """Give inputs from lines."""
    held = ""
    for raw in sys.stdin.buffer:
        line = raw.decode("utf-8", errors="replace").rstrip("\r\n")
        held = f"{held}\n{line}" if held else line
        if _is_whole(held):
            yield held
            held = ""
    if held:
        yield held


def _is_whole(text: str) -> bool:
    return not text.strip() or text.lstrip().startswith(":") or text.endswith("\n") or not is_incomplete(text)


# --- On a terminal.


def _from_terminal(session: Session) -> Iterator[str]:
    prompt = _prompt(session)
    write(("solvent", "bold"), ": type molecules, or `:help`")
    if session.program is not None:
        session.show()
    while True:
        try:
            yield prompt.prompt()
        except KeyboardInterrupt:
            # Ctrl-C gives up the line, not the session.
            continue
        except EOFError:
            return


def _prompt(session: Session) -> PromptSession[str]:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
    from prompt_toolkit.lexers import PygmentsLexer

    from solvent.lang.pygments_lexer import HoclLexer

    keys = KeyBindings()

    @keys.add("enter")
    def _on_enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if _is_whole(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    return PromptSession(
        "solvent> ",
        history=_history(),
        completer=_completer(session),
        complete_while_typing=False,
        key_bindings=keys,
        lexer=PygmentsLexer(HoclLexer),
        multiline=True,
        prompt_continuation="    ...> ",
    )


def _history() -> History:
    """Give the history of earlier sessions, or one for this session where it cannot be kept."""
    import os
    from pathlib import Path

    from prompt_toolkit.history import FileHistory, InMemoryHistory

    folder = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "solvent"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / "history").touch(mode=0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(folder / "history"))


def _completer(session: Session) -> Completer:
    from prompt_toolkit.completion import Completer, Completion, PathCompleter
    from prompt_toolkit.document import Document

    paths = PathCompleter(expanduser=True)

    class Names(Completer):
        """Completes commands after `:`, files after `:load` and `:save`, names elsewhere."""

        def get_completions(self, document: Document, event: object) -> Iterator[Completion]:
            text = document.text_before_cursor
            if text.startswith((":load ", ":save ")):
                path = text.split(" ", 1)[1]
                yield from paths.get_completions(Document(path, len(path)), event)  # type: ignore[arg-type]
                return
            if text.startswith(":") and " " not in text:
                words = [f":{name}" for name in COMMANDS]
                begun = text
            else:
                words = sorted({*session.names(), *KEYWORDS, *session.functions.names()})
                begun = document.get_word_before_cursor()
            for word in words:
                if word.startswith(begun) and begun:
                    yield Completion(word, start_position=-len(begun))

    return Names()
