"""Chaos runs: processes of a space come, go and are killed at random points, and what they share stays right."""

from __future__ import annotations

import json
import os
import random
import signal
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import solvent
from solvent.handover import peers
from solvent.protocols.handover.vocabulary import Gone
from solvent.protocols.machine import NodeId
from solvent_lab.chaos import run as chaos_run
from solvent_lab.chaos.run import ChaosConfig, ChaosResult, ChaosRun, chaos_folder
from tests.live.shared_processes import count, counted, scene, until

if TYPE_CHECKING:
    from pathlib import Path


def _run(config: ChaosConfig) -> ChaosResult:
    with chaos_folder() as folder:
        result = ChaosRun(config, folder).run()
    print(config, result.kills, result.joins, result.seconds)
    assert not result.wrong, (config, result.wrong)
    assert result.counter == config.total
    return result


def test_a_counter_is_right_though_half_of_the_processes_come_and_go() -> None:
    """Eight processes, of which four leave and join again and again: every count is there, once."""
    result = _run(ChaosConfig(processes=8, cycles=12, leaving=0.5, seed=3))
    assert result.joins > 8
    assert result.cycles == 96


def test_a_counter_is_right_though_processes_are_killed_at_random_points() -> None:
    """With the lock, amid a release, amid leaving and joining, or anywhere: who follows goes on exactly there."""
    result = _run(ChaosConfig(processes=8, cycles=12, leaving=0.5, kills=8, seed=5))
    # How many are caught before they are done is for the machine to say; some always are.
    assert result.killed >= 2


def test_a_counter_is_right_though_its_data_moves_between_hosts_whose_processes_die() -> None:
    """On two hosts, the data goes over TCP from one to the other, and the last version is had from whoever has it."""
    result = _run(ChaosConfig(processes=6, cycles=10, hosts=2, kills=4, patience=2.0, body_bytes=200_000, seed=7))
    assert result.killed >= 1


@pytest.mark.parametrize("hosts", [1, 2])
def test_counters_of_parts_are_right_though_processes_come_go_and_die(hosts: int) -> None:
    """Each part is claimed by itself most of the time, and now and then all of them are: every count is there, once."""
    _run(ChaosConfig(processes=6, cycles=14, parts=4, leaving=0.3, hosts=hosts, kills=5, patience=2.0, seed=4))


def test_a_counter_is_right_though_whole_hosts_die(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another host has every version before it counts, so nothing goes with a host and its memory."""
    monkeypatch.setattr(chaos_run, "_HOST_CHANCE", 1.0)
    config = ChaosConfig(processes=6, cycles=14, leaving=0, hosts=3, copies=2, kills=5, patience=1.0, seed=2)
    assert _run(config).kills


def test_who_is_about_to_go_and_is_counted_on_again_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others have been told that it goes, and it does not yet: it is forgotten when it is there no more."""
    monkeypatch.setattr(peers, "_GONE_SECONDS", 0.0)
    with scene() as place, place.space() as space, space.handle("m", size=8) as handle:
        with place.space() as goer:
            for _ in range(2):
                space._node.told(Gone(NodeId(goer.node)))
            with goer.handle("m", size=8) as own:
                count(own)
            name = NodeId(goer.node)
        assert counted(handle) == 1
        with place.space():
            pass
        until(lambda: space._node.host._board.is_forgotten(name))


def test_who_joins_at_several_addresses_is_let_in_though_one_is_another_s_by_now() -> None:
    """Where a process was that has died, something else may listen: here that which hands data to other hosts."""
    with scene() as place, place.space("there") as space:
        another = space._node.home.data_address
        with place.space("here", join=[another, space.address]) as joined:
            assert sorted(joined.members) == sorted([space.node, joined.node])
        with pytest.raises(solvent.SpaceProblem) as caught, place.space("here", join=[another]):
            pass
        assert caught.value.code == "S202"


def test_processes_that_hang_say_where(tmp_path: Path) -> None:
    """One of two is stopped, and nothing goes on: that is found out, and the other one tells what it waits for."""
    stopped: tuple[int, int] | None = None

    def stop_one(result: ChaosResult) -> None:
        nonlocal stopped
        if result.joins < 2:
            return
        if stopped is not None and result.cycles > stopped[1] + 10:
            # It was stopped when it wanted nothing, and the other one needs nobody.
            os.kill(stopped[0], signal.SIGCONT)
            stopped = None
        elif stopped is None:
            line = (tmp_path / "0.journal").read_text(encoding="utf-8").splitlines()[-2]
            stopped = json.loads(line)["pid"], result.cycles
            os.kill(stopped[0], signal.SIGSTOP)

    result = ChaosRun(ChaosConfig(processes=2, cycles=10_000, leaving=0, stall=1.0), tmp_path, stop_one).run()
    assert [wrong.split(" ", 2)[2] for wrong in result.wrong] == ["does not get on for 1 s"]
    assert stopped is not None
    stacks = (tmp_path / "1.stacks").read_text(encoding="utf-8")
    assert " in acquire" in stacks
    assert "SpaceState(" in stacks
    with pytest.raises(ProcessLookupError):
        os.kill(stopped[0], 0)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("hosts", [1, 3])
@pytest.mark.parametrize("kills", [0, 60])
@pytest.mark.parametrize("parts", [1, 10])
def test_a_run_of_50_processes(hosts: int, kills: int, parts: int) -> None:
    """Fifty processes, a hundred cycles each, half of them leaving and joining, some killed: the counter is right."""
    seed = random.randrange(10**6)
    config = ChaosConfig(processes=50, cycles=100, parts=parts, leaving=0.5, kills=kills, hosts=hosts, patience=10.0)
    result = _run(replace(config, seed=seed))
    assert result.joins > 200
    assert result.killed >= 0.8 * kills
