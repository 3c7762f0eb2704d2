"""Shell commands as services.

    Service("sort", kind="shell", target="sort {0} > {out}", options={"result": "file:{0}.sorted"})

`{0}`, `{1}` … stand for arguments, `{name}` for keywords (a list becomes several words), `{task}` for the task's
name, and `{out}` for the path in `result`. Arguments are never read as code. What it prints is a sign of life.
Options:

    result      stdout      the text it prints, without the last line's end (this is what one gets if none is named)
                json        what it prints, read as JSON
                lines       what it prints, as a list of lines
                exit        its exit code, which then is no failure
                file:PATH   the path of a file that it makes, which must be there afterwards
    stdin       what it reads: the number of an argument, or a text
    cwd         where it runs, from the workflow's folder
    env         further variables of its environment
    output_max  bytes that it may print where the print is the result (64 MiB)

In a run that is recorded its environment says which call it is: SOLVENT_RUN, SOLVENT_TASK, SOLVENT_CALL (no other call
has it) and SOLVENT_REPEATED (1 if the call may have been made before, 0 if not). In a run that is traced TRACEPARENT
names the span of the attempt.

An exit code other than 0 is a failure, with the end of what it wrote to stderr. A command that is cancelled or takes
too long is ended with all that it started.
"""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from solvent.errors import WorkflowProblem
from solvent.services.command import GRACE_SECONDS, Command
from solvent.services.failure import cause_of, one_line
from solvent.services.lending import claims_among
from solvent.services.output import End, TooMuch, Whole
from solvent.services.placeholders import NoArgument, command_of, fill, text_of
from solvent.services.signs import begun, sealed

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.services.call import Attempt
    from solvent.services.caller import Caller
    from solvent.workflow.model import Service

OUTPUT_MAX_DEFAULT = 64 * 1024 * 1024
STOP_SECONDS_MAX = GRACE_SECONDS + 1.0
_OPTIONS = {"result", "stdin", "cwd", "env", "output_max"}
_RESULTS = ("stdout", "json", "lines", "exit")


def make_shell(service: Service, caller: Caller) -> Callable[[Attempt], None]:
    """Make the launch of a shell command; each one that runs takes a worker thread."""
    _check(service)
    threads = caller.threads

    def run(attempt: Attempt) -> Any:
        if caller.lender is None or not claims_among((*attempt.arguments, *attempt.keywords.values())):
            return _Run(service, attempt, caller).result()
        with caller.lender.paths(attempt.arguments, attempt.keywords) as loan:
            attempt.arguments, attempt.keywords = loan.arguments, loan.keywords
            begun()
            result = _Run(service, attempt, caller).result()
            if sealed():
                loan.keep()
        return result

    def launch(attempt: Attempt) -> None:
        attempt.function = lambda *_arguments, **_keywords: run(attempt)
        threads.put(attempt)

    return launch


def _check(service: Service) -> None:
    """Refuse options that no command can have."""
    options = service.options
    unknown = sorted(set(options) - _OPTIONS)
    result = options.get("result", "stdout")
    problem = ""
    if not service.target.strip():
        problem = "there is no command"
    elif unknown:
        problem = f"there is no option `{unknown[0]}`"
    elif not isinstance(result, str) or (result not in _RESULTS and not result.startswith("file:")):
        problem = f"its result cannot be `{result}`"
    elif not isinstance(options.get("env", {}), dict):
        problem = "`env` must name variables and their values"
    if problem:
        raise WorkflowProblem(
            "W180",
            f"service `{service.name}`: {problem}",
            hint=f"options are {', '.join(sorted(_OPTIONS))}; results are {', '.join(_RESULTS)}, file:PATH",
        )


class _Run:
    """One run of a command."""

    def __init__(self, service: Service, attempt: Attempt, caller: Caller) -> None:
        options = service.options
        self._attempt = attempt
        self._threads = caller.threads
        self._wanted: str = options.get("result", "stdout")
        self._bytes_max: int = options.get("output_max", OUTPUT_MAX_DEFAULT)
        self._cwd = (caller.folder or Path()) / options.get("cwd", "")
        self._env = {**os.environ, **_identity_of(attempt)}
        self._env |= {name: text_of(value) for name, value in options.get("env", {}).items()}
        self._stdin = options.get("stdin")
        self._target = service.target
        self._lock = threading.Lock()
        self._command: Command | None = None
        self._must_end = False

    def result(self) -> Any:
        """Run the command and give its result; a failure is reported to the attempt, not raised."""
        attempt = self._attempt
        # Said before it starts: one that is stopped while it starts is waited for, too.
        attempt.on_stop(self._stop, waits=True)
        if attempt.over:
            return None
        try:
            command = self._start()
        except NoArgument as error:
            return attempt.fail("FAILED", str(error))
        except (OSError, ValueError) as error:
            return attempt.fail("FAILED", f"the command cannot be started: {cause_of(error)}")
        with self._lock:
            self._command = command
        if self._must_end:
            command.stop(attempt.clock)
        try:
            code = command.run()
        except TooMuch:
            text = f"it printed more than {self._bytes_max} bytes (see `output_max`)"
            return attempt.fail("FAILED", text, command.out.end())
        if self._wanted == "exit":
            return code
        if code != 0:
            output = command.errors.end() or command.out.end()
            last = one_line(output.rpartition("\n")[2])
            return attempt.fail("FAILED", _describe_code(code) + (f": {last}" if last else ""), output)
        return self._read(command)

    def _start(self) -> Command:
        attempt = self._attempt
        arguments, keywords = attempt.arguments, {"task": attempt.task, **attempt.keywords}
        if self._wanted.startswith("file:"):
            self._path = Path(fill(self._wanted[5:], arguments, keywords))
            keywords.setdefault("out", str(self._path))
        text, parameters = command_of(self._target, arguments, keywords)
        stdin = self._stdin
        if isinstance(stdin, int):
            if stdin >= len(arguments):
                raise NoArgument(str(stdin))
            stdin = arguments[stdin]
            stdin = stdin if isinstance(stdin, bytes) else text_of(stdin).encode(errors="surrogateescape")
        elif isinstance(stdin, str):
            stdin = stdin.encode()
        out = End() if self._wanted == "exit" or self._wanted.startswith("file:") else Whole(self._bytes_max)
        return Command(text, parameters, stdin=stdin, cwd=self._cwd, env=self._env, out=out, beat=attempt.beat)

    def _stop(self) -> None:
        """End the command; if even that does not end it, its outcome is reported nevertheless."""
        attempt = self._attempt
        with self._lock:
            self._must_end = True
            command = self._command
        if command is not None:
            command.stop(attempt.clock)
        attempt.clock.after(STOP_SECONDS_MAX, self._leave)

    def _leave(self) -> None:
        self._threads.give_up(self._attempt)
        self._attempt.settle(None, None)

    def _read(self, command: Command) -> Any:
        """Make the result of what the command has left."""
        if self._wanted.startswith("file:"):
            path = self._cwd / self._path
            if not path.exists():
                return self._attempt.fail("FAILED", f"it made no file {self._path}", command.errors.end())
            return str(path.absolute())
        text = command.out.data().decode(errors="surrogateescape")
        if self._wanted == "lines":
            return text.splitlines()
        if self._wanted == "json":
            try:
                return json.loads(text)
            except ValueError as error:
                return self._attempt.fail("FAILED", f"what it printed is no JSON: {error}", command.out.end())
        return text.removesuffix("\n")


def _identity_of(attempt: Attempt) -> dict[str, str]:
    """Give the variables that say which call it is, where the run is recorded, and its span, where it is traced."""
    known = attempt.identity
    traced = {"TRACEPARENT": attempt.trace} if attempt.trace else {}
    if known is None:
        return traced
    return {
        **traced,
        "SOLVENT_RUN": known.run,
        "SOLVENT_TASK": known.task,
        "SOLVENT_CALL": known.key,
        "SOLVENT_REPEATED": str(int(known.repeated)),
    }


def _describe_code(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    return f"killed by signal {-code}"


__all__ = ["make_shell"]
