"""Programs whose nodes are kept in a store end as they do in one process, whoever is killed."""

from __future__ import annotations

import json
import os
import random
import re
import runpy
import signal
import time
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

import pytest

from solvent.cli.main import main
from solvent.hocl import parse
from solvent.runs.nodes.shared import runs_in
from solvent.store import open_store
from tests.cli.command import EXAMPLES, solvent
from tests.live.shared_runs import Shared, final, shared, start, sum_program, total
from tests.live.store_servers import served, server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from solvent.runs.nodes.control import Status

KINDS = ("sqlite", "nats")
COUNT = 100
GALLERY = sorted(path.parent.name for path in EXAMPLES.glob("*/*.final.hocl"))


@contextmanager
def kept(kind: str, folder: Path) -> Iterator[list[str]]:
    """Give the words for a run that is kept by a file, or by a server by which its nodes also talk."""
    if kind == "sqlite":
        yield [str(folder / "store.db")]
        return
    with served() as url:
        yield [url, "--transport", "nats"]


@pytest.mark.parametrize("kind,name,nodes", [("sqlite", "word-count", 4), ("nats", "mailboxes", 2)])
def test_examples_end_as_in_one_process(kind: str, name: str, nodes: int, tmp_path: Path) -> None:
    """An example over nodes in a store ends in a state in which it may end in one process."""
    with kept(kind, tmp_path) as words:
        result = solvent("run", EXAMPLES / name, "--nodes", str(nodes), "--store", *words)
        assert result.code == 0, result.err
        assert result.out.strip() in final(name)
        run = re.search(r"the run is (\S+)", result.err)
        assert run is not None
        again = solvent("run", "--attach", run[1], "--store", words[0])
        assert (again.code, again.out) == (0, result.out)


@pytest.mark.parametrize("kind,options", [pytest.param("nats", ["--no-local"], marks=pytest.mark.soak), ("sqlite", [])])
def test_a_killed_node_and_a_killed_launcher_cost_nothing(kind: str, options: list[str], tmp_path: Path) -> None:
    """A node is taken over by another process while nobody who started the run is there; somebody else collects it."""
    program = sum_program(tmp_path, COUNT)
    with (
        kept(kind, tmp_path) as words,
        shared(words[0], *program, "--nodes", "3", "--ttl", "3", *options, *words[1:]) as run,
    ):
        statuses = run.all_react(3)
        run.command.kill()
        os.kill(statuses[1].process, signal.SIGKILL)
        assert run.wait_for_end() == "inert"
        collected = solvent(
            "run", "--attach", run.run, "--store", run.url, "--functions", tmp_path / "slow.py", "--format", "json"
        )
        assert collected.json["solution"] == total(COUNT), collected.err
        assert collected.json["restarts"] == 1
        assert collected.json["inert"]
        assert not run.members()


def test_a_spare_takes_over(tmp_path: Path) -> None:
    """A process that has no node yet takes over for one that is killed, and who waits is told."""
    words = [*sum_program(tmp_path, COUNT), "--nodes", "2", "--spares", "1", "--ttl", "2"]
    with shared(str(tmp_path / "store.db"), *words) as run:
        busy = {one.process for one in run.all_react(2).values()}
        (spare,) = set(run.members()) - busy
        os.kill(next(iter(busy)), signal.SIGKILL)
        run.statuses(lambda found: spare in [one.process for one in found.values()])
        out, err = run.command.communicate(timeout=200)
        assert json.loads(out)["solution"] == total(COUNT)
        assert re.search(rf"node \d was taken over by \S+-{spare}\b", err)


def test_all_may_be_killed_and_others_go_on(tmp_path: Path) -> None:
    """When every process is dead the run waits in the store; others go on with it, without losing anything."""
    words = [*sum_program(tmp_path, COUNT), "--nodes", "3", "--ttl", "0.5", "--no-local"]
    with shared(str(tmp_path / "store.db"), *words) as run:
        run.all_react(3)
        for number in run.members():
            os.kill(number, signal.SIGKILL)
        out, err = run.command.communicate(timeout=200)
        assert run.command.returncode == 2
        assert "N150" in err
        assert sum(map(int, re.findall(r"\d+", json.loads(out)["solution"]))) == COUNT * (COUNT + 1) // 2
        attached = solvent(
            "run", "--attach", run.run, "--store", run.url, "--functions", tmp_path / "slow.py", "--spares", "2"
        )
        assert attached.out.strip() == total(COUNT), attached.err


def test_who_was_only_stopped_does_no_harm(tmp_path: Path) -> None:
    """A process that is stopped for longer than its lease finds out that its node is another's."""
    words = [*sum_program(tmp_path, COUNT), "--nodes", "2", "--ttl", "0.5", "--no-local"]
    with shared(str(tmp_path / "store.db"), *words) as run:
        stopped = run.all_react(2)[1].process
        os.kill(stopped, signal.SIGSTOP)
        run.statuses(lambda found: found[1].process != stopped)
        os.kill(stopped, signal.SIGCONT)
        out, err = run.command.communicate(timeout=200)
        assert json.loads(out)["solution"] == total(COUNT), err
        assert json.loads(out)["restarts"] >= 1


@pytest.mark.soak
def test_a_server_that_is_away_for_a_while_costs_nothing(tmp_path: Path) -> None:
    """While the only NATS server is dead nothing is saved, so nothing is said; then the run goes on."""
    words = [*sum_program(tmp_path, COUNT), "--nodes", "2", "--ttl", "2", "--no-local", "--transport", "nats"]
    with server() as one, shared(one.url, *words) as run:
        run.all_react(2)
        one.kill()
        time.sleep(0.3)
        one.start()
        out, err = run.command.communicate(timeout=200)
        assert json.loads(out)["solution"] == total(COUNT), err


def test_a_function_may_keep_the_lock_of_the_interpreter(tmp_path: Path) -> None:
    """For more than two leases no thread of its process runs; nobody takes its node over."""
    words = sum_program(tmp_path, 2)
    text = "import ctypes\n\ndef slow(one, other):\n    ctypes.PyDLL(None).usleep(4_500_000)\n    return one + other\n"
    (tmp_path / "slow.py").write_text(text, encoding="utf-8")
    store = str(tmp_path / "store.db")
    result = solvent(*words, "--nodes", "2", "--ttl", "2", "--no-local", "--store", store, "--format", "json")
    assert (result.json["solution"], result.json["restarts"]) == (total(2), 0)


def test_top_shows_nodes_in_a_store(tmp_path: Path) -> None:
    """What nodes do is shown while they do it, and how they were when all is over."""
    store = str(tmp_path / "store.db")
    words = [*sum_program(tmp_path, 60), "--nodes", "2", "--no-local"]
    with shared(store, *words) as run:
        run.all_react(2)
        nodes = solvent("top", "--store", store, "--format", "json").json["nodes"]
        assert [one["node"] for one in nodes] == [0, 1]
        run.command.communicate(timeout=200)
        shown = solvent("top", run.run, "--store", store, "--once").out.splitlines()
        assert [line.split()[:2] for line in shown[2:]] == [["0", "inert"], ["1", "inert"]]
    assert f"{run.run}  inert" in solvent("status", "--store", store).out
    seen = solvent("status", run.run, "--store", store, "--format", "json").json
    assert (seen["state"], [one["phase"] for one in seen["nodes"]]) == ("inert", ["inert", "inert"])
    assert "had ended before: inert" in solvent("cancel", run.run, "--store", store).out
    assert run.run in solvent("resume", "nope", "--store", store).err
    assert "error[H346]" in solvent("top", "nothing", "--store", store).err


def test_a_limit_halts_the_run_and_it_can_go_on(tmp_path: Path) -> None:
    """A limit keeps every molecule; the run is gone on with from the store, by another command."""
    program, store = sum_program(tmp_path, COUNT), tmp_path / "store.db"
    halted = solvent(*program, "--nodes", "2", "--store", store, "--max-seconds", "0.4", "--format", "json")
    assert halted.code == 3, halted.err
    assert "H502" in halted.err
    numbers = [int(one) for one in re.findall(r"\d+", halted.json["solution"])]
    assert (sum(numbers), len(numbers) > 1) == (COUNT * (COUNT + 1) // 2, True)
    with open_store(str(store)) as opened:
        (run,) = runs_in(opened)
    words = ["run", "--attach", run, "--store", store, "--functions", tmp_path / "slow.py"]
    assert "error[N151]" in solvent(*words).err
    assert solvent(*words, "--spares", "2").out.strip() == total(COUNT)


def test_ctrl_c_halts_the_run_but_not_of_who_watches(tmp_path: Path) -> None:
    """Ctrl-C of who only watches changes nothing; of who started the run, it ends all processes and loses nothing."""
    words = [*sum_program(tmp_path, COUNT, seconds=1.0), "--nodes", "2"]
    with shared(str(tmp_path / "store.db"), *words) as run:
        run.all_react(2)
        watching = ["run", "--attach", run.run, "--store", run.url, "--functions", tmp_path / "slow.py"]
        assert "error[H502]" in solvent(*watching, "--max-seconds", "0.1").err
        watcher = start(*watching)
        run.until_opened_by(watcher)
        watcher.send_signal(signal.SIGINT)
        assert watcher.communicate(timeout=200)[0] == ""
        assert watcher.returncode == 130
        assert run.board.look().ending is None
        run.command.send_signal(signal.SIGINT)
        out, err = run.command.communicate(timeout=200)
        assert run.command.returncode == 130, err
        assert sum(map(int, re.findall(r"\d+", json.loads(out)["solution"]))) == COUNT * (COUNT + 1) // 2
        assert run.wait_for_end() == "halted"
        assert not run.members()


@pytest.mark.parametrize(
    "words,said",
    [
        (["--nodes", "2", "--ttl", "3"], "`--ttl` is for runs in a store"),
        (["--nodes", "2", "--store", "STORE", "--state", "x"], "`--state` is not for runs in a store"),
        (["--nodes", "2", "--store", "STORE", "--ttl", "0.1"], "`--ttl` is at least"),
        (["--nodes", "2", "--store", "STORE", "--transport", "nats"], "needs a store on NATS servers"),
        (["--attach", "this", "--store", "STORE"], "a run in a store already has its program"),
        (["--nodes", "2", "--store", "/nowhere/at/all/store.db"], "error[E401]"),
        (["--nodes", "2", "--store", "STORE", "--tls-ca", "x"], "error[N121]"),
        (["--nodes", "2", "--spares", "1"], "no store is named for the run"),
    ],
)
def test_bad_usage_is_a_clear_error(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is wrong is told, with exit code 2."""
    monkeypatch.delenv("SOLVENT_STORE", raising=False)
    words = [str(tmp_path / "store.db") if word == "STORE" else word for word in words]
    assert main(["run", str(EXAMPLES / "word-count"), *words]) == 2
    assert said in capsys.readouterr().err


def test_a_run_that_is_not_there_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Runs are named that are there; one that calls Python says that it does."""
    store = str(tmp_path / "store.db")
    program = sum_program(tmp_path, 4)
    assert solvent(*program, "--nodes", "2", "--store", store).out.strip() == total(4)
    for name in ("nothing", "no name"):
        assert main(["run", "--attach", name, "--store", store]) == 2
        said = capsys.readouterr().err
        assert "error[H346]" in said
    run = re.search(r"there is: (\S+)", said)
    assert run is not None
    assert main(["run", "--attach", run[1], "--store", store]) == 2
    assert "error[H347]" in capsys.readouterr().err


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
def test_the_gallery_ends_as_in_one_process(kind: str, tmp_path: Path) -> None:
    """Every example with known ends, over three nodes in a store, ends in one of them."""
    wrong = []
    with kept(kind, tmp_path) as words:
        for name in GALLERY:
            functions = EXAMPLES / name / "functions.py"
            more = ["--functions", functions] if functions.exists() else []
            result = solvent("run", EXAMPLES / name, *more, "--nodes", "3", "--store", *words)
            if not _is_final(name, result.out.strip()):
                wrong.append((name, result.code, result.out[:200], result.err))
    assert not wrong
    assert len(GALLERY) > 10


def _is_final(name: str, text: str) -> bool:
    """Say whether an example may end so: where there are too many ends, it has a module that decides."""
    check = EXAMPLES / name / "check.py"
    if not check.exists():
        return text in final(name)
    without_rules = re.sub(r", [a-z_]+(?=[,>])", "", text)
    return bool(runpy.run_path(str(check))["is_final"](parse(without_rules).solution()))


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
def test_kills_again_and_again(kind: str, tmp_path: Path) -> None:
    """Processes are killed one after the other, and others come: the sum is right in the end."""
    count, seconds, kills = 600, list[float](), 0
    program = [*sum_program(tmp_path, count, seconds=0.15), "--nodes", "4", "--ttl", "1", "--no-local"]
    chance = random.Random(7)
    with kept(kind, tmp_path) as words, shared(words[0], *program, *words[1:]) as run:
        run.all_react(4)
        attach = ["run", "--attach", run.run, "--store", run.url, "--functions", tmp_path / "slow.py"]
        waiting = [run.command]
        while run.board.look().ending is None:
            waiting.append(start(*attach, "--spares", "1", "--format", "json"))
            time.sleep(chance.uniform(0.3, 2.0))
            before, members = run.board.statuses(), run.members()
            if len(members) < 2:
                continue
            victim = chance.choice(members)
            with suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
                kills += 1
            lost = [node for node, one in before.items() if one.process == victim]
            began = time.monotonic()
            if lost:
                run.statuses(partial(_is_taken_over, run, before, lost))
                seconds.append(time.monotonic() - began)
        for one in waiting:
            assert json.loads(one.communicate(timeout=200)[0])["solution"] == total(count)
        lives = {node: one.life for node, one in run.board.statuses().items()}
        print(f"{kind}: {kills} kills, {len(seconds)} take-overs in {max(seconds):.2f} s at most, lives {lives}")
        assert kills >= 5


def _is_taken_over(run: Shared, before: dict[int, Status], lost: list[int], found: dict[int, Status]) -> bool:
    return run.board.look().ending is not None or all(found[node].life > before[node].life for node in lost)
