"""Processes of the command that need not import everything anew: split off from one that has.

Hundreds of tests run the command for a moment, and most of that moment goes into starting Python and importing. So each
process of tests starts one server, which imports everything and then waits. Asked to run a command it forks: the child
takes over the caller's folder, surroundings, input and outputs, and from there on is `python -m solvent`. It waits for
its threads and calls what is registered for its end, but does not take itself apart, which costs as much as importing.
What a command needs at its start is seen by the tests that start it for real: `test_starting`, and those of Ctrl-C, of
terminals and of the documentation.

    client                                  server
    words, folder, surroundings, files  ->  fork
    process id                          <-
    exit code                           <-  the child is over
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
import traceback
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "src"
_MAX_REQUEST = 1 << 20
_MAX_ANSWER = 100
# Commands import these only when they need them.
_LIBRARIES = (
    "asyncio",
    "concurrent.futures.process",
    "difflib",
    "msgspec",
    "prompt_toolkit",
    "rich",
    "urllib3",
    "yaml",
)


class Server:
    """A server at work, as its client sees it."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._socket, others = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with others:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.cli.forking", str(others.fileno())],
                cwd=ROOT,
                env=environment,
                pass_fds=[others.fileno()],
                stdin=subprocess.DEVNULL,
            )

    def run(
        self,
        words: Sequence[str],
        files: Sequence[IO[bytes]],
        *,
        cwd: Path | None,
        environment: Mapping[str, str],
        max_seconds: float,
    ) -> int:
        """Run the command with three open files as its input and outputs; give its exit code."""
        request = {"words": words, "cwd": str(cwd or os.getcwd()), "environment": environment}  # noqa: PTH109
        socket.send_fds(self._socket, [json.dumps(request).encode()], [file.fileno() for file in files])
        child = int(self._answer())
        self._socket.settimeout(max_seconds)
        try:
            return int(self._answer())
        except TimeoutError:
            os.kill(child, signal.SIGKILL)
            raise subprocess.TimeoutExpired([*words], max_seconds) from None
        finally:
            self._socket.settimeout(None)

    def _answer(self) -> bytes:
        answer = self._socket.recv(_MAX_ANSWER)
        if not answer:
            raise RuntimeError("the server of commands is gone")
        return answer

    def close(self) -> None:
        """Let the server end."""
        self._socket.close()
        self._process.wait()


_servers: list[Server] = []


def run_forked(words: Sequence[str], files: Sequence[IO[bytes]], **how: Any) -> int:
    """Run the command on this process's server, which is started with the first command."""
    if not _servers:
        _servers.append(Server(how["environment"]))
        atexit.register(_close)
    try:
        return _servers[-1].run(words, files, **how)
    except BaseException:
        # Whatever went wrong, an answer may still be on its way, and is not to be taken for that of the next command.
        _close()
        raise


def _close() -> None:
    while _servers:
        _servers.pop().close()


# --- The server.


def _serve(calls: socket.socket) -> None:
    """Fork for each request; returns in the child, which then is the command, and does not return in the server."""
    ours = [".".join(file.relative_to(SOURCES).with_suffix("").parts) for file in sorted(SOURCES.rglob("*.py"))]
    for name in (*_LIBRARIES, *(one for one in ours if not one.endswith("__"))):
        # A module that cannot be imported is the business of the command that needs it.
        with suppress(Exception):
            import_module(name)
    # What is there now stays: children need not touch it to find garbage.
    gc.collect()
    gc.freeze()
    while True:
        text, files, _, _ = socket.recv_fds(calls, _MAX_REQUEST, 3)
        if not text:
            os._exit(0)
        child = os.fork()
        if not child:
            calls.close()
            _become(json.loads(text), files)
            return
        for file in files:
            os.close(file)
        try:
            calls.send(str(child).encode())
            calls.send(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])).encode())
        except BrokenPipeError:
            os._exit(0)


def _become(request: dict[str, Any], files: Sequence[int]) -> None:
    """Take over what the caller has given: files, surroundings, folder and words."""
    for at, file in enumerate(files):
        os.dup2(file, at)
        os.close(file)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["cwd"])
    sys.path[0] = request["cwd"]
    sys.argv[1:] = request["words"]


def _run() -> int:
    """Be the command, up to the end of its threads; give its exit code."""
    try:
        runpy.run_module("solvent", run_name="__main__", alter_sys=True)
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException:  # noqa: BLE001 - as the interpreter does with what nobody caught
        traceback.print_exc()
        code = 1
    else:
        code = 0
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return code


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
    os._exit(_run())
