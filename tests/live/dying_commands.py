"""Runs a command of Solvent again and again, and kills it before its first write to the store, its second, and so on.

    python -m tests.live.dying_commands update r longer.yaml --store runs.db

Each line that is printed is the number of writes that a command made before it was killed, or `done CODE` for the one
that was not. Writes of heartbeats do not count: how many there are depends on time.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

from solvent.cli.main import main
from solvent.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable

WRITES = ("append", "append_all", "append_each", "append_soon", "put", "delete", "put_blob", "drop")
MAX_WRITES = 500


def die_after(many: int) -> None:
    """Let this process be killed before a write, when it has made so many."""
    left, lock = [many], threading.Lock()

    def dying(write: Callable[..., Any]) -> Callable[..., Any]:
        def written(*arguments: Any, **options: Any) -> Any:
            if not threading.current_thread().name.startswith("heartbeat"):
                with lock:
                    if not left[0]:
                        os.kill(os.getpid(), signal.SIGKILL)
                    left[0] -= 1
            return write(*arguments, **options)

        return written

    for name in WRITES:
        setattr(SqliteStore, name, dying(getattr(SqliteStore, name)))


def run_all(arguments: list[str]) -> None:
    """Run the command until it is not killed."""
    for many in range(MAX_WRITES):
        child = os.fork()
        if not child:
            die_after(many)
            sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115 - it ends with the process
            code = 1
            try:
                code = main(arguments)
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        print(f"done {os.waitstatus_to_exitcode(status)}" if os.WIFEXITED(status) else many, flush=True)
        if os.WIFEXITED(status):
            return


if __name__ == "__main__":
    run_all(sys.argv[1:])
