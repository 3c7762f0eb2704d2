"""Runs of the command that are killed again and again, and resumed until they are done.

A storm is a random workflow in a folder: some tasks fail, some have alternatives. Every call of a service leaves a line
with its name in `calls`. The command is killed when so many calls have been made; then the record is read, and from
then on no call that has an answer in it may be made again.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from solvent.runs.journal import read_journal
from solvent.runs.registry import journal_of
from solvent.store import open_store
from tests.live.agents_world import is_answer
from tests.repo.project import ROOT

if TYPE_CHECKING:
    from pathlib import Path

RUN = "storm"
MAX_SECONDS = 200
SERVICES = """\
import hashlib, os, random, time
from pathlib import Path

import solvent

CALLS = os.open(Path(__file__).with_name("calls"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)


def work(name, mode, *values):
    known = solvent.call()
    os.write(CALLS, (f"{known.key} {known.repeated}\\n" if known else "- False\\n").encode())
    time.sleep(random.random() * 0.02)
    if mode == "fails":
        raise ValueError(name)
    return [name, mode, hashlib.sha256(repr(values).encode()).hexdigest()[:8]]
"""


@dataclass
class Storm:
    """What happened in a storm."""

    kills: int = 0
    #: Kills after which the run had not even begun.
    early: int = 0
    #: Answered calls at each kill.
    answered: list[int] = field(default_factory=list)
    #: Calls that had an answer in the record, and were made again.
    repeated: set[str] = field(default_factory=set)
    #: Calls that were made several times and not told so.
    untold: set[str] = field(default_factory=set)
    end: dict[str, Any] = field(default_factory=dict)


def make_workflow(folder: Path, seed: int, tasks: int) -> None:
    """Write a random workflow and its services."""
    chance = random.Random(seed)
    found: dict[str, Any] = {}
    alternatives = []
    for number in range(tasks):
        name = f"T{number}"
        before = [f"T{one}" for one in range(max(0, number - 6), number)]
        sources = chance.sample(before, min(len(before), chance.randint(0, 3)))
        mode = chance.choices(("works", "fails", "bad"), (8, 1, 1))[0]
        found[name] = {"service": "work", "in": [name, mode, *({"from": one} for one in sources)]}
        if mode != "works" and chance.random() < 0.9:
            found[f"A{number}"] = {
                "service": "work",
                "in": [f"A{number}", "works", *({"from": one} for one in sources)],
            }
            one = {"name": f"instead of {name}", "exits": {name: f"A{number}"}}
            alternatives.append(
                one | ({"on": ["condition"], "when": 'nth(2, result) == "bad"'} if mode == "bad" else {})
            )
    flow = {"services": {"work": {"python": "services:work"}}, "tasks": found, "alternatives": alternatives}
    (folder / "flow.json").write_text(json.dumps(flow), encoding="utf-8")
    (folder / "services.py").write_text(SERVICES, encoding="utf-8")


def start(folder: Path, *words: str, seed: int = 0, words_before: tuple[str, ...] = ()) -> subprocess.Popen[bytes]:
    """Start the command, with an order of sets and mappings of its own; or another one, which is told of Python."""
    known = {"PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1", "PYTHONHASHSEED": str(seed)}
    environment = {name: value for name, value in os.environ.items() if name != "SOLVENT_STORE"} | known
    return subprocess.Popen(
        [*words_before, sys.executable, *(() if words_before else ("-m", "solvent", *words))],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def finish(process: subprocess.Popen[bytes]) -> tuple[int, str, str]:
    """Wait for a command; give its exit code and what it printed."""
    out, err = process.communicate(timeout=MAX_SECONDS)
    assert b"Traceback" not in err, err.decode()
    return process.returncode, out.decode(), err.decode()


def calls_of(folder: Path) -> list[list[str]]:
    """Give the calls that were made, and whether they were told to be repeated."""
    file = folder / "calls"
    return [line.split() for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


def answered_in(folder: Path) -> set[str]:
    """Give the calls that have an answer in the record."""
    with open_store(str(folder / ".solvent" / "store.db")) as store:
        return {f"{RUN}/{one.call}" for _, one in read_journal(store, journal_of(RUN)) if is_answer(one)}


def weather(folder: Path, seed: int, *, max_calls: int = 8, words: tuple[str, ...] = ()) -> Storm:
    """Run the workflow of a folder; kill it after up to so many calls, until once it is done before that."""
    chance = random.Random(seed)
    storm = Storm()
    known: Counter[str] = Counter()
    answered = set[str]()
    is_begun = False
    while True:
        what = ("resume", RUN) if is_begun else ("run", "flow.json", "--name", RUN, *words)
        process = start(folder, *what, "--format", "json", seed=chance.randrange(2**32))
        was_killed = _kill_after(process, folder, len(calls_of(folder)) + chance.randint(1, max_calls), chance)
        code, out, err = finish(process)
        made = Counter(key for key, _ in calls_of(folder))
        storm.repeated |= {key for key in answered if made[key] > known[key]}
        if not was_killed:
            assert code in {0, 1}, err
            storm.end = json.loads(out)
            storm.untold = _untold(folder)
            return storm
        storm.kills += 1
        is_begun = is_begun or _is_there(folder)
        if is_begun:
            known, answered = made, answered_in(folder)
            storm.answered.append(len(answered))
        else:
            storm.early += 1


def _kill_after(process: subprocess.Popen[bytes], folder: Path, calls: int, chance: random.Random) -> bool:
    """Kill a process when so many calls were made, or sometimes at any moment; tell whether it was."""
    deadline = time.monotonic() + MAX_SECONDS
    if chance.random() < 0.1:
        deadline = time.monotonic() + chance.random()
    while process.poll() is None and len(calls_of(folder)) < calls and time.monotonic() < deadline:
        time.sleep(0.001)
    time.sleep(chance.random() * 0.01)
    if process.poll() is not None:
        return False
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return process.returncode == -signal.SIGKILL


def _is_there(folder: Path) -> bool:
    if not (folder / ".solvent" / "store.db").exists():
        return False
    with open_store(str(folder / ".solvent" / "store.db")) as store:
        return store.get(f"runs/{RUN}") is not None


def _untold(folder: Path) -> set[str]:
    """Give the calls that were made again and not told so."""
    told: dict[str, list[str]] = {}
    for key, said in calls_of(folder):
        told.setdefault(key, []).append(said)
    return {key for key, said in told.items() if "False" in said[1:]}
