"""What may be done from the page, and by whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.unit.web.flows import going
from tests.unit.web.page_server import served
from tests.unit.web.streams import listening, told

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "a secret of some length"  # noqa: S105 - that of a test
KNOWN = {"authorization": f"Bearer {SECRET}"}


def test_nothing_can_be_cancelled_without_control(tmp_path: Path) -> None:
    """A page that was not given a secret changes nothing, whatever is said."""
    with served(tmp_path / "store.db") as client, going(tmp_path):
        for headers in ({}, {"authorization": "Bearer x"}, KNOWN):
            refused = client.post("/api/runs/healing-1/cancel", headers=headers)
            assert (refused.status_code, "nothing can be changed" in refused.json()["error"]) == (403, True)


def test_a_wrong_secret_cancels_nothing(tmp_path: Path) -> None:
    """Who does not know the secret is refused, and the run goes on."""
    with served(tmp_path / "store.db", secret=SECRET) as client, going(tmp_path):
        for said in ("", "Bearer wrong", f"Basic {SECRET}", SECRET):
            assert client.post("/api/runs/healing-1/cancel", headers={"authorization": said}).status_code == 401
        with listening(client, "/api/runs/healing-1/events") as events:
            assert next(events).data["run"]["state"] == "running"


def test_who_knows_the_secret_cancels_a_run(tmp_path: Path) -> None:
    """The run ends as cancelled, and all who look hear of it."""
    with served(tmp_path / "store.db", secret=SECRET) as client, going(tmp_path):
        assert client.get("/api/about").json()["control"] is True
        with listening(client, "/api/runs/healing-1/events") as events:
            next(events)
            assert client.post("/api/runs/healing-1/cancel", headers=KNOWN).status_code == 200
            end = next(one for one in told(events, "run") if "ended" in one)
        assert end["state"] == "cancelled"


def test_another_page_cannot_cancel(tmp_path: Path) -> None:
    """A request that comes from a page of somebody else is refused before the secret is looked at."""
    with served(tmp_path / "store.db", secret=SECRET) as client, going(tmp_path):
        for strange in ({"origin": "http://evil.example"}, {"sec-fetch-site": "cross-site"}):
            assert client.post("/api/runs/healing-1/cancel", headers={**KNOWN, **strange}).status_code == 403


def test_a_run_that_is_not_there_cannot_be_cancelled(tmp_path: Path) -> None:
    """It is said that there is none."""
    with served(tmp_path / "store.db", secret=SECRET) as client:
        assert client.post("/api/runs/nobody/cancel", headers=KNOWN).status_code == 404
