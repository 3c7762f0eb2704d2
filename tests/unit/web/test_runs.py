"""The list of runs and one run, as the page asks for them, while they really go on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from solvent.runs.registry import end
from solvent.store import open_store
from tests.live.store_backends import HAS_SERVERS
from tests.unit.web.flows import Gate, around, continued, going, healing, recorded
from tests.unit.web.page_server import served
from tests.unit.web.records import wide_workflow, write_run
from tests.unit.web.streams import listening, told

if TYPE_CHECKING:
    from pathlib import Path

TASKS = ["first", "odd", "spare", "sum", "last"]


def test_a_store_that_is_not_there_has_no_runs_and_is_not_made(tmp_path: Path) -> None:
    """Looking makes no file, and a run that is recorded later appears by itself."""
    with served(tmp_path / "store.db") as client, listening(client, "/api/events") as events:
        assert next(events).data == {"rows": [], "left_out": 0}
        assert not (tmp_path / "store.db").exists()
        recorded(tmp_path)
        assert next(told(events, "row"))["run"] == "healing-1"


def test_the_list_says_how_far_a_run_is(tmp_path: Path) -> None:
    """A row has state and progress, and changes when the run ends; what was replaced is not waited for."""
    with served(tmp_path / "store.db") as client, going(tmp_path) as gate, listening(client, "/api/events") as events:
        row = next(events).data["rows"][0]
        rows = told(events, "row")
        while row["done"] < 3:
            row = next(rows)
        assert (row["run"], row["workflow"], row["state"], row["agents"]) == ("healing-1", "healing", "running", False)
        assert (row["total"], row["failed"]) == (4, 0)
        gate.is_open.set()
        while row["state"] == "running":
            row = next(rows)
        assert (row["state"], row["done"], row["total"]) == ("done", 4, 4)


def test_a_cancelled_run_keeps_its_progress(tmp_path: Path) -> None:
    """Its row says how far it was, though its process has not written how its tasks are."""
    run = write_run(tmp_path / "store.db", wide_workflow(12), until=0.5)
    with open_store(str(tmp_path / "store.db"), is_durable=False) as store:
        end(store, run, "cancelled")
    with served(tmp_path / "store.db") as client, listening(client, "/api/events") as events:
        (row,) = next(events).data["rows"]
    assert (row["state"], row["done"], row["total"]) == ("cancelled", 5, 11)


def test_the_newest_run_is_first(tmp_path: Path) -> None:
    """Rows come in the order of their beginnings, the latest first."""
    for name in ("one", "two", "three"):
        recorded(tmp_path, name)
    with served(tmp_path / "store.db") as client, listening(client, "/api/events") as events:
        assert [row["run"] for row in next(events).data["rows"]] == ["three", "two", "one"]


def test_viewers_hear_that_another_version_of_a_run_counts(tmp_path: Path) -> None:
    """They ask for it anew: it may have other tasks; what was kept is there at once."""
    recorded(tmp_path)
    place = "/api/runs/healing-1"
    with served(tmp_path / "store.db") as client, listening(client, f"{place}/events") as events:
        assert next(events).data["version"] == client.get(place).json()["version"] == 1
        continued(tmp_path, "more")
        assert next(told(events, "version"))["version"] == 2
        about = client.get(place).json()
        assert (about["version"], [task["name"] for task in about["tasks"]]) == (2, [*TASKS, "more"])
        with listening(client, f"{place}/events") as later:
            known = next(later).data
    assert (known["version"], known["states"]) == (2, ["done", "replaced", "done", "done", "done", "waiting"])


def test_a_run_is_followed_to_its_end(tmp_path: Path) -> None:
    """A viewer hears of calls, of the failure, of what takes over, and in the end of the result."""
    with served(tmp_path / "store.db") as client, going(tmp_path) as gate:
        about = client.get("/api/runs/healing-1").json()
        assert [task["name"] for task in about["tasks"]] == TASKS
        with listening(client, "/api/runs/healing-1/events") as events:
            known = next(events).data
            news: list[dict[str, Any]] = []
            states = known["states"]
            while states[4] != "running":
                for message in next(events).data:
                    news.append(message)
                    if message["e"] == "task":
                        states[message["t"]] = message["s"]
            assert states == ["done", "replaced", "done", "done", "running"]
            adapted = [*known["adaptations"], *(one for one in news if one["e"] == "adapt")]
            assert [(one["name"], one["replaced"], one["woken"]) for one in adapted] == [("instead", [1], [2])]
            gate.is_open.set()
            end = next(one for one in told(events, "run") if "ended" in one)
        assert (end["state"], end["results"], end["failures"]) == ("done", {"last": "through"}, [])


def test_a_viewer_that_comes_back_hears_what_it_missed(tmp_path: Path) -> None:
    """With the number of the last event, only what came after it is told."""
    with served(tmp_path / "store.db") as client, going(tmp_path) as gate:
        with listening(client, "/api/runs/healing-1/events") as events:
            first = next(events)
        with listening(client, "/api/runs/healing-1/events") as others:
            next(others)
            gate.is_open.set()
            while not any(one["e"] == "run" and "ended" in one for one in next(others).data):
                pass
        with listening(client, "/api/runs/healing-1/events", last=first.number) as events:
            event = next(events)
            assert event.kind == "news"
            assert event.number != first.number
            assert any(one["e"] == "run" for one in event.data)


def test_the_graph_has_a_box_for_each_task_and_dashes_for_what_stands_by(tmp_path: Path) -> None:
    """Boxes are the tasks in their order, and lines of alternatives are dashed."""
    recorded(tmp_path)
    with served(tmp_path / "store.db") as client:
        graph = client.get("/api/runs/healing-1/graph").json()
    assert [box["name"] for box in graph["boxes"]] == TASKS
    assert [box["name"] for box in graph["boxes"] if box["dashed"]] == ["spare"]
    dashed = {
        tuple(graph["edges"][edge]) for _, kind, _, edges in graph["pieces"] if kind == "dashed" for edge in edges
    }
    assert dashed == {(0, 2), (2, 3)}
    assert graph["legend"] == ["spare instead of odd, on failure"]


def test_many_tasks_that_do_alike_are_one_box_until_it_is_opened(tmp_path: Path) -> None:
    """A thousand tasks are a handful of boxes; one that is opened gives its tasks; `whole` gives all."""
    run = write_run(tmp_path / "store.db", wide_workflow(1000))
    with served(tmp_path / "store.db") as client:
        grouped = client.get(f"/api/runs/{run}/graph").json()
        assert [box["name"] for box in grouped["boxes"]] == [
            "split", "fetch × 332", "clean × 332", "fold × 332", "fetch_copy", "join",
        ]  # fmt: skip
        assert sum(len(box["members"]) for box in grouped["boxes"]) == grouped["tasks"] == 999
        opened = client.get(f"/api/runs/{run}/graph", params={"open": "clean × 332"}).json()
        assert len(opened["boxes"]) == 6 - 1 + 332
        assert len(client.get(f"/api/runs/{run}/graph?whole=1").json()["boxes"]) == 999


def test_a_task_is_told_of_with_its_calls(tmp_path: Path) -> None:
    """A task that failed has its attempts, its error and what was put out; others their arguments and results."""
    recorded(tmp_path)
    with served(tmp_path / "store.db") as client:
        odd = client.get("/api/runs/healing-1/tasks/odd").json()
        total = client.get("/api/runs/healing-1/tasks/sum").json()
        first = client.get("/api/runs/healing-1/tasks/first").json()
    (call,) = odd["calls"]
    assert (call["state"], call["kind"], call["text"]) == ("failed", "FAILED", "ValueError: no such column")
    assert call["attempts"] == 2
    assert "no such column" in call["output"]
    assert odd["arguments"] == [{"name": "0", "from": "result", "what": "first", "value": "[1, 2]"}]
    assert [one["name"] for one in odd["alternatives"]] == ["instead"]
    assert total["calls"][0]["result"] == "16"
    assert total["goes_to"] == ["last"]
    assert 'SRV:"add"' in total["molecules"]
    assert first["arguments"] == [{"name": "0", "from": "input", "what": "n", "value": "1"}]
    assert (first["calls"][0]["result"], first["calls"][0]["output"]) == ("[1, 2]", "from 1")


@pytest.mark.parametrize(
    "address, said",
    [
        ("/api/runs/nobody", "there is no run `nobody`"),
        ("/api/runs/nobody/events", "there is no run `nobody`"),
        ("/api/runs/%00%ff/graph", "there is no run"),
        ("/api/runs/..%2f..%2fetc/graph", "there is no run"),
        ("/api/runs/healing-1/tasks/nobody", "the run `healing-1` has no task `nobody`"),
    ],
)
def test_what_is_not_there_is_said_to_be_so(tmp_path: Path, address: str, said: str) -> None:
    """An unknown run or task is answered by 404, with what was asked for and what to do."""
    recorded(tmp_path)
    with served(tmp_path / "store.db") as client:
        answer = client.get(address)
    assert answer.status_code == 404
    if answer.headers["content-type"] == "application/json":
        assert said in answer.json()["error"]
        assert answer.json()["hint"]


def test_a_damaged_record_is_told_of(tmp_path: Path) -> None:
    """A journal that does not read ends the following of its run, and the list still has it."""
    recorded(tmp_path)
    with open_store(str(tmp_path / "store.db"), is_durable=False) as store:
        store.append("runs/healing-1/shard/0", b"\xff nonsense")
    with served(tmp_path / "store.db") as client:
        with listening(client, "/api/runs/healing-1/events") as events:
            event = next(events)
        assert (event.kind, "does not read" in event.data["error"]) == ("problem", True)
        with listening(client, "/api/events") as events:
            assert [row["run"] for row in next(events).data["rows"]] == ["healing-1"]


@pytest.mark.skipif(not HAS_SERVERS, reason="no NATS server here")
def test_runs_of_a_server_are_shown_as_well() -> None:
    """What is recorded in a store on NATS is listed, drawn and followed like a file's."""
    from tests.live.store_servers import served as nats

    with nats() as url:
        run = write_run(url, wide_workflow(12))
        with served(url) as client:
            with listening(client, "/api/events") as events:
                assert [row["run"] for row in next(events).data["rows"]] == [run]
            with listening(client, f"/api/runs/{run}/events") as events:
                assert next(events).data["run"]["state"] == "done"
            assert client.get(f"/api/runs/{run}/graph").json()["tasks"] == 12


def test_tasks_inside_a_sub_workflow_are_shown(tmp_path: Path) -> None:
    """They come when it is opened, behind those of the workflow, and have calls and details like any others."""
    gate = Gate()
    with served(tmp_path / "store.db") as client, going(tmp_path, "outer-1", gate, around(healing(gate))):
        with listening(client, "/api/runs/outer-1/events") as events:
            known = next(events).data
            names, states = ["T", *known["inner"]], known["states"]
            while "T/last" not in names or states[names.index("T/last")] != "running":
                for message in next(events).data:
                    if message["e"] == "inner":
                        names += message["tasks"]
                        states += message["states"]
                    elif message["e"] == "task":
                        states[message["t"]] = message["s"]
        assert dict(zip(names, states, strict=True)) == {
            "T": "running", "T/first": "done", "T/odd": "replaced", "T/spare": "done", "T/sum": "done",
            "T/last": "running",
        }  # fmt: skip
        with listening(client, "/api/runs/outer-1/events") as events:
            again = next(events).data
        assert (["T", *again["inner"]], again["states"]) == (names, states)
        odd = client.get("/api/runs/outer-1/tasks/T/odd").json()
        assert [(one["state"], one["attempts"], one["text"]) for one in odd["calls"]] == [
            ("failed", 2, "ValueError: no such column")
        ]
