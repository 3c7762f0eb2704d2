"""Runs that agents have, on the page: places, leases, who is alive, and how such a run ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.runs.agents.shards import submit
from solvent.workflows.model import Control, Signalled, Task, Value
from tests.unit.runs.agents.flows import AgentsHere, adaptive, end_of, run_by_agents, store_at, workflow
from tests.unit.web.page_server import served
from tests.unit.web.streams import listening, told

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "a secret of some length"  # noqa: S105 - that of a test


def test_a_run_of_agents_is_shown_like_any_other(tmp_path: Path) -> None:
    """Its list row, its states, its adaptation and its result are those that the run has."""
    with store_at(tmp_path) as store:
        submit(store, "sums-1", adaptive(), {})
        run_by_agents(store, "sums-1", many=2)
    with served(tmp_path / "store.db") as client:
        with listening(client, "/api/events") as events:
            (row,) = next(events).data["rows"]
        assert (row["agents"], row["state"], row["done"], row["total"]) == (True, "done", 3, 3)
        about = client.get("/api/runs/sums-1").json()
        assert all("shard" in task for task in about["tasks"])
        with listening(client, "/api/runs/sums-1/events") as events:
            known = next(events).data
        assert known["states"] == ["done", "replaced", "done", "done"]
        assert [one["name"] for one in known["adaptations"]] == ["instead"]
        assert (known["run"]["state"], known["run"]["results"]) == ("done", {"sum": "16"})


def test_who_has_which_place_is_told(tmp_path: Path) -> None:
    """While an agent is there it is seen alive, with what it offers; places name their holders."""
    with store_at(tmp_path) as store, served(tmp_path / "store.db") as client, AgentsHere(store):
        submit(store, "sums-1", adaptive(), {})
        with listening(client, "/api/runs/sums-1/events") as events:
            known = next(events).data
            seen = known.get("agents") or next(told(events, "agents"))
            while not known["run"].get("ended") and seen["agents"][0]["state"] != "alive":
                event = next(events)
                for one in event.data:
                    seen = one if one["e"] == "agents" else seen
                    known["run"] = one if one["e"] == "run" else known["run"]
        (agent,) = seen["agents"]
        assert (agent["name"], agent["services"], agent["ttl"]) == ("a0", ["add", "broken"], 2.0)
        assert {one["agent"] for one in seen["shards"]} <= {"a0", ""}


def test_a_run_that_nobody_has_waits(tmp_path: Path) -> None:
    """Without agents a run waits, and the services that nobody offers are named."""
    with store_at(tmp_path) as store:
        submit(store, "sums-1", adaptive(), {})
    with served(tmp_path / "store.db") as client, listening(client, "/api/runs/sums-1/events") as events:
        known = next(events).data
    assert known["run"]["state"] == "queued"
    assert known["agents"] == {"agents": [], "shards": [], "missing": ["add", "broken"]}


def test_a_run_of_agents_is_cancelled_from_the_page(tmp_path: Path) -> None:
    """Who knows the secret ends it for all agents."""
    with store_at(tmp_path) as store:
        submit(store, "sums-1", adaptive(), {})
    place = tmp_path / "store.db"
    with served(place, secret=SECRET) as client, listening(client, "/api/runs/sums-1/events") as events:
        next(events)
        answer = client.post("/api/runs/sums-1/cancel", headers={"authorization": f"Bearer {SECRET}"})
        assert answer.json() == {"run": "sums-1", "is_done": True}
        end = next(one for one in told(events, "run") if "ended" in one)
    assert (end["state"], end["text"]) == ("cancelled", "from the page")


def test_a_signal_is_sent_from_the_page(tmp_path: Path) -> None:
    """Who knows the secret sends what a run waits for; others are refused, and so is what no task waits for."""
    flow = workflow(Task("one", "add", (Value(1), Signalled()), control=Control(signal="go")))
    with store_at(tmp_path) as store, AgentsHere(store), served(tmp_path / "store.db", secret=SECRET) as client:
        submit(store, "sums-1", flow, {})
        with listening(client, "/api/runs/sums-1/events") as events:
            waits = next(events).data["waits"] or next(told(events, "waits"))["waits"]
        assert waits == [["one", "go"]]
        known = {"authorization": f"Bearer {SECRET}"}

        def sent(headers: dict[str, str], **said: object) -> int:
            return int(client.post("/api/runs/sums-1/signal", json=said, headers=headers).status_code)

        assert sent({}, name="go", id="1", value=2) == 401
        assert sent(known, name="stop", id="1") >= 400
        assert sent(known, nothing="said") >= 400
        assert sent(known, name="go", id="1", value=2) == 200
        assert end_of(store, "sums-1").state == "done"
