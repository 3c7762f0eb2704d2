"""Programs over real processes end as they do in one, whatever happens to the processes."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from typing import TYPE_CHECKING

import pytest

from solvent.cli.main import main
from solvent.errors import Misuse, NodeProblem
from solvent.runs.nodes.control import AskStatus, Line, Status
from solvent.runs.nodes.folder import load_run
from tests.cli.command import EXAMPLES, solvent
from tests.live.shared_runs import final, start, sum_program, total

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path


@pytest.mark.parametrize("name,nodes", [("word-count", 8), ("exchange-sort", 5)])
def test_examples_end_as_in_one_process(name: str, nodes: int, tmp_path: Path) -> None:
    """An example over nodes ends in a state in which it may end in one process."""
    result = solvent("run", EXAMPLES / name, "--nodes", str(nodes), "--state", tmp_path / "run")
    assert result.code == 0, result.err
    assert result.out.strip() in final(name)


@pytest.mark.parametrize("kind, left", [("Object", "<1, less>"), ("opaque", '<1, 2, "a", less>')])
def test_patterns_of_every_kind_work_over_nodes(kind: str, left: str, tmp_path: Path) -> None:
    """A pattern of a kind that stands for Python values, too, fits over nodes what it fits in one process."""
    program = tmp_path / "kinds.hocl"
    program.write_text(f'let less = replace x::{kind}, y::{kind} by 1 in <1, 2, "a", less>', encoding="utf-8")
    result = solvent("run", program, "--nodes", "2")
    assert (result.code, result.out.strip()) == (0, left), result.err


def test_loose_rules_and_functions_go_from_node_to_node(tmp_path: Path) -> None:
    """A program that makes rules as it runs, and one that calls Python, end as they should."""
    made = solvent("run", EXAMPLES / "closures", "--nodes", "3")
    assert made.out.strip() in final("closures")
    called = solvent(
        "run", EXAMPLES / "self-healing", "--functions", EXAMPLES / "self-healing/functions.py", "--nodes", "2"
    )
    assert called.out.strip() in final("self-healing")
    assert "everything is at node 0" in called.err


def test_every_reaction_may_go_through_the_protocol(tmp_path: Path) -> None:
    """Without reactions among a node's own molecules the end is the same."""
    result = solvent("run", EXAMPLES / "word-count", "--nodes", "3", "--no-local", "--format", "json")
    assert result.json["solution"] in final("word-count")
    assert result.json["reactions"] == 27
    assert result.json["messages"] > 0


def statuses(folder: Path) -> list[Status]:
    """Ask the nodes of a run how they are, as soon as all of them react."""
    until = time.monotonic() + 200
    while time.monotonic() < until:
        try:
            record = load_run(folder)
            found = []
            for address in record.addresses:
                line = Line(address, bytes.fromhex(record.secret), max_seconds=1)
                found.append(line.ask(AskStatus()))
                line.close()
        except (Misuse, NodeProblem):
            found = []
        if found and all(one.phase in ("alone", "together") for one in found):
            return found
        time.sleep(0.01)
    raise AssertionError("no node answers")


def test_a_killed_node_is_started_again(tmp_path: Path) -> None:
    """One node killed half-way, amid captures, costs no molecule and doubles none."""
    running = start(
        *sum_program(tmp_path, 240, seconds=0.01),
        "--nodes",
        "3",
        "--state",
        tmp_path / "run",
        "--format",
        "json",
        "--no-local",
    )
    os.kill(statuses(tmp_path / "run")[1].process, signal.SIGKILL)
    out, err = running.communicate(timeout=200)
    assert running.returncode == 0, err
    found = json.loads(out)
    assert found["solution"] == total(240)
    assert found["restarts"] == 1
    assert "node 1 was killed by signal 9; it is started again" in err


def test_a_limit_stops_all_nodes_and_the_run_can_go_on(tmp_path: Path) -> None:
    """A limit keeps every molecule; the run is taken up again from its folder."""
    words = [*sum_program(tmp_path, 200, seconds=0.01), "--nodes", "3", "--state", str(tmp_path / "run")]
    stopped = solvent(*words, "--max-seconds", "0.2", "--format", "json")
    assert stopped.code == 3
    assert "H502" in stopped.err
    assert not stopped.json["inert"]
    numbers = [int(one) for one in re.findall(r"\d+", stopped.json["solution"])]
    assert sum(numbers) == 200 * 201 // 2
    assert len(numbers) > 1
    resumed = solvent("run", "--resume", tmp_path / "run")
    assert resumed.out.strip() == total(200)


def test_ctrl_c_ends_all_processes(tmp_path: Path) -> None:
    """Ctrl-C stops the run with exit code 130, no process is left, and the run can go on."""
    # Slow enough that it cannot be done before it is interrupted, on any machine.
    words = sum_program(tmp_path, 200, seconds=0.2)
    running = start(*words, "--nodes", "3", "--state", tmp_path / "run")
    nodes = statuses(tmp_path / "run")
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=200)
    assert running.returncode == 130, err
    assert sum(int(one) for one in re.findall(r"\d+", out)) == 200 * 201 // 2
    for node in nodes:
        with pytest.raises(ProcessLookupError):
            os.kill(node.process, 0)
    sum_program(tmp_path, 200, seconds=0.01)
    assert solvent("run", "--resume", tmp_path / "run").out.strip() == total(200)


def test_an_error_is_the_same_error(tmp_path: Path) -> None:
    """A product that cannot be computed ends the run as it does in one process: same words, same code."""
    program = tmp_path / "divide.hocl"
    program.write_text("let d = replace A : x, B : y\n  by x / y\nin <A:1, 7, 8, B:0, d>", encoding="utf-8")
    one = solvent("run", program)
    many = solvent("run", program, "--nodes", "3", "--state", tmp_path / "run")
    assert (many.code, many.out) == (one.code, one.out) == (1, "<7, 8, A:1, B:0, d>\n")
    assert many.err.startswith(one.err)
    assert "the run is kept in" in many.err


def test_nodes_started_elsewhere_are_used(tmp_path: Path) -> None:
    """Nodes that wait for a program get one, one killed and started again goes on, and all end with the run."""
    secret = tmp_path / "secret"
    secret.write_text("between us", encoding="utf-8")
    sum_program(tmp_path, 60, seconds=0.01)

    def serve(number: int, address: str = "127.0.0.1:0") -> tuple[subprocess.Popen[str], str]:
        node = start(
            "lab", "serve", "capture", "--listen", address, "--state", tmp_path / f"n{number}",
            "--functions", tmp_path / "slow.py", "--secret-file", secret,
        )  # fmt: skip
        assert node.stderr is not None
        said = node.stderr.readline()
        found = re.search(r"listens at (\S+)", said)
        assert found, said
        return node, found[1]

    served = [serve(number) for number in range(3)]
    peers = ",".join(address for _, address in served)
    words = ["run", str(tmp_path / "sum.hocl"), "--functions", str(tmp_path / "slow.py"), "--peers", peers]
    wrong = solvent(*words)
    assert wrong.code == 2
    assert "error[N130]" in wrong.err
    running = start(*words, "--secret-file", secret, "--no-local", "--state", tmp_path / "run")
    statuses(tmp_path / "run")
    first, address = served[0]
    first.kill()
    first.wait()
    served[0] = serve(0, address)
    out, err = running.communicate(timeout=200)
    assert out.strip() == total(60), err
    for node, _ in served:
        assert node.wait(timeout=200) == 0


def test_top_shows_what_nodes_do(tmp_path: Path) -> None:
    """While a run goes on, its nodes are shown with their mode, rule, molecules and messages."""
    # It does not end before it was looked at, however busy the machine is.
    words = sum_program(tmp_path, 1000, seconds=0.2)
    running = start(*words, "--nodes", "2", "--state", tmp_path / "run", "--no-local")
    try:
        statuses(tmp_path / "run")
        shown = solvent("top", tmp_path / "run", "--once")
        nodes = solvent("top", tmp_path / "run", "--format", "json").json["nodes"]
        assert [one["node"] for one in nodes] == [0, 1]
        assert set(nodes[0]) >= {"state", "mode", "rule", "molecules", "reactions", "messages_per_second", "life"}
        assert shown.out.splitlines()[1].split()[:3] == ["node", "state", "mode"]
    finally:
        running.terminate()
        running.communicate(timeout=200)


@pytest.mark.parametrize(
    "words,said",
    [
        (["--nodes", "0"], "`--nodes` must be an integer of at least 1, not `0`"),
        (["--nodes", "2", "--seed", "3"], "`--seed` cannot be used over nodes"),
        (["--nodes", "2", "--trace"], "`--trace` cannot be used over nodes"),
        (["--nodes", "2", "--max-reactions", "3"], "`--max-reactions` cannot be used over nodes"),
        (["--nodes", "2", "--jobs", "3"], "`--jobs` is for workflows"),
        (["--nodes", "2", "--peers", "127.0.0.1:1"], "`--peers` already names the nodes"),
        (["--peers", "here"], "error[N104]"),
        (["--peers", "127.0.0.1:1"], "error[N130]"),
        (["--nodes", "2", "--state", "/proc/nothing"], "error[N140]"),
        (["--resume", "/nowhere/at/all"], "a run that is resumed already has its program"),
    ],
)
def test_bad_usage_is_a_clear_error(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever is wrong is told, with exit code 2."""
    assert main(["run", str(EXAMPLES / "word-count"), *words]) == 2
    assert said in capsys.readouterr().err


def test_what_is_no_run_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder without a run cannot be resumed or shown, nor one with something in it be used."""
    (tmp_path / "thing").touch()
    for words, said in (
        (["run", "--resume", str(tmp_path)], "error[H343]"),
        (["top", str(tmp_path)], "error[H343]"),
        (["run", str(EXAMPLES / "word-count"), "--nodes", "2", "--state", str(tmp_path)], "is not empty"),
    ):
        assert main(words) == 2
        assert said in capsys.readouterr().err
