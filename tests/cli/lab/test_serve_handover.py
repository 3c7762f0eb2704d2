"""`solvent lab serve handover`: processes that count in shared data, and what is said about it."""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from solvent.cli.main import main
from solvent.net.private_folder import MEMORY
from solvent_lab.chaos.ledger import BLOCKS, Ledger


def _nothing() -> None:
    """Do nothing amid a count."""


def _counted(ledger: Ledger, times: int) -> memoryview:
    view, chance = memoryview(bytearray(ledger.size)), random.Random(1)
    for number in range(times):
        assert ledger.wrong(view) == ""
        ledger.count(view, number % 3, (number % 3, number << 70), chance, _nothing)
    return view


def test_what_was_counted_fits_together() -> None:
    """After any number of counts the counter, the slots, the stamps and the blocks say the same."""
    ledger = Ledger(3, 1000)
    view = _counted(ledger, 20)
    assert ledger.wrong(view) == ""
    found = ledger.read(view)
    assert (found.counter, found.slots, found.node, found.fence) == (20, (7, 7, 6), 1, 19 << 70)
    assert max(found.stamps) == 20


@pytest.mark.parametrize("kind", ["count", "lost", "byte", "short"])
def test_whatever_does_not_fit_together_is_found(kind: str) -> None:
    """Half a count, a slot that is set back, one byte of a block and a missing end are told."""
    ledger, chance = Ledger(3, 1000), random.Random(2)
    view = _counted(ledger, 20)
    if kind == "count":
        halves = list[bytes]()
        ledger.count(view, 0, (9, 30), chance, lambda: halves.append(bytes(view)))
        assert ledger.wrong(view) == ""
        view = memoryview(bytearray(halves[0]))
        expected = "the counter is 20, and the processes have counted to 21"
    elif kind == "lost":
        view[4 * 8] -= 1
        expected = "the counter is 20, and the processes have counted to 19"
    elif kind == "byte":
        view[-1] ^= 1
        expected = f"block {BLOCKS - 1} is torn"
    else:
        view = view[:-1]
        expected = f"there are {ledger.size - 1} bytes"
    assert ledger.wrong(view).startswith(expected)


def test_a_fence_that_another_has_had_is_found() -> None:
    """Fences grow from one process to the next; only the same process may have the same one again."""
    ledger = Ledger(3, 1000)
    view = _counted(ledger, 20)
    last = 19 << 70
    assert ledger.wrong_with(view, 1, last) == ledger.wrong_with(view, 2, last + 1) == ""
    assert ledger.wrong_with(view, 2, last) == f"process 2 has the fence {last}, and before it process 1 had {last}"
    assert ledger.wrong_with(view, 1, last - 1)


def test_what_happened_is_told_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    """One object tells how it was to be and what came of it."""
    words = ["lab", "serve", "handover", "--processes", "3", "--cycles", "4", "--seed", "5", "--format", "json"]
    assert main(words) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["counter"], told["expected"], told["wrong"], told["seed"]) == (12, 12, [], 5)
    assert told["joins"] >= 3
    assert told["leaves"] == told["joins"]
    assert told["kills"] == {}


def test_kills_that_were_not_made_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    """Two processes that stay cannot both be killed, and are done before fifty deaths are."""
    words = ["lab", "serve", "handover", "--processes", "2", "--cycles", "2", "--kills", "50"]
    assert main([*words, "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["kills_missed"] == 50 - sum(told["kills"].values()) > 0
    assert main(words) == 0
    assert re.search(r"killed    \d+ of 50\b.*\n.*more could be killed: give more", capsys.readouterr().out)


def test_what_is_wrong_is_told_with_exit_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    """Processes that do not get on in time are stopped, and that is told."""
    assert main(["lab", "serve", "handover", "--processes", "2", "--cycles", "1000", "--stall", "0.001"]) == 1
    shown = capsys.readouterr()
    assert "counter   not seen of 2000" in shown.out
    # Which of them has got on in the first thousandth of a second is chance.
    assert re.match(r"wrong: process [01] does not get on for 0\.001 s\n", shown.err)


@pytest.mark.parametrize(
    "words, complaint",
    [
        (["--processes", "3", "--hosts", "2", "--kills", "1"], "error[P352]: 3 processes are too few: 4 must stay"),
        (["--journal", "/dev/null"], "error[P353]: /dev/null cannot be used: File exists"),
        (["--patience", "0"], "error[P352]: `--patience 0` leaves nobody any time"),
        (["--stall", "0"], "error[P352]: `--stall 0` leaves nobody any time"),
        (["--leaving", "2"], "must be a number from 0 to 1, not `2`"),
    ],
)
def test_what_cannot_be_is_told(words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Too few processes, no folder and no part are errors of whoever asks."""
    try:
        code: object = main(["lab", "serve", "handover", *words])
    except SystemExit as end:
        code = end.code
    assert code == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM])
def test_who_is_stopped_leaves_nothing_behind(which: signal.Signals) -> None:
    """Ctrl-C, or a request to terminate, ends all processes and takes the shared memory away."""
    words = ["--processes", "2", "--cycles", "100000", "--leaving", "0"]
    command = [sys.executable, "-m", "solvent", "lab", "serve", "handover", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    while " 2 joined" not in process.stdout.readline():
        assert process.poll() is None
    # Others may have such folders, too, and make new ones at the same time; this is what the process itself has mapped.
    mapped = Path(f"/proc/{process.pid}/maps").read_text(encoding="utf-8")
    folder = Path(re.findall(rf"{MEMORY}/solvent-chaos-[^/\s]+", mapped)[0])
    process.send_signal(which)
    _, complaint = process.communicate(timeout=200)
    assert process.returncode == 130
    assert complaint.startswith("stopped after ")
    assert not folder.exists()
    assert not _users_of(str(folder))


def _users_of(folder: str) -> str:
    """Give the processes that have something open in a folder, or mapped."""
    found = subprocess.run(["grep", "-ls", folder, *_maps()], capture_output=True, text=True, check=False)
    return found.stdout


def _maps() -> list[str]:
    return [str(path) for path in Path("/proc").glob("[0-9]*/maps")]
