"""The molecules of a run, as a browser asks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from solvent.runs.agents.shards import submit
from solvent.values import codec
from solvent.workflows.model import Task, Value
from tests.unit.runs.agents.flows import adaptive, run_by_agents, store_at, workflow
from tests.unit.runs.replay_index.runs import recorded
from tests.unit.web.page_server import served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.unit.web.page_server import Client


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a store with a run of one process and one of agents."""
    folder = tmp_path_factory.mktemp("store")
    with store_at(folder) as store:
        recorded(store, "r1", adaptive())
        submit(store, "shared", workflow(*(Task(f"t{at}", "add", (Value(at),)) for at in range(4))), None, max_shards=2)
        run_by_agents(store, "shared")
    return folder / "store.db"


@pytest.fixture(scope="module")
def page(place: Path) -> Iterator[Client]:
    """Give a client of a page."""
    with served(place) as client:
        yield client


def replay(client: Client, run: str, query: str = "") -> dict[str, Any]:
    """Have a run replayed, and wait for it."""
    address = f"/api/runs/{run}/replay{query}"
    assert client.post(address).status_code == 200
    return dict(client.wait_for(address, lambda found: found["state"] != "making"))


def test_looking_alone_replays_nothing(place: Path) -> None:
    """A run is replayed when somebody asks for that, not when somebody asks how far it is."""
    with served(place) as client:
        assert client.get("/api/runs/r1/replay").json()["state"] == "none"


def test_a_replay_is_made_once(page: Client) -> None:
    """Who asks again while nothing has happened since gets the one that there is."""
    replay(page, "r1")
    assert page.post("/api/runs/r1/replay").json()["state"] == "made"


def test_a_replay_of_a_run_that_has_gone_on_is_made_anew(tmp_path: Path) -> None:
    """What has happened since is told, and shown to who asks for it."""
    with store_at(tmp_path) as store, served(tmp_path / "store.db") as client:
        held = recorded(store, "r1", workflow(Task("one", "add", (Value(1),))), max_seconds=0)
        before = replay(client, "r1")
        held.execution.journal.answered("one", 1, codec.encode(1))
        held.execution.journal.commit()
        grown = client.get("/api/runs/r1/replay").json()
        after = replay(client, "r1")
    assert (before["has_grown"], grown["has_grown"], after["has_grown"]) == (False, True, False)
    assert after["reactions"] > before["reactions"]


def test_a_run_that_is_not_there_is_not_found(page: Client) -> None:
    """Nobody starts a process for it."""
    answer = page.post("/api/runs/nobody/replay")
    assert (answer.status_code, answer.json()["code"]) == (404, "R401")


@pytest.mark.parametrize(
    "query, status",
    [("at?n=-1", 422), ("at?n=1e9", 422), ("why?molecule=99999", 404), ("inside?n=1&solution=77777", 200)],
)
def test_what_is_no_number_is_refused(page: Client, query: str, status: int) -> None:
    """Whatever is asked, the answer is one that the page can show."""
    replay(page, "r1")
    answer = page.get(f"/api/runs/r1/replay/{query}")
    assert answer.status_code == status
    assert answer.json()


def test_nothing_is_left_when_the_page_ends(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replays are thrown away with the page."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with served(place) as client:
        replay(client, "r1")
        assert list(tmp_path.iterdir())
    assert not list(tmp_path.iterdir())
