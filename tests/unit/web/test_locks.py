"""Rings and shared data, as a browser asks for them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import solvent
from solvent.net.status_files import Notice
from solvent.web.locks import SHOWN_SECONDS, status_of
from tests.unit.web.page_server import served

if TYPE_CHECKING:
    from pathlib import Path

NOW = 1000.0
RING = {
    "epoch": 0, "ring": [0, 1], "members": {"0": "h:1", "1": "h:2"}, "has_token": False, "holder": 1,
    "is_locked": False, "waiting": 0, "moves": 3, "messages": 5, "place": -1, "address": "h:1",
}  # fmt: skip


def notice(node: int, at: float = NOW, **told: Any) -> Notice:
    """Return the status of a node of a ring on another machine."""
    return Notice("ring", "r", node, "elsewhere", 1, at, {**RING, **told})


def has_waiting(found: Any) -> bool:
    """Return whether a process waits for shared data."""
    return any(resource["waits"] for shared in found["shared"] for resource in shared["resources"])


def is_locked(found: Any) -> bool:
    """Return whether a node has the lock of a ring."""
    return any(node["is_locked"] for ring in found["rings"] for node in ring["nodes"])


def test_a_page_shows_who_has_a_resource_and_who_waits(tmp_path: Path) -> None:
    """A space that tells is seen, with the claims of its processes."""
    board = tmp_path / "board"
    with served(tmp_path / "store.db", status_folder=board) as client:
        with (
            solvent.shared.join("shown", folder=tmp_path / "memory", board=board) as space,
            space.handle("grid", size=8) as one,
            space.handle("grid") as other,
        ):
            one.acquire()
            other.request()
            found = client.wait_for("/api/locks", has_waiting)
        after = client.wait_for("/api/locks", lambda some: not some["shared"])
    (resource,) = found["shared"][0]["resources"]
    assert (resource["name"], len(resource["has"]), len(resource["waits"])) == ("grid", 1, 1)
    assert after == {"rings": [], "shared": []}


def test_a_page_shows_where_the_token_is(tmp_path: Path) -> None:
    """A ring that tells is seen, with who has the lock."""

    async def main() -> Any:
        async with solvent.ring.join(name="shown", board=tmp_path / "board") as ring, ring.lock():
            return await asyncio.to_thread(client.wait_for, "/api/locks", is_locked)

    with served(tmp_path / "store.db", status_folder=tmp_path / "board") as client:
        (ring,) = asyncio.run(main())["rings"]
    assert (ring["name"], ring["holder"], ring["nodes"][0]["is_locked"]) == ("shown", 0, True)


def test_the_token_is_where_the_latest_says() -> None:
    """Nodes look at different moments: who had it last, has it."""
    (ring,) = status_of([notice(0, NOW - 0.2, has_token=True), notice(1, NOW, has_token=True)], NOW)["rings"]
    assert [node["has_token"] for node in ring["nodes"]] == [False, True]


def test_a_token_on_its_way_is_where_it_was_sent() -> None:
    """If nobody has it, it is on its way to whom the latest of them has sent it."""
    (ring,) = status_of([notice(0, NOW - 0.2, holder=0), notice(1, NOW, holder=1)], NOW)["rings"]
    assert ring["holder"] == 1


def test_who_is_silent_has_no_token() -> None:
    """What a node said that is gone by now does not count."""
    (ring,) = status_of([notice(0, NOW - 10, has_token=True), notice(1, NOW, has_token=False)], NOW)["rings"]
    assert (ring["holder"], ring["nodes"][0]["is_silent"]) == (1, True)


def test_a_node_that_was_started_again_is_one_node() -> None:
    """Of what its process before has left nothing is shown."""
    (ring,) = status_of([notice(0, NOW, moves=1), notice(0, NOW - 8, moves=99, has_token=True)], NOW)["rings"]
    assert [(node["node"], node["moves"], node["is_silent"]) for node in ring["nodes"]] == [(0, 1, False)]


def test_rings_without_a_name_are_told_apart() -> None:
    """Those with other members are others."""
    other = notice(0, members={"0": "h:9"})
    assert len(status_of([notice(0), notice(1), other], NOW)["rings"]) == 2


def test_who_was_silent_for_long_is_not_shown() -> None:
    """A file that somebody has left behind is no process."""
    assert status_of([notice(0, NOW - SHOWN_SECONDS - 1)], NOW)["rings"] == []


def test_what_does_not_fit_is_left_out() -> None:
    """A notice of another version breaks no page."""
    assert status_of([Notice("ring", "r", 0, "elsewhere", 1, NOW, {}), Notice("x", "r", 0, "e", 1, NOW, {})], NOW) == {
        "rings": [], "shared": [],
    }  # fmt: skip
