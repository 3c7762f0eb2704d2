"""Runs of workflows that never end, interrupted at random moments, and how they end then."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

from tests.cli.command import arguments, environment

if TYPE_CHECKING:
    import random
    from pathlib import Path

MAX_SECONDS = 200
INTERRUPTED = 130
SERVICES = """\
import random
import time


def quick(*_):
    time.sleep(random.random() / 100)
    return 1


def hang(*_):
    time.sleep(600)


def compute(*_):
    while True:
        pass
"""
_KNOWN = """\
services:
  quick: {python: "own:quick"}
  hang: {python: "own:hang"}
  compute: {python: "own:compute", retries: 1}
  command: {shell: "sleep 600"}
"""
FILES = {
    "own.py": SERVICES,
    "plain.yaml": _KNOWN
    + """\
tasks:
  first: {service: quick, in: [1]}
  second: {service: hang, from: [first]}
  third: {service: compute, from: [first]}
  fourth: {service: command}
""",
    "patterned.yaml": _KNOWN
    + """\
tasks:
  first: {service: quick, in: [0], to: [head]}
  head: {service: quick, in: [{arrived: one}], join: any}
  tail: {service: quick, from: head, again: {to: head, when: "true"}}
  beside: {service: quick, from: head}
  never: {service: hang, from: first}
""",
    "nested.yaml": """\
services:
  quick: {python: "own:quick"}
  plain: {workflow: plain.yaml}
  between: {workflow: between.yaml}
tasks:
  first: {service: quick, in: [1]}
  second: {service: plain, after: [first]}
  third: {service: between, after: [first]}
  fourth: {service: between}
""",
    "between.yaml": """\
services: {plain: {workflow: plain.yaml}, patterned: {workflow: patterned.yaml}}
tasks: {one: {service: plain}, two: {service: patterned}}
""",
    "script.py": """\
import sys
import solvent
from solvent.workflows.formats.files import load

if __name__ == "__main__":
    try:
        solvent.run(
            load(sys.argv[1]).workflow,
            folder=".",
            jobs=8,
            processes="--processes" in sys.argv,
            watch=lambda event: print(event.kind, event.task, file=sys.stderr, flush=True),
        )
    except KeyboardInterrupt:
        sys.exit(130)
""",
}
KINDS = ("plain", "patterned", "nested")
HOWS = ("--no-record", "--store")


class End(NamedTuple):
    """How an interrupted run ended, and how long that took."""

    code: int
    errors: str
    seconds: float


def put_files(folder: Path) -> None:
    """Write the workflows."""
    for name, text in FILES.items():
        (folder / name).write_text(text)


def command(folder: Path, kind: str, how: str, *, processes: bool) -> list[str]:
    """Return the words that start a run of one kind: by the command, recorded or not, or by a script."""
    more = ["--processes"] if processes else []
    if how == "script":
        return [sys.executable, "script.py", f"{kind}.yaml", *more]
    record = [how, str(folder / "store.db")] if how == "--store" else [how]
    return arguments("run", f"{kind}.yaml", "--jobs", "8", *more, *record)


def interrupt(folder: Path, words: list[str], chance: random.Random, *, while_starting: bool = False) -> End:
    """Start a run, interrupt it while it starts or some time after its first output, and wait for its end."""
    process = subprocess.Popen(words, cwd=folder, env=environment(), stderr=subprocess.PIPE, start_new_session=True)
    assert process.stderr is not None
    try:
        first = b"" if while_starting else os.read(process.stderr.fileno(), 1)
        delays = [chance.uniform(0, 1)] if while_starting else [0.0, chance.uniform(0, 0.1), chance.uniform(0, 1.5)]
        time.sleep(chance.choice(delays))
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        _, rest = process.communicate(timeout=MAX_SECONDS)
        return End(process.returncode, (first + rest).decode(), time.monotonic() - began)
    finally:
        process.kill()
        process.wait()


def is_in_order(end: End) -> bool:
    """Tell whether a run that was interrupted while it started ended by that, or Python itself, which starts first."""
    if end.code == INTERRUPTED:
        return "Traceback" not in end.errors
    is_of_python = not end.errors or end.errors.endswith("KeyboardInterrupt\n")
    return is_of_python and not re.search(r"cli.main\.py\", line \d+, in main", end.errors)
