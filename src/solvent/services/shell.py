"""Shell commands as services.

    Service("sort", kind="shell", target="sort {0} > {out}", options={"result": "file:{0}.sorted"})

`{0}`, `{1}` … stand for arguments, `{name}` for keywords (a list becomes several words), `{task}` for the task's
name, and `{out}` for the path in `result`. Arguments are never read as code. Output counts as a heartbeat. Options:

    result      stdout      its output, without the last newline (the default)
                json        its output, parsed as JSON
                lines       its output, as a list of lines
                exit        its exit code, which then is not a failure
                file:PATH   the path of a file, which the command must create
    stdin       its input: the number of an argument, or a text
    cwd         where it runs, relative to the workflow's folder
    env         further environment variables
    max_output  limit of its output in bytes, if the output is the result (64 MiB)

In a recorded run its environment identifies the call: SOLVENT_RUN, SOLVENT_TASK, SOLVENT_CALL (unique) and
SOLVENT_REPEATED (1 if the call may have been made before, 0 if not). In a traced run TRACEPARENT names the span of the
attempt.

An exit code other than 0 is a failure, with the end of its stderr. A command that is cancelled or takes too long is
ended with all that it started.

*The process.* The command leads a process group of its own, so that all it starts can be ended with it: by SIGTERM, and
after a grace period by SIGKILL. It has ended when its shell has ended; background processes may keep the pipes open,
and are not waited for. A command that is being ended has ended when all processes that hold the pipes have, or when the
grace period is over, and nothing of its group is left then. If this process is killed, its `guard` ends the group. The
guard knows every running command: a command begins when it has read a line, which is written after the guard was told,
and ends if that line never comes.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import threading
from pathlib import Path
from time import monotonic
from typing import IO, TYPE_CHECKING, Any

from solvent.errors import WorkflowProblem
from solvent.services.admission import claims_among
from solvent.services.current_call import begun, sealed
from solvent.services.failure import MAX_OUTPUT, cause_of, one_line, tail
from solvent.services.guard import GUARD
from solvent.services.substitution import NoArgument, command_of, fill, text_of
from solvent.workflows.value_checks import refuse_options

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from solvent.services.call import Attempt, Facilities
    from solvent.services.clock import Clock
    from solvent.workflows.model import Service


class TooMuch(Exception):
    """The output is larger than `max_output`."""


class Whole:
    """Keeps everything up to a limit."""

    def __init__(self, max_bytes: int) -> None:
        self._chunks: list[bytes] = []
        self._room = max_bytes

    def add(self, data: bytes) -> None:
        """Take a piece; raise `TooMuch` above the limit."""
        self._room -= len(data)
        self._chunks.append(data)
        if self._room < 0:
            raise TooMuch

    def data(self) -> bytes:
        """Return all that was printed."""
        return b"".join(self._chunks)

    def end(self) -> str:
        """Return the end of it as text."""
        kept, length = list[bytes](), 0
        for chunk in reversed(self._chunks):
            kept.append(chunk)
            length += len(chunk)
            if length >= 4 * MAX_OUTPUT:
                break
        return _as_text(b"".join(reversed(kept)))


class End:
    """Keeps the end only."""

    def __init__(self) -> None:
        self._data = bytearray()

    def add(self, data: bytes) -> None:
        """Take a piece."""
        self._data += data
        if len(self._data) > 8 * MAX_OUTPUT:
            del self._data[: -4 * MAX_OUTPUT]

    def data(self) -> bytes:
        """Return what is left."""
        return bytes(self._data)

    def end(self) -> str:
        """Return the end of it as text."""
        return _as_text(bytes(self._data[-4 * MAX_OUTPUT :]))


def _as_text(data: bytes) -> str:
    return tail(data.decode(errors="replace").strip("\n"))


CHUNK = 1 << 16
GRACE_SECONDS = 2.0
_GATE = "read -r SOLVENT_GATE || exit 1; "
LOOK_SECONDS = 0.05
"""How often to look where the system does not report a process's end."""


class Command:
    """A command that has been started."""

    def __init__(
        self,
        text: str,
        parameters: Sequence[str] = (),
        *,
        stdin: bytes | None,
        cwd: Path | None,
        env: Mapping[str, str] | None,
        out: Whole | End,
        beat: Callable[[], None],
    ) -> None:
        self._beat = beat
        self._stdin = memoryview(stdin) if stdin is not None else None
        self.out = out
        self.errors = End()
        self._lock = threading.Lock()
        self._ends_at: float | None = None
        # In the first line of the text, so that line numbers stay, and by the shell that runs anyway.
        begins = _GATE if stdin is not None else f"{_GATE}exec < /dev/null; "
        self._process = subprocess.Popen(  # noqa: S603 -- running what the workflow says is the purpose
            ["/bin/sh", "-c", begins + text, "sh", *parameters],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=env,
            start_new_session=True,
            bufsize=0,
        )
        GUARD.begin(self._process.pid)
        self._open_gate()

    def _open_gate(self) -> None:
        """Let the command begin; its input follows the line that it waits for."""
        pipe = self._process.stdin
        assert pipe is not None
        with contextlib.suppress(BrokenPipeError):
            pipe.write(b"\n")
        if self._stdin is None:
            pipe.close()
            self._process.stdin = None

    def run(self) -> int:
        """Feed and read it until it ends and return the exit code; raise `TooMuch` after ending it."""
        try:
            self._attend()
        except TooMuch:
            self.signal(signal.SIGKILL)
            raise
        finally:
            for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
            code = self._reap()
        return code

    def stop(self, clock: Clock) -> None:
        """End the whole group: by SIGTERM, and after a grace period by SIGKILL."""
        self._ends_at = monotonic() + GRACE_SECONDS
        self.signal(signal.SIGTERM)
        clock.after(GRACE_SECONDS, lambda: self.signal(signal.SIGKILL))

    def printed(self) -> str:
        """Return the end of what it has printed beside its result."""
        out = self.out.end() if isinstance(self.out, End) else ""
        return tail("\n".join(filter(None, (out, self.errors.end()))))

    def signal(self, number: int) -> None:
        """Send a signal to the whole group, unless it was reaped: its number may be reused by now."""
        with self._lock:
            if self._process.returncode is None:
                with contextlib.suppress(OSError):
                    os.killpg(self._process.pid, number)

    def _reap(self) -> int:
        """Wait for the shell's end, without the lock: a signal must get through."""
        if hasattr(os, "waitid"):
            os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        if self._ends_at is not None:
            self.signal(signal.SIGKILL)
        GUARD.end(self._process.pid)
        with self._lock:
            return self._process.wait()

    def _attend(self) -> None:
        """Pass data until all pipes are closed or the shell has ended."""
        process = self._process
        with selectors.DefaultSelector() as selector, contextlib.ExitStack() as stack:
            for pipe, keeper in ((process.stdout, self.out), (process.stderr, self.errors)):
                assert pipe is not None
                os.set_blocking(pipe.fileno(), False)
                selector.register(pipe, selectors.EVENT_READ, keeper)
            if process.stdin is not None:
                os.set_blocking(process.stdin.fileno(), False)
                selector.register(process.stdin, selectors.EVENT_WRITE, None)
            ended, is_over = None, False
            if hasattr(os, "pidfd_open"):
                ended = os.pidfd_open(process.pid)
                stack.callback(os.close, ended)
                selector.register(ended, selectors.EVENT_READ, None)
            while any(key.fd != ended for key in selector.get_map().values()):
                events = selector.select(self._patience(is_told=ended is not None))
                has_ended = ended is None and not events and _has_ended(process.pid)
                for key, _ in events:
                    if key.fd == ended:
                        has_ended = True
                    elif not self._serve(key):
                        selector.unregister(key.fileobj)
                if has_ended:
                    is_over = True
                if is_over and not self._wait_for_others(selector, ended):
                    return

    def _patience(self, *, is_told: bool) -> float | None:
        """Return how long to wait for something to happen."""
        if self._ends_at is not None:
            return max(LOOK_SECONDS, self._ends_at - monotonic())
        return None if is_told else LOOK_SECONDS

    def _wait_for_others(self, selector: selectors.BaseSelector, ended: int | None) -> bool:
        """Read the rest after the shell has ended; return whether to wait for what it started."""
        for key in list(selector.get_map().values()):
            if key.fd == ended or not self._serve(key, until_empty=True):
                selector.unregister(key.fileobj)
        return self._ends_at is not None and monotonic() < self._ends_at

    def _serve(self, key: selectors.SelectorKey, *, until_empty: bool = False) -> bool:
        """Read from or write to a pipe; return false when it is done."""
        if key.data is None:
            return self._feed(key.fd)
        while True:
            try:
                data = os.read(key.fd, CHUNK)
            except BlockingIOError:
                return True
            if not data:
                return False
            key.data.add(data)
            self._beat()
            if not until_empty:
                return True

    def _feed(self, pipe: int) -> bool:
        assert self._stdin is not None
        try:
            self._stdin = self._stdin[os.write(pipe, self._stdin[:CHUNK]) :]
        except BlockingIOError:
            return True
        except OSError:
            self._stdin = self._stdin[:0]  # It reads no more, which is its right.
        if self._stdin:
            return True
        stdin: IO[bytes] | None = self._process.stdin
        assert stdin is not None
        stdin.close()
        return False


def _has_ended(process: int) -> bool:
    """Return whether a child has ended, without reaping it."""
    return os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None


OUTPUT_MAX_DEFAULT = 64 * 1024 * 1024
MAX_STOP_SECONDS = GRACE_SECONDS + 1.0
_OPTIONS = {"result", "stdin", "cwd", "env", "max_output"}
_RESULTS = ("stdout", "json", "lines", "exit")


def make_shell(service: Service, caller: Facilities) -> Callable[[Attempt], None]:
    """Return the launch of a shell command; each running command takes a worker thread."""
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
                result = loan.keep(result)
        return result

    def launch(attempt: Attempt) -> None:
        attempt.function = lambda *_arguments, **_keywords: run(attempt)
        threads.put(attempt)

    return launch


def _check(service: Service) -> None:
    """Refuse invalid options."""
    options = service.options
    refuse_options("W180", service, _OPTIONS)
    result = options.get("result", "stdout")
    problem = ""
    if not service.target.strip():
        problem = "the command is empty"
    elif not isinstance(result, str) or (result not in _RESULTS and not result.startswith("file:")):
        problem = f"there is no result `{result}`"
    elif not isinstance(options.get("env", {}), dict):
        problem = "`env` must name variables and their values"
    if problem:
        raise WorkflowProblem(
            "W180",
            f"service `{service.name}`: {problem}",
            hint=f"results are {', '.join(_RESULTS)} and file:PATH" if "result" in problem else "",
        )


class _Run:
    """One run of a command."""

    def __init__(self, service: Service, attempt: Attempt, caller: Facilities) -> None:
        options = service.options
        self._attempt = attempt
        self._threads = caller.threads
        self._wanted: str = options.get("result", "stdout")
        self._max_bytes: int = options.get("max_output", OUTPUT_MAX_DEFAULT)
        self._cwd = (caller.folder or Path()) / options.get("cwd", "")
        self._env = {**os.environ, **_identity_of(attempt)}
        self._env |= {name: text_of(value) for name, value in options.get("env", {}).items()}
        self._stdin = options.get("stdin")
        self._target = service.target
        self._lock = threading.Lock()
        self._command: Command | None = None
        self._must_end = False

    def result(self) -> Any:
        """Run the command and return its result; a failure is reported to the attempt, not raised."""
        attempt = self._attempt
        # Before it starts: one that is stopped while it starts is waited for, too.
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
            text = f"it printed more than {self._max_bytes} bytes (see `max_output`)"
            return attempt.fail("FAILED", text, command.out.end())
        if self._wanted == "exit":
            attempt.printed = command.printed()
            return code
        if code != 0:
            output = command.errors.end() or command.out.end()
            last = one_line(output.rpartition("\n")[2])
            return attempt.fail("FAILED", _describe_code(code) + (f": {last}" if last else ""), output)
        value = self._read(command)
        attempt.printed = command.printed()
        return value

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
        out = End() if self._wanted == "exit" or self._wanted.startswith("file:") else Whole(self._max_bytes)
        return Command(text, parameters, stdin=stdin, cwd=self._cwd, env=self._env, out=out, beat=attempt.beat)

    def _stop(self) -> None:
        """End the command; if that fails, report its outcome nevertheless."""
        attempt = self._attempt
        with self._lock:
            self._must_end = True
            command = self._command
        if command is not None:
            command.stop(attempt.clock)
        attempt.clock.after(MAX_STOP_SECONDS, self._leave)

    def _leave(self) -> None:
        self._threads.give_up(self._attempt)
        self._attempt.settle(None, None)

    def _read(self, command: Command) -> Any:
        """Return the result of a command that has ended."""
        if self._wanted.startswith("file:"):
            path = self._cwd / self._path
            if not path.exists():
                return self._attempt.fail("FAILED", f"it did not create the file {self._path}", command.errors.end())
            return str(path.absolute())
        text = command.out.data().decode(errors="surrogateescape")
        if self._wanted == "lines":
            return text.splitlines()
        if self._wanted == "json":
            try:
                return json.loads(text)
            except (ValueError, RecursionError) as error:
                return self._attempt.fail("FAILED", f"its output is not JSON: {error}", command.out.end())
        return text.removesuffix("\n")


def _identity_of(attempt: Attempt) -> dict[str, str]:
    """Return the variables that identify the call, if the run is recorded, and its span, if it is traced."""
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


__all__ = ["GRACE_SECONDS", "Command", "End", "TooMuch", "Whole", "make_shell"]
