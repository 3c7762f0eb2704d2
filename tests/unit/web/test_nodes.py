"""Programs over nodes, as a browser asks for them: real processes, asked while they work."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.web.page_server import MAX_SECONDS, served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.unit.web.page_server import Client

PROGRAM = """
let swap = replace A : x::int, B : y::int by A : (y + 1), B : x if x < 1000000000 in
<A : 1, A : 2, A : 3, B : 4, B : 5, B : 6, swap>
"""
NODES = 3


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give the folder of a run that goes on until it is stopped."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "swap.hocl").write_text(PROGRAM)
    command = [
        sys.executable, "-m", "solvent", "run", str(folder / "swap.hocl"), "--nodes", str(NODES), "--no-local",
        "--state", str(folder / "state"),
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as launcher:
        try:
            until = time.monotonic() + MAX_SECONDS
            while not (folder / "state" / "run.json").exists():
                assert time.monotonic() < until
                assert launcher.poll() is None, launcher.communicate()
                time.sleep(0.02)
            yield folder / "state"
        finally:
            launcher.send_signal(signal.SIGINT)
            launcher.communicate(timeout=MAX_SECONDS)


@pytest.fixture
def page(state: Path, tmp_path: Path) -> Iterator[Client]:
    """Give a client of a page that knows the run."""
    with served(tmp_path / "store.db", folders=(state,)) as client:
        yield client


def address_of(client: Client) -> str:
    """Give where the run is asked about; others of this machine may be known, too."""

    def ours(found: Any) -> list[Any]:
        return [one for one in found["runs"] if one["program"].endswith("swap.hocl") and one["nodes"] == NODES]

    # Its file is there before the run can be asked.
    run, *_ = ours(client.wait_for("/api/programs", ours))
    return f"/api/programs/{run['where']}/{run['run']}"


def is_busy(found: Any) -> bool:
    """Tell whether all nodes have said something about captures."""
    return len(found["nodes"]) == NODES and all(sum(one["to"].values()) > 10 for one in found["nodes"])


def test_nodes_tell_what_they_say_and_to_whom(page: Client) -> None:
    """Messages are counted by kind and by recipient, and both come to the same."""
    for node in page.wait_for(address_of(page), is_busy)["nodes"]:
        assert sum(node["kinds"].values()) == sum(node["to"].values())
        assert str(node["node"]) not in node["to"]
        assert set(node["to"]) <= {str(one) for one in range(NODES)}


def test_several_who_look_ask_once(page: Client) -> None:
    """What was asked a moment ago is told again."""
    address = address_of(page)
    first, second = page.get(address).json(), page.get(address).json()
    assert first["at"] == second["at"] or second["at"] - first["at"] >= 0.4


def test_a_run_that_is_not_there_is_not_found(page: Client) -> None:
    """Whoever asks for one gets an answer that says so."""
    answer = page.get("/api/programs/here/nobody")
    assert (answer.status_code, answer.json()["code"]) == (404, "H346")


def test_a_run_in_a_store_is_shown_as_its_nodes_said(tmp_path: Path) -> None:
    """What nodes of a run in the page's store have said there last is shown, also when it is over."""
    (tmp_path / "sum.hocl").write_text("<1, 2, 3, 4, replace x::int, y::int by x + y>")
    command = [
        sys.executable, "-m", "solvent", "run", str(tmp_path / "sum.hocl"), "--nodes", "2", "--store",
        str(tmp_path / "store.db"),
    ]  # fmt: skip
    subprocess.run(command, check=True, timeout=200, capture_output=True)
    with served(tmp_path / "store.db") as client:
        runs = client.get("/api/programs").json()["runs"]
        (run,) = [one for one in runs if one["where"] == "store"]
        found = client.get(f"/api/programs/store/{run['run']}").json()
    assert (run["nodes"], run["is_over"], found["is_over"], found["count"]) == (2, True, True, 2)
