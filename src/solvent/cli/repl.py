"""`solvent repl`: a prompt.

On a terminal with history, completion and editing of several lines (`prompt_toolkit`, imported only here);
on a pipe line by line, so that a session can be scripted. An input continues over several lines until its
brackets are closed; an empty line ends it at once.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from solvent.cli.arguments import add_functions, load_functions, parser_for, program_file
from solvent.cli.progress import Watch
from solvent.cli.render import counted, show_error, write, write_reaction
from solvent.cli.why import complain_unmade, explain, write_tree
from solvent.engine.trace import Recorder
from solvent.errors import Misuse, SolventError
from solvent.hocl.embedded import Run, step
from solvent.hocl.explanation import find, read_molecule
from solvent.hocl.program import Program, is_incomplete, load, read_typed
from solvent.hocl.program_file import save
from solvent.lang.functions import Functions
from solvent.lang.lexer import KEYWORDS
from solvent.lang.molecule import sub_solutions
from solvent.lang.printer import print_rule, print_whole
from solvent.lang.rule import Rule
from solvent.lang.solution import Solution

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterable, Iterator

    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer
    from prompt_toolkit.history import History

    from solvent.engine import Reaction

COMMANDS = {
    "step": ("[N]", "let one reaction happen, or N"),
    "run": ("", "react until the solution is inert (Ctrl-C stops)"),
    "trace": ("", "show every reaction so far"),
    "why": ("MOLECULE", "show the reactions that made a molecule"),
    "why-not": ("RULE", "show what stops a rule"),
    "load": ("FILE", "begin with a program's solution and rules"),
    "save": ("FILE", "write the solution as a program"),
    "show": ("", "show the solution"),
    "reset": ("", "go back to the start: the program loaded, or nothing"),
    "rules": ("", "show all rules in full"),
    "help": ("", "show this list"),
    "quit": ("", "leave (or Ctrl-D)"),
}


def main(arguments: list[str]) -> int:
    """Read and execute inputs until the end."""
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
    """Yield inputs from lines."""
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
    """Return the history of earlier sessions, or one for this session where it cannot be stored."""
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


class Session:
    """A solution, the rules that lines have named, and the records of all reactions."""

    def __init__(self, functions: Functions | None = None) -> None:
        self.functions = functions if functions is not None else Functions()
        self.program: Program | None = None
        self.named: dict[str, Rule] = {}
        self.is_over = False
        self.reset()

    def handle(self, text: str) -> None:
        """Execute an input; show errors."""
        try:
            if text.lstrip().startswith(":"):
                self._command(text.strip()[1:])
            elif text.strip():
                self._add(text)
        except SolventError as error:
            show_error(error)
        except RecursionError:
            show_error(SolventError("H503", "something is nested too deeply to continue"))
        except MemoryError:
            show_error(SolventError("H505", "there is not enough memory for this"))

    def names(self) -> set[str]:
        """Return the names of all rules, for completion."""
        return {*self.named, *(rule.name for rule in _rules(self.solution) if rule.name)}

    def _command(self, text: str) -> None:
        name, _, rest = text.partition(" ")
        rest = rest.strip()
        if name not in COMMANDS:
            from solvent.errors import nearest

            raise Misuse("H311", f"there is no command `:{name}`", hint=nearest(name, COMMANDS) or "`:help` lists them")
        wanted = COMMANDS[name][0]
        if wanted and not wanted.startswith("[") and not rest:
            raise Misuse("H311", f"`:{name}` needs {wanted.lower()}: `:{name} {wanted}`")
        if rest and not wanted:
            raise Misuse("H311", f"`:{name}` takes nothing after it")
        getattr(self, name.replace("-", "_"))(*(rest,) if wanted else ())

    def _add(self, text: str) -> None:
        named, molecules = read_typed(text, functions=self.functions, rules=self.named)
        self.named |= named
        for name in named:
            write(("let", "dim"), f" {name} = {print_rule(named[name])}")
        if molecules:
            # A whole program is a solution in a solution to no one: its molecules are meant.
            alone = molecules[0] if len(molecules) == 1 and named and type(molecules[0]) is Solution else None
            self.solution.extend(alone if alone is not None else molecules)
            self.recorder.note_additions()
            self.show()

    # --- Commands, by name.

    def step(self, count: str = "") -> None:
        """Let one reaction happen, or several."""
        if count and not count.isdecimal():
            raise Misuse("H311", f"`:step` takes a number, not `{count}`")
        for _ in range(int(count or 1)):
            reaction = step(self.solution)
            if reaction is None:
                write("inert: nothing can react")
                break
            self._observe(reaction)
        self.show()

    def run(self) -> None:
        """React until the solution is inert."""
        before = len(self.recorder.records)
        with Watch(lambda: len(self.recorder.records) - before) as watch:
            run = Run(self.solution, observe=self.recorder, should_stop=watch.should_stop)
            try:
                run.to_inertia()
            except SolventError as error:
                watch.clear()
                show_error(error)
        state = "inert" if self.solution.inert else "not inert"
        write((f"{state} after {counted(len(self.recorder.records) - before, 'reaction')}", "dim"))
        self.show()

    def trace(self) -> None:
        """Show every reaction so far."""
        if not self.recorder.records:
            write("nothing has reacted yet")
        for record in self.recorder.records:
            write_reaction(record)

    def why(self, text: str) -> None:
        """Show the reactions that made a molecule."""
        made = find(self.recorder, read_molecule(text, self.functions, self.named), text)
        if made is None:
            complain_unmade(self.recorder, text)
        else:
            write_tree(self.recorder, made)

    def why_not(self, name: str) -> None:
        """Show what stops a rule."""
        if not self.solution.inert:
            write("the solution is not inert; `:run` continues")
        explain(self.solution, self.recorder, name)

    def load(self, path: str) -> None:
        """Begin with a program's solution and rules."""
        self.begin(load(program_file(path), functions=self.functions))
        self.show()

    def begin(self, program: Program) -> None:
        """Begin with a program."""
        self.program = program
        self.reset()

    def save(self, path: str) -> None:
        """Write the solution as a program."""
        save(self.solution, path)
        write(f"saved to {path}")

    def show(self) -> None:
        """Show the solution."""
        write((print_whole(self.solution), "green"))

    def reset(self) -> None:
        """Go back to the start."""
        self.solution = self.program.solution() if self.program is not None else Solution()
        self.named = self.program.rules() if self.program is not None else {}
        self.recorder = Recorder(self.solution)

    def help(self) -> None:
        """Show what can be typed."""
        for name, (wanted, says) in COMMANDS.items():
            write((f"  :{name} {wanted}".ljust(18), "bold"), says)
        write("  anything else: molecules to add, such as `1, 2, max`,")
        write("  or a rule for later lines, such as `let max = replace x, y by x if x >= y`")

    def quit(self) -> None:
        """Leave."""
        self.is_over = True

    def _observe(self, reaction: Reaction) -> None:
        self.recorder(reaction)
        write_reaction(self.recorder.records[-1])

    def rules(self) -> None:
        """Show all rules in full: those that lines have named, then those in the solution."""
        shown = {rule.order_key(): rule for rule in (*self.named.values(), *_rules(self.solution))}
        for rule in shown.values():
            write((rule.name or "(no name)", "bold cyan"), f" = {print_rule(rule)}")
        if not shown:
            write("there are no rules")


def _rules(molecule: Solution) -> Iterable[Rule]:
    for one in molecule:
        if type(one) is Rule:
            yield one
        for sub in sub_solutions(one):
            yield from _rules(sub)
