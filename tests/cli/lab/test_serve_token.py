"""`solvent lab serve token`: a node of a ring, and a whole ring."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import Any

import pytest

from solvent.cli.main import main
from solvent_lab.cli.serve_token import Overview


def _serve(*words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "solvent", "lab", "serve", "token", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _events(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_node_tells_what_happens_and_leaves_when_it_is_stopped() -> None:
    """Alone it has the lock and hears itself; Ctrl-C ends it in good order, with exit code 130."""
    process = _serve("--lock-every", "0.05", "--say", "hello", "--format", "json")
    assert process.stdout is not None
    seen = list[dict[str, Any]]()
    while sum(event["event"] == "locked" for event in seen) < 2:
        seen.append(json.loads(process.stdout.readline()))
    process.send_signal(signal.SIGINT)
    rest, complaint = process.communicate(timeout=200)
    seen += _events(rest)
    assert (process.returncode, complaint) == (130, '{"note": {"message": "node 0 stopped"}}\n')
    assert [event["event"] for event in seen[:2]] == ["began", "ring"]
    assert seen[-1]["event"] == "ended"
    assert {"event": "heard", "place": 0, "origin": 0, "data": "hello"}.items() <= next(
        event for event in seen if event["event"] == "heard"
    ).items()
    fences = [event["fence"] for event in seen if event["event"] == "locked"]
    assert fences == sorted(fences)


def test_a_whole_ring_shows_the_token_move_and_be_found_again() -> None:
    """Three processes take turns; one that is killed with the lock comes back, and the gap is told."""
    process = _serve(
        "--nodes", "3", "--lock-every", "0.02", "--patience", "0.3", "--kill-every", "0.5", "--format", "json"
    )
    assert process.stdout is not None
    seen = list[dict[str, Any]]()
    wanted = {"moved", "locked", "unlocked", "killed", "started", "back"}

    def is_all_seen() -> bool:
        # On a busy machine somebody may be killed before the token has moved, or before all have had it.
        kinds = [event["event"] for event in seen]
        holders = {event["node"] for event in seen if event["event"] == "locked"}
        return kinds.count("began") >= 4 and wanted <= set(kinds) and holders == {0, 1, 2}

    while not is_all_seen():
        seen.append(json.loads(process.stdout.readline()))
    process.send_signal(signal.SIGINT)
    _, complaint = process.communicate(timeout=200)
    assert (process.returncode, complaint) == (130, '{"note": {"message": "the ring stopped"}}\n')
    kinds = [event["event"] for event in seen]
    assert kinds.index("killed") < kinds.index("back")


@pytest.mark.parametrize(
    "words,said",
    [
        (["--kill-every", "1"], "error[P346]"),
        (["--peers", "0=127.0.0.1:7000", "--join", "127.0.0.1:7001"], "error[P340]"),
        (["--join", "127.0.0.1:1"], "error[N130]"),
        (["--patience", "0"], "error[P340]"),
        (["--journal", "/nowhere/at/all"], "error[N110]"),
        (["--listen", "0.0.0.0:0"], "error[N106]"),
        (["--join", "example.org:7000"], "error[S210]"),
        (["--join", "127.0.0.1:1", "--no-secret"], "error[N130]"),
    ],
)
def test_bad_input_is_a_clear_error(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever is wrong is told in one line, with exit code 2."""
    assert main(["lab", "serve", "token", *words]) == 2
    assert said in capsys.readouterr().err


def test_lines_of_a_whole_ring_are_news_only(capsys: pytest.CaptureFixture[str]) -> None:
    """What all nodes report is printed once, and moves are counted."""
    overview = Overview(is_json=False)
    for node in range(3):
        overview.take({"event": "ring", "seconds": 0.1, "node": node, "epoch": 0, "ring": [0, 1, 2]})
        overview.take({"event": "moved", "seconds": 0.2, "node": node, "to": (node + 1) % 3, "why": "round"})
    overview.take({"event": "killed", "seconds": 0.5, "node": 2})
    overview.take({"event": "locked", "seconds": 1.3, "node": 0, "fence": [0, 0, 1]})
    assert capsys.readouterr().out.splitlines() == [
        "   0.10 s  a token of epoch 0 goes round 0 1 2",
        "   0.50 s  node 2 is killed while it has the lock",
        "   1.30 s  the token is at node 0; 3 moves; locks of a node: 1 to 1",
    ]
